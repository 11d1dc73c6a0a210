#include "ops/op.h"
#include "base/alloc.h"

/* Distances between all pairs of rows, torch.nn.functional.pdist. A composition: rows are taken in
 * pairs, and the norm of their difference is cdist's.
 *
 * The order is that of the upper triangle of a matrix of distances, row by row. The rows are copied
 * once for each pair, so memory grows with the square of their number. */

/* The numbers of the first or the second row of each pair, i64 [n (n - 1) / 2]. */
static adz_tensor *pairs(int64_t n, bool second)
{
    const int64_t count = n > 0 ? n * (n - 1) / 2 : 0;
    const size_t bytes = (size_t)(count + 1) * sizeof(int64_t);
    int64_t *rows = adzi_alloc(bytes), k = 0;
    if (rows == NULL) {
        return adzi_fail_memory("pdist", bytes);
    }
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = i + 1; j < n; ++j) {
            rows[k++] = second ? j : i;
        }
    }
    adz_tensor *t = adz_tensor_from(rows, ADZ_SHAPE(count), ADZ_I64);
    adzi_free(rows, bytes);
    return t;
}

/* The distances of all pairs of rows of x[N, D], torch.nn.functional.pdist. */
adz_tensor *adz_pdist(adz_tensor *x, double p)
{
    ADZI_COMPOSED();
    static const char op[] = "pdist";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->rank != 2) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s is no matrix of rows", adzi_text_shape(x));
    }
    if (!(p >= 0)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "p is %s, but a distance needs 0 or more", adzi_text_number(p));
    }
    const int64_t n = x->sizes[0];
    int64_t twice;
    if (n > 0 && (__builtin_mul_overflow(n, n - 1, &twice) ||
                     twice > INT64_MAX / (int64_t)sizeof(int64_t))) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s has too many pairs of rows", adzi_text_shape(x));
    }
    adz_tensor *first = pairs(n, false), *second = pairs(n, true);
    adz_tensor *a = first != NULL ? adz_index_select(x, 0, first) : NULL;
    adz_tensor *b = second != NULL ? adz_index_select(x, 0, second) : NULL;
    if (a == NULL || b == NULL) {
        return NULL;
    }
    /* Each pair is a batch of one row against one. */
    adz_tensor *distances = adz_cdist(adz_unsqueeze(a, 1), adz_unsqueeze(b, 1), p);
    return distances != NULL ? adz_reshape(distances, ADZ_SHAPE(first->numel)) : NULL;
}
