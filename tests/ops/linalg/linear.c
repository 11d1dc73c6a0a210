#include "ops/facts.h"
#include "base/cpu.h"
#include "tensor/kernel/registers.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_linear(a->in[0], a->in[1], a->in[2]), out);
}

/* The sum over few rows has a limit of rows and one of elements. Sizes on both sides of each limit
 * give one result, and so does a single row. The sum of -0 is 0. */
FACT(the_gradient_of_a_bias_is_the_sum_of_rows)
{
    static const int64_t rows[] = { 1, 2, 511, 512, 513, 700 }, columns[] = { 1, 3, 64, 70 };
    for (int i = 0; i < 6 * 4; ++i) {
        const int64_t n = rows[i / 4], h = columns[i % 4];
        adz_tensor *x = adz_randn(ADZ_SHAPE(n, 2), ADZ_F32),
                   *w = adz_randn(ADZ_SHAPE(h, 2), ADZ_F32);
        adz_tensor *b = adz_requires_grad_(adz_zeros(ADZ_SHAPE(h), ADZ_F32), true);
        adz_tensor *g = adz_randn(ADZ_SHAPE(n, h), ADZ_F32);
        for (int64_t r = 0; r < n; ++r) {
            adz_tensor_data_f32(g)[r * h] = -0.0f;
        }
        adz_tensor *db = gradient_of(adz_mul(adz_linear(x, w, b), g), b);
        assert_memory_equal(adz_tensor_data(db),
            adz_tensor_data(adz_sum(g, ADZ_DIMS(0), ADZ_DROPDIM)), (size_t)h * sizeof(float));
    }
}

/* A result with a size of 0 is refused if its other sizes overflow, because strides are computed
 * from them. */
FACT(results_too_large_are_refused)
{
    adz_tensor *x = adz_zeros(ADZ_SHAPE(0, (int64_t)1 << 45, 2), ADZ_F32);
    adz_tensor *w = adz_expand(adz_zeros(ADZ_SHAPE(1, 2), ADZ_F32), ADZ_SHAPE(1 << 20, 2));
    ASSERT_REFUSED(adz_linear(x, w, ADZ_NONE), ADZ_ERR_SHAPE, "more elements than fit");
}

enum { X, WEIGHT, BIAS, INPUTS };

/* x w^T + b, with a ReLU that is open where y > 0. The mask is taken from y, because rounding can
 * change the sign near 0. */
static adz_tensor *composed(adz_tensor *const *in, adz_tensor *y, bool relu)
{
    adz_tensor *z = adz_matmul(in[X], adz_transpose(in[WEIGHT], 0, 1));
    z = in[BIAS] != ADZ_NONE ? adz_add(z, in[BIAS]) : z;
    return relu ? adz_mul(z, adz_to(adz_gt_number(adz_detach(y), 0), ADZ_F64)) : z;
}

/* Computes the gradients of all inputs that want one. */
static void gradients(adz_tensor *y, adz_tensor *weight, adz_tensor *const *in, adz_tensor **out)
{
    adz_tensor *wanted[INPUTS], *found[INPUTS];
    size_t n = 0;
    for (int i = 0; i < INPUTS; ++i) {
        if (in[i] != ADZ_NONE && adz_tensor_requires_grad(in[i])) {
            wanted[n++] = in[i];
        }
    }
    assert_int_equal(adz_autograd_grad(&y, &weight, 1, wanted, n, NULL, found), ADZ_OK);
    for (int i = INPUTS; i-- > 0;) {
        out[i] = in[i] != ADZ_NONE && adz_tensor_requires_grad(in[i]) ? found[--n] : NULL;
    }
}

/* Compares the gradients of a narrow layer with products and sums in f64. `free` has a bit for each
 * input that wants no gradient. */
static void expect_narrow(const int64_t *size, adz_dtype dtype, bool relu, unsigned free)
{
    const int64_t n = size[0], d = size[1], h = size[2];
    adz_scope *scope = adz_scope_open();
    const adz_shape shapes[] = { ADZ_SHAPE(n, d), ADZ_SHAPE(h, d), ADZ_SHAPE(h) };
    adz_tensor *in[INPUTS], *wide[INPUTS], *got[INPUTS], *expected[INPUTS];
    for (int i = 0; i < INPUTS; ++i) {
        bool wants = (free >> i & 1) == 0;
        in[i] = adz_requires_grad_(adz_randn(shapes[i], dtype), wants);
        wide[i] = adz_requires_grad_(adz_to(adz_detach(in[i]), ADZ_F64), wants);
    }
    if ((free >> INPUTS & 1) != 0) {
        in[BIAS] = wide[BIAS] = ADZ_NONE;
    }
    adz_tensor *g = adz_randn(ADZ_SHAPE(n, h), dtype);
    adz_tensor *y = relu ? adz_linear_relu(in[X], in[WEIGHT], in[BIAS])
                         : adz_linear(in[X], in[WEIGHT], in[BIAS]);
    gradients(y, g, in, got);
    gradients(composed(wide, y, relu), adz_to(g, ADZ_F64), wide, expected);
    const double limit = (dtype == ADZ_F32 ? 1e-6 : 1e-14) * (10 + sqrt((double)n));
    for (int i = 0; i < INPUTS; ++i) {
        if (got[i] != NULL &&
            !adz_allclose(adz_to(got[i], ADZ_F64), expected[i], limit, limit, false)) {
            fail_msg("input %d of [%d, %d] to %d, %s, relu %d, free %u", i, (int)n, (int)d, (int)h,
                adz_dtype_name(dtype), relu, free);
        }
    }
    adz_scope_close(scope);
}

