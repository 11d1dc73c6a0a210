#include "ops/activation/activation_table.h"
#include "ops/activation/bias_activation.h"

#include "ops/facts.h"

/* p[0] = activation, p[1] = dropout, p[2] = training. Every call draws an equal mask. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_generator *generator = adz_generator_new(11);
    adz_bias_activation_options o;
    adz_bias_activation_options_init(&o, sizeof o);
    o.activation = (adz_activation)(int)a->p[0];
    o.dropout = a->p[1];
    o.training = a->p[2] != 0;
    o.generator = generator;
    adz_tensor *y =
        generator != NULL ? adz_bias_activation(a->in[0], a->in[1], a->in[2], a->in[3], &o) : NULL;
    adz_generator_free(&generator);
    return case_one(y, out);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static adz_tensor *activate(adz_activation activation, adz_tensor *z)
{
    switch (activation) {
    case ADZ_ACTIVATION_RELU:
        return adz_relu(z);
    case ADZ_ACTIVATION_GELU:
        return adz_gelu(z, ADZ_GELU_NONE);
    case ADZ_ACTIVATION_GELU_TANH:
        return adz_gelu(z, ADZ_GELU_TANH);
    case ADZ_ACTIVATION_SILU:
        return adz_silu(z);
    case ADZ_ACTIVATION_SIGMOID:
        return adz_sigmoid(z);
    case ADZ_ACTIVATION_TANH:
        return adz_tanh(z);
    case ADZ_ACTIVATION_LEAKY_RELU:
        return adz_leaky_relu(z, 0.01);
    case ADZ_ACTIVATION_IDENTITY:
        return z;
    default: { /* an activation function that was added to the table */
        const adzi_activation_row *row = adzi_activation_row_of(activation);
        return row->call(z, row->p);
    }
    }
}

enum { X, BIAS, GATE, GATE_BIAS, INPUTS };

/* The result of the single operators, called one after the other. */
static adz_tensor *by_parts(adz_tensor *const *in, const adz_bias_activation_options *o)
{
    adz_tensor *y = in[BIAS] == ADZ_NONE ? in[X] : adz_add(in[X], in[BIAS]);
    y = activate(o->activation, y);
    if (in[GATE] != ADZ_NONE) {
        y = adz_mul(y, in[GATE_BIAS] == ADZ_NONE ? in[GATE] : adz_add(in[GATE], in[GATE_BIAS]));
    }
    return adz_dropout(y, o->dropout, o->training, o->generator);
}

static adz_tensor *leaf(adz_shape shape, adz_dtype dtype)
{
    return adz_requires_grad_(adz_randn(shape, dtype), true);
}

/* Compares the fused operator with its parts. Result, state of the generator and the gradients of x
 * and gate have equal bits. The gradients of the biases are summed in another order. */
static void compare(adz_tensor *const *in, const adz_bias_activation_options *o)
{
    adz_generator_state before = adz_generator_get_state(o->generator), after;
    adz_tensor *parts = by_parts(in, o);
    after = adz_generator_get_state(o->generator);
    adz_generator_set_state(o->generator, before);
    adz_tensor *y = adz_bias_activation(in[X], in[BIAS], in[GATE], in[GATE_BIAS], o);
    assert_int_equal(adz_generator_get_state(o->generator).offset, after.offset);
    assert_true(adz_equal(y, parts));
    adz_tensor *upstream = adz_randn_like(y);
    for (int i = X; i < INPUTS; ++i) {
        if (in[i] == ADZ_NONE) {
            continue;
        }
        adz_tensor *g = gradient_of(adz_mul(y, upstream), in[i]);
        adz_tensor *expected = gradient_of(adz_mul(parts, upstream), in[i]);
        double tolerance = i == BIAS || i == GATE_BIAS ? 1e-6 : 0;
        assert_true(adz_allclose(g, expected, tolerance, tolerance, false));
    }
}

static void compare_shapes(adz_shape shape, adz_dtype dtype)
{
    adz_shape h = ADZ_SHAPE(shape.sizes[shape.rank - 1]);
    for (int a = 0; a < adzi_activation_count(); ++a) {
        for (int gated = 0; gated < 2; ++gated) {
            adz_scope *scope = adz_scope_open();
            adz_generator *generator = adz_generator_new(3);
            adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
            o.activation = (adz_activation)a;
            o.dropout = a % 3 == 0 ? 0.1 : a % 3 == 1 ? 0.5 : 1;
            o.training = a < ADZ_ACTIVATION_TANH || gated;
            o.generator = generator;
            adz_tensor *in[INPUTS] = { leaf(shape, dtype), leaf(h, dtype), ADZ_NONE, ADZ_NONE };
            if (gated) {
                in[GATE] = leaf(shape, dtype);
                in[GATE_BIAS] = leaf(h, dtype);
            }
            compare(in, &o);
            in[BIAS] = in[GATE_BIAS] = ADZ_NONE;
            compare(in, &o);
            adz_generator_free(&generator);
            adz_scope_close(scope);
        }
    }
}

