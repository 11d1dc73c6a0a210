#include "ops/dropout/dropout.h"

#include "tensor/random/random.h"
#include "base/random_generator.h"

/* Sets elements to zero at random and scales the others, torch.nn.functional.dropout.
 *
 *     y  = x m / (1 - p),   m = 1 with probability 1 - p, else 0
 *     dx = dy m / (1 - p)
 *
 * x has any shape, f32 or f64. The expected value of y is x. For p = 1, y is x times 0, so that NaN
 * stays NaN as in PyTorch, and nothing is drawn.
 *
 * The node saves m as an extra tensor kept[ceil(numel / 64)], i64, one bit per element in row-major
 * order, and p as an attribute. Reading the bits is several times as fast as drawing them again
 * from the generator's state, and they are 1/32 of the size of an f32 x. */

KERNEL_TABLE_FLOAT(dropout);
KERNEL_TABLE_FLOAT(dropout_again);

/* The units of a launch are groups of 64 elements, one word of the mask each. */
enum { GROUP = 64, GRAIN = ADZI_POINTWISE_GRAIN / GROUP };

typedef struct {
    double p;
} dropout_attr;

/* y is linear in x, so the gradient is the operator itself, applied to dy with the mask that the
 * forward drew. It can be differentiated again to any order. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_dropout_again(dy[0], adzi_attr(node, dropout_attr)->p, adzi_saved_extra(node, 0));
    return adzi_status(dx[0]);
}

/* The arguments of both kernels. `dropout` reads the state and writes `kept` unless it is NULL.
 * `dropout_again` reads `kept` and no state. Both x and y are contiguous and may be one memory. */
static adzi_dropout_args arguments(const adz_tensor *x, adz_tensor *y, double p,
    const adz_tensor *kept, const adz_generator_state *state)
{
    const double keep = 1 - p;
    return (adzi_dropout_args){ .state = state,
        .x = x->data,
        .y = y->data,
        .kept = kept != NULL ? (uint64_t *)(void *)kept->data : NULL,
        .n = y->numel,
        .keep = keep,
        .scale = keep > 0 ? 1 / keep : 0 };
}

/* The last group may be short. */
static int64_t groups_of(int64_t numel)
{
    return (numel + GROUP - 1) / GROUP;
}

/* Computes the gradient without recording, over dy itself if the engine is its only owner. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *g = adzi_compact("dropout", dy[0]), *kept = adzi_saved_extra(node, 0);
    dx[0] = g != NULL && kept != NULL ? adzi_scratch_over("dropout", g, g) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_dropout_args args = arguments(g, dx[0], adzi_attr(node, dropout_attr)->p, kept, NULL);
    adzi_launch(
        KERNEL_FOR(dropout_again, g->dtype), adzi_dropout_args, &args, groups_of(args.n), GRAIN);
    return ADZ_OK;
}

static const adz_field fields[] = { ADZ_FIELD(dropout_attr, p, ADZ_CLOSED(0, 1)) };

const adzi_op adzi_op_dropout = { .name = "dropout",
    .backward = backward,
    .fused = fused,
    ADZI_ATTRIBUTES(dropout_attr, fields),
    .dtypes = ADZ_DTYPES_FLOATS };

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    dropout_attr at;
    const adz_generator_state *state;
} dropout_call;

/* The mask is stored only if the call is recorded, since without a backward nobody reads it. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    const int64_t groups = groups_of(y[0]->numel);
    (void)in;
    (void)block;
    y[1] = call->second = call->record ? adzi_new(call, ADZ_I64, 1, &groups) : NULL;
    return y[1] != NULL || !call->record;
}

/* Draws a mask from the state and applies it. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const dropout_call *c = block;
    const adzi_dropout_args args = arguments(in[0], y[0], c->at.p, y[1], c->state);
    adzi_launch(
        KERNEL_FOR(dropout, y[0]->dtype), adzi_dropout_args, &args, groups_of(args.n), GRAIN);
}

/* ---- with the mask of an earlier call ------------------------------------------------------- */

/* The derivative of this operator is the operator itself with the same mask. */
static adz_status again_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_dropout_again(dy[0], adzi_attr(node, dropout_attr)->p, adzi_saved_input(node, 1));
    return adzi_status(dx[0]);
}

static void launch_again(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const dropout_attr *at = block;
    const adzi_dropout_args args = arguments(in[0], y[0], at->p, in[1], NULL);
    adzi_launch(
        KERNEL_FOR(dropout_again, y[0]->dtype), adzi_dropout_args, &args, groups_of(args.n), GRAIN);
}

/* The mask is an input of the call, so that a trace knows where it comes from. */
static const adzi_op adzi_op_again = { .name = "dropout_again",
    .backward = again_backward,
    ADZI_ATTRIBUTES(dropout_attr, fields),
    .saved_inputs = 1u << 1,
    .dtypes = ADZ_DTYPES_FLOATS };

adz_tensor *adzi_dropout_again(adz_tensor *x, double p, adz_tensor *kept)
{
    return ADZI_RUN(again, launch_again, &(dropout_attr){ p }, x, kept);
}

/* ---- the public call ------------------------------------------------------------------------ */

/* Checks p, chooses the generator and moves it on once the call has succeeded. A call that fails
 * draws nothing, so that a repeated call gives the mask that the first one would have given. The
 * generator moves by one 32-bit word per element, rounded up to whole groups of 64. */
adz_tensor *adz_dropout(adz_tensor *x, double p, bool training, adz_generator *generator)
{
    static const adzi_steps steps = { .prepare = prepare, .launch = launch, .n_kept = 1 };
    dropout_call c = { .at = { p }, .state = &adzi_nothing_drawn };
    const bool draws = training && p > 0 && p < 1;
    if (!adzi_check_tensor("dropout", "x", x) || !adzi_field_takes("dropout", &fields[0], p)) {
        return NULL;
    }
    /* x itself, as in PyTorch. The call is written out, because it only checks x. */
    if (!training || p == 0) {
        adzi_call call;
        return ADZI_ENTER(&call, dropout, x) && adzi_want_float(&call, 0) ? x : NULL;
    }
    if (draws && (generator = adzi_generator_or_default(generator)) == NULL) {
        return NULL;
    }
    c.state = draws ? &generator->state : c.state;
    adz_tensor *y = ADZI_RUN_STEPS(&adzi_op_dropout, steps, &c, x);
    if (y != NULL && draws) {
        adzi_generator_advance(generator, adzi_philox_counters(x->numel, ADZI_DRAW_WORD));
    }
    return y;
}
