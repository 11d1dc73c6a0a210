#include "ops/index/nonzero.h"

#include "ops/op.h"
#include "base/capture.h"
#include "base/tracer.h"

/* The positions of elements that are not 0, torch.nonzero.
 *
 *     y[k] = the coordinates of the k-th element that is not 0, in row-major order
 *
 * x has any shape, y is i64 [K, rank]. The host reads K, because it makes the result. So a plan or
 * an export cannot contain the call. Not differentiable. */

/* Arguments of both kernels, which have one unit each: the position of an element follows from all
 * elements before it. */
typedef struct {
    const bool *mask;
    int64_t n, *count;
    int64_t *y; /* [count, rank] */
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
} nonzero_args;

ADZI_ADDRESSES(nonzero_args, mask, count, y);

static void count_true(const void *block, int64_t begin, int64_t end)
{
    const nonzero_args *args = block;
    int64_t count = 0;
    for (int64_t i = 0; i < args->n && begin < end; ++i) {
        count += args->mask[i];
    }
    if (begin < end) {
        *args->count = count;
    }
}

static void write_positions(const void *block, int64_t begin, int64_t end)
{
    const nonzero_args *args = block;
    int64_t at[ADZ_MAX_RANK] = { 0 }, *y = args->y;
    for (int64_t i = 0; i < args->n && begin < end; ++i) {
        if (args->mask[i]) {
            memcpy(y, at, (size_t)args->rank * sizeof *y);
            y += args->rank;
        }
        for (int d = args->rank - 1; d >= 0 && ++at[d] == args->sizes[d]; --d) {
            at[d] = 0;
        }
    }
}

bool adzi_elements_decide(const char *op, const adz_tensor *t)
{
    /* A trace allows it for constants, whose elements are those of every run. */
    return adzi_self()->tracer != NULL
               ? adzi_host_may(t, op)
               : !adzi_is_captured(op, "the elements decide the shape of the result");
}

/* The elements of x that are not 0 as a contiguous mask. */
static adz_tensor *mask_of(adz_tensor *x)
{
    adz_tensor *mask = x->dtype == ADZ_BOOL ? adz_detach(x) : adz_ne_number(adz_detach(x), 0);
    return mask != NULL ? adzi_compact("nonzero", mask) : NULL;
}

/* Counts the elements, because the result has a row for each. */
static bool check(adzi_call *call, void *block)
{
    nonzero_args *args = block;
    adz_tensor *x = call->in[0];
    if (!adzi_elements_decide("nonzero", x)) {
        return false;
    }
    adz_tensor *mask = mask_of(x), *count = adzi_scratch("nonzero", ADZ_I64, 0, NULL);
    if (mask == NULL || count == NULL) {
        return false;
    }
    *args = (nonzero_args){ .mask = (const bool *)(const void *)mask->data,
        .n = mask->numel,
        .count = (int64_t *)(void *)count->data,
        .rank = x->rank };
    memcpy(args->sizes, x->sizes, sizeof args->sizes);
    adzi_launch(count_true, nonzero_args, args, 1, 1);
    return true;
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const nonzero_args *args = block;
    y->dtype = ADZ_I64;
    y->shape = ADZ_SHAPE(*args->count, in[0]->rank);
    return ADZ_OK;
}

static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    nonzero_args *args = block;
    (void)call, (void)in;
    args->y = (int64_t *)(void *)y[0]->data;
    return true;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const nonzero_args *args = block;
    (void)y, (void)in;
    adzi_launch(write_positions, nonzero_args, args, 1, 1);
}

/* The launch reads the mask, and x not at all. */
const adzi_op adzi_op_nonzero = { .name = "nonzero",
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 0,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

adz_tensor *adz_nonzero(adz_tensor *x)
{
    static const adzi_steps steps = { .check = check, .prepare = prepare, .launch = launch };
    nonzero_args args;
    return ADZI_RUN_STEPS(&adzi_op_nonzero, steps, &args, x);
}