/* Rows that end within a word of the mask, rows wider than a tile, more rows than a group has. */
FACT(bits_are_those_of_the_parts)
{
    adz_manual_seed(5);
    compare_shapes(ADZ_SHAPE(3, 5, 7), ADZ_F32);
    compare_shapes(ADZ_SHAPE(2, 5001), ADZ_F32);
    compare_shapes(ADZ_SHAPE(33, 4160), ADZ_F32);
    compare_shapes(ADZ_SHAPE(9, 96), ADZ_F64);
    compare_shapes(ADZ_SHAPE(150, 1000), ADZ_F64);
    compare_shapes(ADZ_SHAPE(70000, 1), ADZ_F32);
}

/* Two units of work never share a word of the mask. A unit has the fewest rows that pay for a
 * thread and, in the backward, for a row of sums. */
FACT(groups_are_the_fewest_rows_that_will_do)
{
    const int64_t ns[] = { 1, 63, 64, 65, 1000, 4097, 100000 },
                  hs[] = { 1, 3, 64, 96, 1000, 65536, 70000 };
    for (int i = 0; i < 7 * 7 * 2; ++i) {
        bool backward = i % 2 != 0;
        adzi_bias_activation_args args = { .n = ns[i / 2 % 7], .h = hs[i / 14] };
        int64_t groups = adzi_bias_activation_groups(&args, backward), step = 1;
        while (step * args.h % 64 != 0) {
            ++step;
        }
        int64_t rows = step, worth = (backward ? 65536 : 16384) / args.h;
        while (rows < worth || (backward && 64 * rows < args.n)) {
            rows += step;
        }
        assert_int_equal(args.rows, rows);
        assert_true((groups - 1) * rows < args.n && args.n <= groups * rows);
    }
}

/* The sum over many rows stays in f64 and is rounded once. */
FACT(the_gradient_of_a_bias_is_exact)
{
    const int64_t n = 200000;
    adz_tensor *x = adz_full(ADZ_SHAPE(n, 3), 0.1, ADZ_F32);
    adz_tensor *bias = adz_requires_grad_(adz_zeros(ADZ_SHAPE(3), ADZ_F32), true);
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.activation = ADZ_ACTIVATION_IDENTITY;
    adz_tensor *y = adz_bias_activation(x, bias, ADZ_NONE, ADZ_NONE, &o);
    adz_tensor *g = gradient_of(adz_mul(y, x), bias);
    double exact = (double)n * (double)0.1f;
    assert_true(fabs(adz_tensor_at(g, (int64_t[]){ 1 }) - exact) < 1e-7 * exact);
}

FACT(a_failed_call_draws_nothing)
{
    adz_generator *generator = adz_generator_new(1);
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.dropout = 0.5;
    o.training = true;
    o.generator = generator;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), *wrong = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    ASSERT_REFUSED(adz_bias_activation(x, wrong, ADZ_NONE, ADZ_NONE, &o), ADZ_ERR_SHAPE, "bias[2]");
    assert_int_equal(adz_generator_get_state(generator).offset, 0);
    adz_generator_free(&generator);
}

/* If one tensor is x and gate, it gets the sum of both gradients. */
FACT(gate_and_x_may_be_one_tensor)
{
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.activation = ADZ_ACTIVATION_SILU;
    adz_tensor *x = LEAF(-1, 0.5, 2), *b = LEAF(0.25, 0.5, -1);
    adz_tensor *y = adz_bias_activation(x, b, x, b, &o), *z = adz_add(x, b);
    adz_tensor *expected = gradient_of(adz_mul(adz_silu(z), z), x);
    assert_true(adz_allclose(gradient_of(y, x), expected, 1e-14, 1e-15, false));
    assert_true(adz_allclose(gradient_by_expression(y, x), expected, 1e-14, 1e-15, false));
    assert_true(adz_allclose(gradient_by_expression(y, b), expected, 1e-14, 1e-15, false));
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(bits_are_those_of_the_parts),
    cmocka_unit_test(groups_are_the_fewest_rows_that_will_do),
    cmocka_unit_test(the_gradient_of_a_bias_is_exact),
    cmocka_unit_test(a_failed_call_draws_nothing),
    cmocka_unit_test(gate_and_x_may_be_one_tensor),
};

#define KIND(name) ADZ_ACTIVATION_##name

