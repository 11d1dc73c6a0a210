#include "ops/shape/diagonal.h"

/* The diagonal of a matrix, or the matrix with a diagonal, torch.diag. A composition. As in PyTorch
 * the result is never a view. */
adz_tensor *adz_diag(adz_tensor *x, int64_t offset)
{
    ADZI_COMPOSED();
    static const char op[] = "diag";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->rank == 2) {
        return adz_clone(adz_diagonal(x, offset, 0, 1));
    }
    if (x->rank != 1) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "x%s is neither a vector nor a matrix; for batches of matrices use adz_diagonal",
            adzi_text_shape(x));
    }
    const int64_t n = x->sizes[0];
    /* The matrix has n + |offset| rows, the square of which has to be a number of elements. */
    const int64_t most = (int64_t)1 << 31, size = offset < -most || offset > most
                                                      ? INT64_MAX
                                                      : n + (offset < 0 ? -offset : offset);
    int64_t numel;
    if (adzi_check_sizes(op, 2, (int64_t[]){ size, size }, (adz_dtype)x->dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    return adzi_diagonal_put(x, size, size, offset);
}