/* Sizes on both sides of each limit of the narrow pass (inputs, outputs, rows), with whole and
 * partial vectors of every instruction set. */
FACT(narrow_layers_have_the_gradients_of_their_parts)
{
    static const int64_t rows[] = { 1, 2, 3, 32, 33, 512, 513 }, few[] = { 1, 2, 3, 4, 5 },
                         many[] = { 1, 4, 5, 7, 8, 16, 37 };
    const int best = adzi_cpu_level;
    adz_manual_seed(8);
    for (adzi_cpu_level = 0; adzi_cpu_level <= best; ++adzi_cpu_level) {
        for (int i = 0; i < 7 * 5 * 7; ++i) {
            const int64_t n = rows[i / 35], a = few[i / 7 % 5], b = many[i % 7];
            const unsigned free[] = { 0, 1, 1 << BIAS, 1 << INPUTS, 1 | 1 << BIAS, 1 << WEIGHT };
            for (int k = 0; k < 4; ++k) {
                const adz_dtype dtype = k < 2 ? ADZ_F32 : ADZ_F64;
                const unsigned f = free[(i + k) % 6];
                expect_narrow((int64_t[]){ n, a, b }, dtype, k % 2 == 1, f);
                expect_narrow((int64_t[]){ n, b, a }, dtype, k % 2 == 1, f);
            }
        }
    }
    adzi_cpu_level = best;
}

/* The gradient passes where y is NaN, as in relu: NaN is not <= 0. */
FACT(nan_lets_the_gradient_through_a_narrow_layer)
{
    for (int h = 3; h <= 20; h += 17) {
        adz_tensor *x = adz_ones(ADZ_SHAPE(2, 1), ADZ_F32);
        adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(h, 1), ADZ_F32), true);
        adz_tensor *b = adz_zeros(ADZ_SHAPE(h), ADZ_F32);
        adz_tensor_data_f32(b)[1] = (float)NAN;
        adz_tensor_data_f32(b)[2] = 1;
        adz_tensor *g = gradient_of(adz_linear_relu(x, w, b), w);
        const float *found = adz_tensor_data_f32(g);
        for (int o = 0; o < h; ++o) {
            assert_true(found[o] == (o == 1 || o == 2 ? 2 : 0));
        }
    }
}

/* If the rows of dy are one row in memory, dx is computed as one row, with the bits of the product
 * of all rows. The loops for small products compute the last two of six rows in another order. */
FACT(equal_rows_are_multiplied_once)
{
    static const int64_t sizes[][3] = { { 1000, 6, 64 }, { 301, 64, 70 }, { 1000, 48, 6 },
        { 5, 900, 130 }, { 64, 8, 50 }, { 64, 50, 8 }, { 12, 20, 17 }, { 6, 8, 50 } };
    for (int i = 0; i < 8 * 2; ++i) {
        const int64_t n = sizes[i / 2][0], h = sizes[i / 2][1], d = sizes[i / 2][2];
        const adz_dtype dtype = i % 2 == 0 ? ADZ_F32 : ADZ_F64;
        adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(n, d), dtype), true), *dx, *wanted;
        adz_tensor *y = adz_linear(x, adz_randn(ADZ_SHAPE(h, d), dtype), ADZ_NONE);
        adz_tensor *dy = adz_expand(adz_randn(ADZ_SHAPE(h), dtype), ADZ_SHAPE(n, h));
        adz_tensor *copy = adz_clone(dy);
        adz_backward_options o = ADZ_BACKWARD_OPTIONS;
        o.retain_graph = true;
        assert_int_equal(adz_autograd_grad(&y, &copy, 1, &x, 1, &o, &wanted), ADZ_OK);
        assert_int_equal(adz_autograd_grad(&y, &dy, 1, &x, 1, NULL, &dx), ADZ_OK);
        assert_true(adz_equal(dx, wanted));
        assert_true(!adzi_has_fused() || (adz_tensor_stride(dx, 0) == 0) == (n != 6));
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(narrow_layers_have_the_gradients_of_their_parts),
    cmocka_unit_test(nan_lets_the_gradient_through_a_narrow_layer),
    cmocka_unit_test(equal_rows_are_multiplied_once),
    cmocka_unit_test(results_too_large_are_refused),
    cmocka_unit_test(the_gradient_of_a_bias_is_the_sum_of_rows),
};

const op_case linear_case = {
    .name = "linear",
    .call = call,
    .samples = {
        { .in = { IN(3, 4), IN(2, 4), IN(2) } },
        { .in = { IN_T(3, 4), IN_T(2, 4), IN_NONE } },
        { .in = { IN(4), IN(2, 4), IN(2) } },
        { .in = { IN(2, 3, 4), IN(5, 4), IN(5) } },
        { .in = { IN(1, 1), IN(1, 1), IN(1) } },
        { .in = { IN(0, 4), IN(2, 4), IN(2) } },
        { .in = { IN(3, 0), IN(2, 0), IN(2) } },
        { .in = { IN(3, 4), IN(0, 4), IN(0) } },
        { .in = { IN_CONST(3, 4), IN(2, 4), IN(2) } },
    },
    .rejects = {
        { .in = { IN(3, 4), IN(2, 5), IN(2) }, .status = ADZ_ERR_SHAPE, .says = "[out, in]" },
        { .in = { IN(3, 4), IN(2, 4), IN(3) }, .status = ADZ_ERR_SHAPE, .says = "bias[3]" },
        { .in = { IN_TYPED(ADZ_I64, 3, 4), IN(2, 4), IN(2) }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "linear" },
    .inputs = { "x", "weight", "bias" },
    FACTS(facts),
};
