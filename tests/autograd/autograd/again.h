/* A network of one operator whose result can be computed again, and one product that reads it. */
#ifndef ADZE_TESTS_AUTOGRAD_AUTOGRAD_AGAIN_H
#define ADZE_TESTS_AUTOGRAD_AUTOGRAD_AGAIN_H

#include "autograd/node.h"
#include "graph.h"

enum { ROWS = 300, WIDTH = 64, OUT = 72, SMALL = 8 }; /* x has 76 kB in f32 */

static inline int begin_recomputing(void **state)
{
    adz_set_recomputing(true);
    return open_scope(state);
}

static inline int end_recomputing(void **state)
{
    adz_set_recomputing(false);
    return close_scope(state);
}

#define AGAIN(f) cmocka_unit_test_setup_teardown(f, begin_recomputing, end_recomputing)

/* ---- what can be computed again -------------------------------------------------------------- */

/* The parameters of a producer, each of WIDTH elements. */
typedef struct {
    adz_tensor *weight, *bias;
} parameters;

static inline adz_tensor *gelu(adz_tensor *x, const parameters *p)
{
    (void)p;
    return adz_gelu(x, ADZ_GELU_TANH);
}

static inline adz_tensor *silu(adz_tensor *x, const parameters *p)
{
    (void)p;
    return adz_silu(x);
}

static inline adz_tensor *elu(adz_tensor *x, const parameters *p)
{
    (void)p;
    return adz_elu(x, 0.75);
}

static inline adz_tensor *leaky_relu(adz_tensor *x, const parameters *p)
{
    (void)p;
    return adz_leaky_relu(x, 0.125);
}

static inline adz_tensor *softplus(adz_tensor *x, const parameters *p)
{
    (void)p;
    return adz_softplus(x, 2, 1);
}

static inline adz_tensor *layer_norm(adz_tensor *x, const parameters *p)
{
    return adz_layer_norm(x, ADZ_SHAPE(WIDTH), p->weight, p->bias, 1e-5);
}

static inline adz_tensor *plain_layer_norm(adz_tensor *x, const parameters *p)
{
    (void)p;
    return adz_layer_norm(x, ADZ_SHAPE(WIDTH), ADZ_NONE, ADZ_NONE, 1e-5);
}

static inline adz_tensor *rms_norm(adz_tensor *x, const parameters *p)
{
    return adz_rms_norm(x, ADZ_SHAPE(WIDTH), p->weight, 1e-5);
}

static inline adz_tensor *biased(adz_tensor *x, const parameters *p)
{
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.activation = ADZ_ACTIVATION_GELU;
    return adz_bias_activation(x, p->bias, ADZ_NONE, ADZ_NONE, &o);
}

static inline adz_tensor *gated(adz_tensor *x, const parameters *p)
{
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.activation = ADZ_ACTIVATION_SILU;
    o.training = true;
    o.dropout = 0.25;
    return adz_bias_activation(x, p->bias, adz_mul_number(x, 0.5), p->weight, &o);
}

typedef struct {
    const char *name;
    adz_tensor *(*call)(adz_tensor *x, const parameters *p);
} producer;

static const producer producers[] = {
    { "gelu", gelu },
    { "silu", silu },
    { "elu", elu },
    { "leaky_relu", leaky_relu },
    { "softplus", softplus },
    { "layer_norm", layer_norm },
    { "layer_norm without parameters", plain_layer_norm },
    { "rms_norm", rms_norm },
    { "bias_activation", biased },
    { "bias_activation with a gate and dropout", gated },
};

enum { N_PRODUCERS = sizeof producers / sizeof *producers };

/* ---- a network of one producer and one product ----------------------------------------------- */

enum { X, WEIGHT, BIAS, W, LEAVES };

/* x[ROWS, WIDTH], weight[WIDTH] and bias[WIDTH] of the producer, and w[OUT, WIDTH]. */
typedef struct {
    adz_tensor *leaves[LEAVES];
    parameters p;
} network;

static inline adz_tensor *drawn(adz_shape shape, adz_dtype dtype)
{
    return adz_requires_grad_(adz_randn(shape, dtype), true);
}

static inline network network_new(adz_dtype dtype)
{
    adz_manual_seed(3);
    network n = { { drawn(ADZ_SHAPE(ROWS, WIDTH), dtype), drawn(ADZ_SHAPE(WIDTH), dtype),
                      drawn(ADZ_SHAPE(WIDTH), dtype), drawn(ADZ_SHAPE(OUT, WIDTH), dtype) },
        { NULL, NULL } };
    n.p = (parameters){ n.leaves[WEIGHT], n.leaves[BIAS] };
    return n;
}

/* How often `counting` has computed the result again. */
static int calls;
static adz_tensor *(*counted)(adz_node *node);

static inline adz_tensor *counting(adz_node *node)
{
    ++calls;
    return counted(node);
}

/* The producer's result of x + 0, which nobody else holds. Calls that compute it again count. */
static inline adz_tensor *produce(const network *n, const producer *made_by)
{
    adz_tensor *y = made_by->call(adz_add_number(n->leaves[X], 0), &n->p);
    assert_non_null(y);
    assert_non_null(y->node->recompute);
    counted = y->node->recompute;
    y->node->recompute = counting;
    calls = 0;
    return y;
}

/* y w^T, where y ends with the call. */
static inline adz_tensor *product(const network *n, const producer *made_by)
{
    adz_scope *inner = adz_scope_open();
    return adz_scope_return(inner, adz_linear(produce(n, made_by), n->leaves[W], ADZ_NONE));
}

/* A loss whose gradient differs from element to element. */
static inline adz_tensor *loss_of(adz_tensor *z)
{
    return total(adz_sin(z));
}

static inline void take_gradients(const network *n, adz_tensor **gradients)
{
    for (int i = 0; i < LEAVES; ++i) {
        gradients[i] = adz_tensor_grad(n->leaves[i]);
        if (gradients[i] != NULL) {
            gradients[i] = adz_clone(gradients[i]);
            adz_tensor_set_grad(n->leaves[i], ADZ_NONE);
        }
    }
}

static inline void assert_equal_bits(adz_tensor *const *a, adz_tensor *const *b)
{
    for (int i = 0; i < LEAVES; ++i) {
        assert_int_equal(a[i] == NULL, b[i] == NULL);
        if (a[i] != NULL) {
            assert_memory_equal(adz_tensor_data(a[i]), adz_tensor_data(b[i]),
                (size_t)a[i]->numel * adzi_item_size(a[i]));
        }
    }
}

static inline size_t live_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_bytes;
}

#endif
