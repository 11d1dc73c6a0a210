#include "ops/op.h"

/* The element that occurs most often in each slice, torch.mode.
 *
 * A composition: slices are sorted, and equal elements become runs. The first longest run holds the
 * smallest of the elements that occur most often, and its first element the least index. */

/* Numbers 0, 1, ... along dimension d, in the shape of x. */
static adz_tensor *numbers_like(const adz_tensor *x, int d)
{
    adz_shape along = { .rank = x->rank };
    for (int i = 0; i < x->rank; ++i) {
        along.sizes[i] = i == d ? x->sizes[d] : 1;
    }
    adz_tensor *numbers = adz_arange(0, (double)x->sizes[d], 1, ADZ_I64);
    return adz_expand(adz_reshape(numbers, along), adz_shape_of(x->rank, x->sizes));
}

/* The position of the beginning of the first longest run of each sorted slice, with size 1 along d.
 */
static adz_tensor *longest_run(adz_tensor *sorted, int d)
{
    const int64_t n = sorted->sizes[d];
    adz_tensor *number = numbers_like(sorted, d), *first = adz_narrow(sorted, d, 0, 1);
    adz_tensor *differs = adz_ne(adz_narrow(sorted, d, 1, n - 1), adz_narrow(sorted, d, 0, n - 1));
    if (number == NULL || first == NULL || differs == NULL) {
        return NULL;
    }
    adz_tensor *parts[] = { adz_ones(adz_tensor_shape(first), ADZ_BOOL), differs };
    adz_tensor *marks = adz_mul(number, adz_to(adz_cat(parts, 2, d), ADZ_I64));
    adz_tensor *begin = adz_cummax(marks, d, NULL); /* of the run of each element */
    adz_tensor *at = NULL, *most = adz_max_dim(adz_sub(number, begin), d, ADZ_KEEPDIM, &at);
    return most != NULL ? adz_sub(at, most) : NULL;
}

/* torch.mode. Of several values that are most frequent, the smallest one. */
adz_tensor *adz_mode(adz_tensor *x, int dim, bool keepdim, adz_tensor **indices)
{
    ADZI_COMPOSED();
    static const char op[] = "mode";
    if (indices != NULL) {
        *indices = NULL;
    }
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    if (d < 0) {
        return NULL;
    }
    const int64_t n = x->rank > 0 ? x->sizes[d] : 1;
    if (n == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "dimension %d of x%s is empty and has no element", d,
            adzi_text_shape(x));
    }
    adz_tensor *order = NULL, *sorted = adz_sort(adz_detach(x), d, false, &order), *at = order;
    if (sorted == NULL) {
        return NULL;
    }
    if (n > 1) {
        at = adz_gather(order, d, longest_run(sorted, d));
    }
    adz_tensor *y = adz_gather(x, d, at);
    if (!keepdim && x->rank > 0) {
        y = adz_squeeze(y, d);
        at = adz_squeeze(at, d);
    }
    if (indices != NULL) {
        *indices = y != NULL ? at : NULL;
    }
    return at != NULL ? y : NULL;
}
