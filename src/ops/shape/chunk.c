#include "ops/shape/list.h"

/* Cuts a dimension into a number of pieces, torch.chunk. Pieces have size ceil(S / chunks); the
 * last may be smaller, and there may be fewer than asked for. The pieces are views of x. It is a
 * composition: split records the node, whose gradient joins the pieces. */
adz_status adz_chunk(adz_tensor *x, int64_t chunks, int dim, adz_tensor **out, size_t *count)
{
    ADZI_COMPOSED();
    if (out == NULL) {
        return adzi_error_null("chunk", "out");
    }
    if (chunks < 1 || chunks > ADZI_LIST_MOST) {
        return adzi_error("chunk", ADZ_ERR_ARGUMENT, "%lld chunks were asked for; it makes 1 to %d",
            (long long)chunks, (int)ADZI_LIST_MOST);
    }
    /* The caller's array has room for all chunks, so a failure empties all of it. */
    size_t n = (size_t)chunks;
    if (!adzi_check_tensor("chunk", "x", x)) {
        return adzi_no_results(out, n);
    }
    if (x->rank == 0) {
        adzi_error("chunk", ADZ_ERR_DIM, "a scalar cannot be cut up");
        return adzi_no_results(out, n);
    }
    int d = adzi_dim("chunk", x, dim);
    if (d < 0) {
        return adzi_no_results(out, n);
    }
    /* The quotient is rounded up without a sum that could overflow. */
    int64_t size = x->sizes[d] / chunks + (x->sizes[d] % chunks != 0);
    /* An empty dimension gives as many empty pieces as were asked for, as in PyTorch. */
    if (x->sizes[d] == 0) {
        int64_t *sizes = adzi_alloc_zero(n * sizeof *sizes);
        if (sizes == NULL) {
            adzi_fail_memory("chunk", n * sizeof *sizes);
            return adzi_no_results(out, n);
        }
        adz_status status = adz_split_sizes(x, sizes, n, d, out);
        adzi_free(sizes, n * sizeof *sizes);
        if (status == ADZ_OK && count != NULL) {
            *count = n;
        }
        return status;
    }
    /* split makes the views, records them and reports how many there are. */
    return adz_split(x, size, d, out, n, count);
}
