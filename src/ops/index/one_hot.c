#include "ops/index/indices.h"

/* Vectors that are 1 at an id and 0 elsewhere, torch.nn.functional.one_hot.
 *
 *     y[..., c] = 1 if c = ids[...], else 0
 *
 * ids[...] are i64 or i32, y is i64 [..., C]. With num_classes -1, C is one more than the largest
 * id. Not differentiable, so nothing is saved. */

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

/* Replaces the number of classes that the call has given. A trace is asked about the ids as the
 * caller has given them. It takes converted ids for a result of the traced function, even if they
 * are constants. */
static bool check(adzi_call *call, void *block)
{
    int64_t *n = block;
    const adz_tensor *given = call->in[0];
    if (!adzi_want_indices(call, 0) ||
        (*n == -1 && !adzi_host_may(given, "adz_one_hot with num_classes -1"))) {
        return false;
    }
    *n = classes(call->in[0], *n);
    return *n >= 0;
}

/* The classes are a new last dimension. The result is i64, as in PyTorch; adz_to gives other
 * dtypes. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const int64_t *n = block;
    const int rank = in[0]->rank;
    int64_t numel;
    y->dtype = ADZ_I64;
    y->shape.rank = rank + 1;
    if (rank < ADZ_MAX_RANK) { /* the check refuses one dimension more */
        y->shape.sizes[rank] = *n;
    }
    return adzi_check_sizes("one_hot", rank + 1, y->shape.sizes, ADZ_I64, &numel);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const ones_args args = { adzi_index_data(in[0]), adzi_index_data(y[0]),
        *(const int64_t *)block };
    adzi_fill(y[0], 0);
    adzi_launch(write_ones, ones_args, &args, in[0]->numel, ADZI_POINTWISE_GRAIN);
}

/* The check makes the ids contiguous. */
const adzi_op adzi_op_one_hot = {
    .name = "one_hot", .shape_rule = shape_rule, .strided_inputs = 1u << 0
};

adz_tensor *adz_one_hot(adz_tensor *ids, int64_t num_classes)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_one_hot, steps, &num_classes, ids);
}