const op_case bias_activation_case = {
    .name = "bias_activation",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(4), IN(3, 4), IN(4) }, .p = { KIND(GELU), 0.3, 1 } },
        { .in = { IN_OF(FILL_AWAY, 3, 4), IN_NONE, IN_NONE, IN_NONE }, .p = { KIND(RELU), 0.2, 1 } },
        { .in = { IN(2, 3, 5), IN(5), IN_NONE, IN_NONE }, .p = { KIND(SILU), 0, 1 } },
        { .in = { IN(1, 5), IN(5), IN(1, 5), IN(5) }, .p = { KIND(SILU), 0.3, 1 } },
        { .in = { IN_T(4, 7), IN(7), IN_T(4, 7), IN_NONE }, .p = { KIND(SIGMOID), 0.5, 1 } },
        { .in = { IN(4, 5), IN_NONE, IN(4, 5), IN(5) }, .p = { KIND(TANH), 0.25, 1 } },
        { .in = { IN(3, 33), IN(33), IN_NONE, IN_NONE }, .p = { KIND(GELU_TANH), 0.1, 1 } },
        { .in = { IN_OF(FILL_AWAY, 3, 2), IN_NONE, IN(3, 2), IN(2) }, .p = { KIND(LEAKY_RELU), 0.5, 0 } },
        { .in = { IN(3, 2), IN(2), IN(3, 2), IN(2) }, .p = { KIND(IDENTITY), 0.4, 1 } },
        { .in = { IN(5, 3), IN(3), IN_NONE, IN_NONE }, .p = { KIND(IDENTITY), 0.4, 1 } },
        { .in = { IN(5, 3), IN(3), IN_NONE, IN_NONE }, .p = { KIND(IDENTITY), 0, 0 } },
        { .in = { IN_CONST(4, 3), IN(3), IN_CONST(4, 3), IN(3) }, .p = { KIND(TANH), 0, 0 } },
        { .in = { IN_CONST(4, 3), IN_CONST(3), IN(4, 3), IN(3) }, .p = { KIND(SILU), 0.2, 1 } },
        { .in = { IN(6), IN(6), IN(6), IN(6) }, .p = { KIND(GELU), 0.2, 1 } },
        { .in = { IN(0, 3), IN(3), IN(0, 3), IN(3) }, .p = { KIND(GELU), 0.2, 1 } },
        { .in = { IN(3, 0), IN(0), IN_NONE, IN_NONE }, .p = { KIND(GELU), 0.2, 1 } },
        { .in = { IN(3, 4), IN(4), IN(3, 4), IN(4) }, .p = { KIND(GELU), 1, 1 } },
        { .in = { IN(5, 13), IN(13), IN(5, 13), IN(13) }, .p = { KIND(SILU), 0.5, 1 }, .large = true },
        /* A tile's last word of the mask, whole tiles of a row, several groups. */
        { .in = { IN(3, 1025), IN(1025), IN(3, 1025), IN(1025) }, .p = { KIND(SILU), 0.5, 1 }, .large = true },
        { .in = { IN(2, 4096), IN(4096), IN(2, 4096), IN(4096) }, .p = { KIND(GELU), 0.3, 1 }, .large = true },
        { .in = { IN(33, 4096), IN(4096), IN_NONE, IN_NONE }, .p = { KIND(IDENTITY), 0.3, 1 }, .large = true },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(3), IN_NONE, IN_NONE }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "bias[3]" },
        { .in = { IN(3, 4), IN(4), IN(4), IN_NONE }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "gate[4]" },
        { .in = { IN(3, 4), IN(4), IN(3, 4), IN(1, 4) }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "gate_bias[1, 4]" },
        { .in = { IN(3, 4), IN(4), IN_NONE, IN(4) }, .p = { 0 }, .status = ADZ_ERR_ARGUMENT, .says = "without a gate" },
        { .in = { IN_0, IN_NONE, IN_NONE, IN_NONE }, .p = { 0 }, .status = ADZ_ERR_SHAPE, .says = "no dimension" },
        { .in = { IN(3, 4), IN_TYPED(ADZ_F32, 4), IN_NONE, IN_NONE }, .p = { 0 }, .status = ADZ_ERR_DTYPE, .says = "bias float32" },
        { .in = { IN_TYPED(ADZ_I64, 3, 4), IN_NONE, IN_NONE, IN_NONE }, .p = { 0 }, .status = ADZ_ERR_DTYPE },
        { .in = { IN(3, 4), IN(4), IN_NONE, IN_NONE }, .p = { 1000 }, .status = ADZ_ERR_ARGUMENT, .says = "activation is 1000, but must be 0 (relu)" },
        { .in = { IN(3, 4), IN(4), IN_NONE, IN_NONE }, .p = { 0, 1.5, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "[0, 1]" },
    },
    FACTS(facts),
};
