/* Operators whose bits agree, and f64 around a network of f32. sweep.c compares all operators. */
#include "network.h"
#include "tests.h"

/* ---- operators ------------------------------------------------------------------------------- */

/* A network of floats between standardisers that compute with double, as ffn-regression has it. */
static adz_tensor *between_standardisers(adz_module *module, adz_tensor **in)
{
    const double mean[] = { 1000.5, -3, 1e-3 }, scale[] = { 0.1, 7, 1e4 };
    adz_tensor *m = adz_tensor_from(mean, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *s = adz_tensor_from(scale, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *x = adz_div(adz_sub(adz_to(in[0], ADZ_F64), m), s);
    adz_tensor *y = adz_to(adz_module_forward(module, adz_to(x, ADZ_F32)), ADZ_F64);
    return adz_to(adz_add_number(adz_mul_number(y, 12.3456789), 0.1), ADZ_F32);
}

static void doubles_around_floats(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(13);
    c_network n = of(adz_linear_new(3, 2, NULL), adz_randn(ADZ_SHAPE(2, 3), ADZ_F32));
    n.call = between_standardisers;
    check_network(&n, 1e-6);
    adz_module_release(&n.module);
    adz_scope_close(scope);
}

/* Moves, and arithmetic on elements: the operators of which docs/export.md says that bits agree. */
static adz_tensor *exact(adz_module *module, adz_tensor **in)
{
    (void)module;
    adz_tensor *x = in[0], *z = in[1];
    adz_tensor *const rows[] = { adz_add(x, z), adz_sub(x, z), adz_mul(x, z), adz_div(x, z),
        adz_relu(x), adz_abs(x), adz_clamp(x, -0.5, 0.5), adz_maximum(x, z), adz_minimum(x, z),
        adz_neg(x), adz_where(adz_gt(x, z), x, z), adz_flip(x, ADZ_DIMS(0)), adz_square(x),
        adz_reshape(adz_transpose(x, 0, 1), ADZ_SHAPE(8, 9)), adz_tril(x, 1),
        adz_index_select(x, 0,
            adz_tensor_from((const int64_t[]){ 7, 0, 0, 3, 2, 1, 6, 6 }, ADZ_SHAPE(8), ADZ_I64)),
        adz_cat((adz_tensor *[]){ adz_slice(z, 1, 3, 9, 1), adz_slice(x, 1, 0, 3, 1) }, 2, 1) };
    return adz_stack(rows, sizeof rows / sizeof *rows, 0);
}

static void bits_of_moves_and_arithmetic(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(14);
    c_network n = { .in = { adz_randn(ADZ_SHAPE(8, 9), ADZ_F32),
                        adz_randn(ADZ_SHAPE(8, 9), ADZ_F32) },
        .n_in = 2,
        .call = exact };
    check_network(&n, 0);
    adz_scope_close(scope);
}

int operators_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bits_of_moves_and_arithmetic),
        cmocka_unit_test(doubles_around_floats),
    };
    return cmocka_run_group_tests_name("c99: operators", tests, temporary_begin, temporary_end);
}
