/* LSTM, GRU and RNN step by step, with whichever activations and peepholes a file has. */
#include "recurrent.h"

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"

/* One direction of a node. */
typedef struct direction {
    const recurrent *node;
    const recurrent_function *f;
    adz_tensor *r, *rb; /* [gates * H, H] and [gates * H] */
    adz_tensor *p;      /* [3 * H], or ADZ_NONE */
    adz_tensor *gates;  /* of the inputs: [T, B, gates * H] */
} direction;

/* Part i of the last dimension, which has H elements. */
static adz_tensor *part(const direction *d, adz_tensor *x, int i)
{
    return adz_narrow(x, -1, i * d->node->hidden, d->node->hidden);
}

/* gate + peephole i * cell */
static adz_tensor *peep(const direction *d, adz_tensor *gate, int i, adz_tensor *cell)
{
    return d->p == ADZ_NONE ? gate : adz_add(gate, adz_mul(part(d, d->p, i), cell));
}

/* Gates in the order i, o, f, c. */
static adz_tensor *lstm_step(const direction *d, adz_tensor *gates, adz_tensor *h, adz_tensor **c)
{
    adz_tensor *all = adz_add(gates, adz_linear(h, d->r, d->rb));
    adz_tensor *i = d->f[0](peep(d, part(d, all, 0), 0, *c));
    adz_tensor *forget = d->f[0](peep(d, part(d, all, 2), 2, *c));
    *c = adz_add(adz_mul(forget, *c), adz_mul(i, d->f[1](part(d, all, 3))));
    adz_tensor *o = d->f[0](peep(d, part(d, all, 1), 1, *c));
    return adz_mul(o, d->f[2](*c));
}

/* Gates in the order z, r, h. */
static adz_tensor *gru_step(const direction *d, adz_tensor *gates, adz_tensor *h, adz_tensor **c)
{
    (void)c;
    const int64_t n = d->node->hidden;
    const bool after = adzi_reader_int(d->node->call, "linear_before_reset", 0) != 0;
    adz_tensor *r_h = adz_narrow(d->r, 0, 2 * n, n), *b_h = adz_narrow(d->rb, 0, 2 * n, n);
    adz_tensor *zr = d->f[0](adz_add(adz_narrow(gates, -1, 0, 2 * n),
        adz_linear(h, adz_narrow(d->r, 0, 0, 2 * n), adz_narrow(d->rb, 0, 0, 2 * n))));
    adz_tensor *z = part(d, zr, 0), *r = part(d, zr, 1);
    adz_tensor *passed =
        after ? adz_mul(r, adz_linear(h, r_h, b_h)) : adz_linear(adz_mul(r, h), r_h, b_h);
    adz_tensor *next = d->f[1](adz_add(part(d, gates, 2), passed));
    return adz_add(next, adz_mul(z, adz_sub(h, next))); /* (1 - z) next + z h */
}

static adz_tensor *rnn_step(const direction *d, adz_tensor *gates, adz_tensor *h, adz_tensor **c)
{
    (void)c;
    return d->f[0](adz_add(gates, adz_linear(h, d->r, d->rb)));
}

/* The state of a sequence that has ended stays. */
static adz_tensor *choose(adz_tensor *active, adz_tensor *fresh, adz_tensor *old)
{
    return active != NULL && fresh != old ? adz_where(active, fresh, old) : fresh;
}

/* Runs one direction; returns y[T, B, H]. */
static adz_tensor *run(const direction *d, adz_tensor **h, adz_tensor **c, bool backward)
{
    const recurrent *n = d->node;
    adz_tensor *(*step)(const direction *, adz_tensor *, adz_tensor *, adz_tensor **) =
        n->gates == 4   ? lstm_step
        : n->gates == 3 ? gru_step
                        : rnn_step;
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(n->batch, n->hidden), adz_tensor_dtype(n->x));
    adz_tensor **y = adzi_reader_alloc(&n->call->run->arena, (size_t)n->steps, sizeof *y);
    for (int64_t i = 0; i < n->steps && y != NULL; ++i) {
        const int64_t t = backward ? n->steps - 1 - i : i;
        adz_tensor *active = NULL, *old_h = *h, *old_c = *c;
        if (n->lengths != NULL) {
            active = adz_unsqueeze(adz_gt_number(n->lengths, (double)t), 1);
        }
        adz_tensor *fresh = step(d, adz_select(d->gates, 0, t), *h, c);
        *h = choose(active, fresh, old_h);
        *c = choose(active, *c, old_c);
        y[t] = choose(active, fresh, zeros);
    }
    return y != NULL ? adz_stack(y, (size_t)n->steps, 0) : NULL;
}

/* The state of direction k before its first step. */
static adz_tensor *first(const recurrent *n, adz_tensor *state, int k)
{
    return state == ADZ_NONE ? adz_zeros(ADZ_SHAPE(n->batch, n->hidden), adz_tensor_dtype(n->x))
                             : adz_select(state, 0, k);
}

adz_tensor *adzi_reader_recur(const recurrent *node, adz_tensor **h, adz_tensor **c)
{
    adz_tensor *y[2], *last_h[2], *last_c[2];
    const int64_t rows = node->gates * node->hidden;
    for (int k = 0; k < node->directions; ++k) {
        adz_tensor *b = node->b != ADZ_NONE
                            ? adz_select(node->b, 0, k)
                            : adz_zeros(ADZ_SHAPE(2 * rows), adz_tensor_dtype(node->x));
        direction d = { .node = node,
            .f = node->f[k],
            .r = adz_select(node->r, 0, k),
            .rb = adz_narrow(b, 0, rows, rows),
            .p = node->p != ADZ_NONE ? adz_select(node->p, 0, k) : ADZ_NONE,
            .gates = adz_linear(node->x, adz_select(node->w, 0, k), adz_narrow(b, 0, 0, rows)) };
        last_h[k] = first(node, node->h0, k);
        last_c[k] = first(node, node->c0, k);
        y[k] = run(&d, &last_h[k], &last_c[k], k == 1 || node->backward);
    }
    *h = adz_stack(last_h, (size_t)node->directions, 0);
    *c = adz_stack(last_c, (size_t)node->directions, 0);
    return adz_stack(y, (size_t)node->directions, 1);
}
