#include "autograd/ops/dropout/dropout.h"

#include "tensor/random/random.h"
#include "base/random_generator.h"

KERNEL_TABLE_FLOAT(dropout);
KERNEL_TABLE_FLOAT(dropout_again);

enum { GROUP = 64, GRAIN = ADZI_POINTWISE_GRAIN / GROUP };

/* The forward saves one bit per element: to draw the mask again in the backward takes ten times as
 * long as to read it. */
typedef struct {
    double p;
} dropout_attr;

/* The state of a generator that is not used, because everything is dropped. */
static const adz_generator_state nothing_drawn;

static adz_tensor *apply(
    adz_tensor *x, double p, adz_tensor *kept, const adz_generator_state *state);

/* dx = dy under the same mask; y is linear in x, so this is the operator itself. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    dx[0] = adzi_dropout_again(dy[0], adzi_attr(node, dropout_attr)->p, adzi_saved_extra(node, 0));
    return adzi_status(dx[0]);
}

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

static int64_t groups_of(int64_t numel)
{
    return (numel + GROUP - 1) / GROUP;
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *g = adzi_compact("dropout", dy[0]), *kept = adzi_saved_extra(node, 0);
    dx[0] = g != NULL && kept != NULL ? adzi_scratch_over("dropout", g, g) : NULL;
    if (dx[0] == NULL) {
        return adzi_status(NULL);
    }
    adzi_dropout_args args = arguments(g, dx[0], adzi_attr(node, dropout_attr)->p, kept, NULL);
    adzi_launch(KERNEL_FOR(dropout_again, g->dtype), &args, groups_of(args.n), GRAIN);
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(dropout_attr, p) };

const adzi_op adzi_op_dropout = {
    .name = "dropout", .backward = backward, .fused = fused, ADZI_FIELDS(fields)
};

/* With the mask `kept`, or with one that is drawn from `state` if `kept` is NULL. */
static adz_tensor *apply(
    adz_tensor *x, double p, adz_tensor *kept, const adz_generator_state *state)
{
    const dropout_attr attr = { p };
    adzi_call call;
    if (!ADZI_ENTER(&call, dropout, x) || !adzi_want_float(&call, 0)) {
        return NULL;
    }
    adz_tensor *xs = adzi_compact("dropout", x); /* the mask counts elements in order */
    adz_tensor *y = xs != NULL ? adzi_new_like(&call, xs) : NULL;
    if (y == NULL) {
        return NULL;
    }
    int64_t groups = groups_of(y->numel);
    bool draws = kept == NULL;
    if (draws && call.record && (kept = adzi_new(&call, ADZ_I64, 1, &groups)) == NULL) {
        return NULL;
    }
    if (!adzi_record_extra(&call, 1, &y, 1, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_save_extra(&call, 0, kept);
    adzi_dropout_args args = arguments(xs, y, p, kept, state);
    adzi_launch(draws ? KERNEL_FOR(dropout, x->dtype) : KERNEL_FOR(dropout_again, x->dtype), &args,
        groups, GRAIN);
    return adzi_leave(&call, y);
}

adz_tensor *adzi_dropout_again(adz_tensor *x, double p, adz_tensor *kept)
{
    return apply(x, p, kept, NULL);
}

adz_tensor *adz_dropout(adz_tensor *x, double p, bool training, adz_generator *generator)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, dropout, x) || !adzi_want_float(&call, 0)) {
        return NULL;
    }
    if (!(p >= 0 && p <= 1)) {
        return adzi_fail("dropout", ADZ_ERR_ARGUMENT, "p is %s, but a probability lies in [0, 1]",
            adzi_text_number(p));
    }
    if (!training || p == 0) {
        return x;
    }
    const bool draws = p < 1;
    if (draws && (generator = adzi_generator_or_default(generator)) == NULL) {
        return NULL;
    }
    adz_tensor *y = apply(x, p, NULL, draws ? &generator->state : &nothing_drawn);
    if (y != NULL && draws) { /* only now: a call that failed has drawn nothing */
        adzi_generator_advance(generator, adzi_philox_counters(x->numel, ADZI_DRAW_WORD));
    }
    return y;
}
