#include "ops/index/indices.h"

/* Vectors that are 1 at an id and 0 elsewhere, torch.nn.functional.one_hot.
 *
 *     y[..., c] = 1 if c = ids[...], else 0
 *
 * ids[...] are i64 or i32, y is i64 [..., C]. With num_classes -1, C is one more than the largest
 * id. Not differentiable, so nothing is saved. */

const adzi_op adzi_op_one_hot = { .name = "one_hot" };

/* The number of classes, or -1 with the error recorded. If it is left open, the largest id decides.
 * The other ids are checked against it. */
static int64_t classes(const adz_tensor *ids, int64_t n)
{
    if (n == 0 || n < -1 || (n == -1 && ids->numel == 0)) {
        adzi_error("one_hot", ADZ_ERR_ARGUMENT,
            "%lld classes for ids%s: it takes 1 or more, or -1 for one above the largest id",
            (long long)n, adzi_text_shape(ids));
        return -1;
    }
    if (n == -1 && adzi_is_captured("one_hot", "the largest id decides the shape of the result")) {
        return -1;
    }
    /* An id of INT64_MAX is skipped here and refused by the check below. */
    int64_t largest = n > 0 ? n - 1 : 0;
    for (int64_t i = 0; n == -1 && i < ids->numel; ++i) {
        int64_t id = adzi_index_data(ids)[i];
        largest = id > largest && id < INT64_MAX ? id : largest;
    }
    return adzi_indices_within("one_hot", ids, largest + 1, "classes of ids", ids) ? largest + 1
                                                                                   : -1;
}

/* Arguments of write_ones. Units are ids, and id i belongs to row i of y. */
typedef struct {
    const int64_t *ids;
    int64_t *y; /* [ids, n], zeros */
    int64_t n;  /* classes */
} ones_args;

ADZI_ADDRESSES(ones_args, ids, y);

/* Units are ids. Each writes one element into its row of zeros. */
static void write_ones(const void *block, int64_t begin, int64_t end)
{
    const ones_args *args = block;
    for (int64_t i = begin; i < end; ++i) {
        args->y[i * args->n + args->ids[i]] = 1;
    }
}

/* The result is i64, as in PyTorch; adz_to gives other dtypes. */
adz_tensor *adz_one_hot(adz_tensor *ids, int64_t num_classes)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, one_hot, ids) || !adzi_want_indices(&call, 0) ||
        (num_classes == -1 && !adzi_host_may(ids, "adz_one_hot with num_classes -1"))) {
        return NULL;
    }
    int64_t n = classes(call.in[0], num_classes), sizes[ADZ_MAX_RANK + 1], numel;
    if (n < 0) {
        return NULL;
    }
    /* The classes are a new last dimension. */
    for (int i = 0; i < ids->rank; ++i) {
        sizes[i] = ids->sizes[i];
    }
    sizes[ids->rank] = n;
    if (adzi_check_sizes("one_hot", ids->rank + 1, sizes, ADZ_I64, &numel) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, ADZ_I64, ids->rank + 1, sizes);
    if (y == NULL || !adzi_record_nothing(&call, y, NULL, 0)) {
        return NULL;
    }
    adzi_fill(y, 0);
    const ones_args args = { adzi_index_data(call.in[0]), adzi_index_data(y), n };
    adzi_launch(write_ones, ones_args, &args, ids->numel, ADZI_POINTWISE_GRAIN);
    return adzi_leave(&call, y);
}
