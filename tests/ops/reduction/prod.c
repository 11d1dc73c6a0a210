#include "ops/case.h"

/* p[0] = keepdim, p[1 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_prod(a->in[0], case_dims(a, 1), a->p[0] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    config_dims(config, "dim", a, 1);
    return true;
}

static void zeros_have_gradients(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double values[] = { 2, 0, 5, 3 };
    adz_tensor *x = adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(4), ADZ_F64), true);
    assert_int_equal(adz_backward(adz_prod(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 1 }), 30, 0);
    assert_float_equal(adz_tensor_at(adz_tensor_grad(x), (int64_t[]){ 0 }), 0, 0);
    adz_tensor *none = adz_prod(adz_zeros(ADZ_SHAPE(0, 3), ADZ_F32), ADZ_DIMS(0), ADZ_DROPDIM);
    assert_true(adz_equal(none, adz_ones(ADZ_SHAPE(3), ADZ_F32)));
    adz_tensor *empty = adz_requires_grad_(adz_zeros(ADZ_SHAPE(0, 3), ADZ_F64), true);
    assert_int_equal(adz_backward(adz_prod(empty, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_int_equal(adz_tensor_numel(adz_tensor_grad(empty)), 0);
    adz_tensor *whole = adz_prod(adz_full(ADZ_SHAPE(5), 3, ADZ_U8), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_tensor_dtype(whole), ADZ_I64);
    assert_int_equal(adz_item_i64(whole), 243);
    adz_scope_close(scope);
}

/* The bits of a product must not depend on how a launch is cut among threads. */
static void any_number_of_threads_gives_the_same_bits(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    const int threads = adz_get_num_threads();
    for (int64_t columns = 5; columns < 90; columns += 7) {
        adz_tensor *x = adz_arange(0, (double)(3000 * columns), 1, ADZ_F64);
        x = adz_reshape(
            adz_add_number(adz_mul_number(adz_sin(x), 0.01), 1), ADZ_SHAPE(3000, columns));
        adz_set_num_threads(1);
        adz_tensor *one = adz_prod(x, ADZ_DIMS(0), ADZ_DROPDIM);
        for (int n = 2; n <= 16; ++n) {
            adz_set_num_threads(n);
            assert_true(adz_equal(adz_prod(x, ADZ_DIMS(0), ADZ_DROPDIM), one));
        }
    }
    adz_set_num_threads(threads);
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(zeros_have_gradients),
    cmocka_unit_test(any_number_of_threads_gives_the_same_bits) };

const op_case prod_case = {
    .name = "prod",
    .call = call,
    .samples = {
        { .in = { IN(3, 4) }, .p = { 0, -1 } },
        { .in = { IN_T(3, 5) }, .p = { 1, 1, 1 } },
        { .in = { IN(2, 3, 2) }, .p = { 0, 2, 0, 2 } },
        { .in = { IN(1, 3) }, .p = { 0, 1, 0 } },
        { .in = { IN(7) }, .p = { 0, -1 } },
        { .in = { IN(2, 37) }, .p = { 0, 1, 1 } },
        { .in = { IN(2, 9) }, .p = { 0, 1, 1 } },
        { .in = { IN(3, 1) }, .p = { 0, 1, 1 } },
        { .in = { IN(3, 6) }, .p = { 0, 1, 1 } },
        { .in = { IN(37, 2) }, .p = { 0, 1, 0 } },
        { .in = { IN(3, 2, 2, 2) }, .p = { 1, 2, 1, 3 } },
        { .in = { IN_0 }, .p = { 0, -1 } },
        { .in = { IN(2, 0) }, .p = { 0, 1, 0 } },
    },
    .rejects = {
        { .in = { IN(3, 4) }, .p = { 0, 1, 2 }, .status = ADZ_ERR_DIM, .says = "[3, 4]" },
        { .in = { IN_TYPED(ADZ_F16, 4) }, .p = { 0, -1 }, .status = ADZ_ERR_DTYPE, .says = "adz_to" },
    },
    .vectors = { "prod" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
