#include "ops/op.h"

/* Matrices of zeros with vectors on a diagonal, torch.diag_embed. A composition: rows of zeros with
 * one element each are the rows of a matrix that is one column wider, read in another width.
 *
 *     [x0 0 0 0 x1 0 0 0 x2] is [x0 0 0][0 x1 0][0 0 x2] */
adz_tensor *adz_diag_embed(adz_tensor *x, int64_t offset, int dim1, int dim2)
{
    ADZI_COMPOSED();
    static const char op[] = "diag_embed";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->rank == 0 || x->rank == ADZ_MAX_RANK) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s needs 1 to %d dimensions", adzi_text_shape(x),
            ADZ_MAX_RANK - 1);
    }
    const int64_t n = x->sizes[x->rank - 1];
    const int64_t off = offset == INT64_MIN ? INT64_MAX : offset < 0 ? -offset : offset;
    if (off >= INT64_MAX - n) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "diagonal %lld of x%s leaves the range of sizes",
            (long long)offset, adzi_text_shape(x));
    }
    const int64_t size = n + off;
    adz_tensor *column = adz_unsqueeze(x, -1);                        /* [..., n, 1] */
    adz_tensor *wide = adz_pad(column, (int64_t[]){ 0, size }, 2, 0); /* [..., n, size + 1] */
    if (wide == NULL) {
        return NULL;
    }
    adz_shape flat = adz_tensor_shape(wide);
    flat.rank -= 1;
    flat.sizes[flat.rank - 1] = n * (size + 1);
    adz_tensor *run = adz_reshape(wide, flat);
    /* n rows of size elements, and n more at the end, which are zeros. */
    run = adz_narrow(run, -1, 0, n * size);
    flat.rank += 1;
    flat.sizes[flat.rank - 2] = n;
    flat.sizes[flat.rank - 1] = size;
    adz_tensor *rows = adz_reshape(run, flat);
    /* A positive offset moves the rows to the right, a negative one moves them down. */
    const int64_t right = offset > 0 ? off : 0, down = offset < 0 ? off : 0;
    if (right > 0) {
        rows = adz_roll(rows, right, -1);
    }
    if (off > 0) {
        rows = adz_pad(rows, (int64_t[]){ 0, 0, down, off - down }, 4, 0);
    }
    return rows != NULL ? adz_movedim(rows, ADZ_DIMS(-2, -1), ADZ_DIMS(dim1, dim2)) : NULL;
}
