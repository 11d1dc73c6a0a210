/* When OpenBLAS is loaded, and what happens without it.
 *
 *     test_openblas MODE
 *
 * limited: for a process with little address space, in which OpenBLAS would wait for ever. missing:
 * for a program whose OpenBLAS is a file that does not exist. asked: that program, with
 * ADZE_PRODUCTS=blas in the environment. */
#include <stdlib.h>

#include "../errors.h"
#include "adze/adze.h"
#include "base/cpu.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/registers.h"

/* Two steps of a network of a few numbers. */
static void train(void)
{
    adz_module *m =
        ADZ_SEQUENTIAL(adz_linear_new(4, 8, NULL), adz_tanh_new(), adz_linear_new(8, 1, NULL));
    adz_optimizer *o = adz_sgd_new(adz_module_parameters(m), 0.1, NULL);
    for (int i = 0; i < 2; ++i) {
        ADZ_SCOPE
        {
            adz_tensor *x = adz_ones(ADZ_SHAPE(3, 4), ADZ_F32),
                       *y = adz_zeros(ADZ_SHAPE(3, 1), ADZ_F32);
            adz_optimizer_zero_grad(o);
            adz_backward(adz_mse_loss(adz_module_forward(m, x), y, ADZ_REDUCE_MEAN));
            assert_int_equal(adz_optimizer_step(o), ADZ_OK);
        }
    }
    adz_optimizer_release(&o);
    adz_module_release(&m);
}

static void small_networks_do_not_load_it(void **state)
{
    (void)state;
    train();
    assert_non_null(strstr(adz_build_info(), "OpenBLAS, not loaded"));
    assert_int_equal(adz_error_code(), ADZ_OK);
}

/* A product that is large enough for OpenBLAS. The elements are whole numbers, so the sum is exact
 * in any order. */
static void multiply(void)
{
    ADZ_SCOPE
    {
        adz_tensor *a = adz_full(ADZ_SHAPE(300, 200), 2, ADZ_F32);
        adz_tensor *b = adz_full(ADZ_SHAPE(200, 100), 3, ADZ_F32);
        const float *c = adz_tensor_data_f32(adz_matmul(a, b));
        assert_non_null(c);
        assert_true(c[0] == 1200 && c[29999] == 1200);
    }
}

static void adze_computes_its_products(void **state)
{
    (void)state;
    const int used = adzi_cpu_level;
    multiply();
    if (adzi_has_fused()) {
        assert_non_null(strstr(adz_build_info(), "OpenBLAS, not loaded"));
    }
    adzi_cpu_level = ADZI_CPU_BASELINE;
    multiply();
    adzi_cpu_level = used;
}

static void whoever_asks_for_it_hears_what_to_install(void **state)
{
    (void)state;
    assert_int_equal(adz_set_gemm_backend(ADZ_GEMM_BLAS), ADZ_ERR_UNSUPPORTED);
    assert_non_null(strstr(adz_error_message(), "libopenblas-absent.so.0"));
    assert_non_null(strstr(adz_error_message(), "libopenblas0"));
    expect_error(ADZ_ERR_UNSUPPORTED, "or keep ADZ_GEMM_OWN");
    assert_int_equal(adz_get_gemm_backend(), ADZ_GEMM_OWN);
    assert_non_null(strstr(adz_build_info(), "OpenBLAS not found"));
    multiply();
}

static void the_environment_asks_in_vain(void **state)
{
    (void)state;
    assert_int_equal(adz_get_gemm_backend(), ADZ_GEMM_OWN);
    const char *info = adz_build_info();
    assert_non_null(strstr(info, "ADZE_PRODUCTS=blas ignored: OpenBLAS cannot be loaded"));
    assert_non_null(strstr(info, "libopenblas-absent.so.0"));
    multiply();
}

int main(int argc, char **argv)
{
    const struct CMUnitTest limited[] = { cmocka_unit_test(small_networks_do_not_load_it) };
    const struct CMUnitTest missing[] = { cmocka_unit_test(adze_computes_its_products),
        cmocka_unit_test(whoever_asks_for_it_hears_what_to_install) };
    const struct CMUnitTest asked[] = { cmocka_unit_test(the_environment_asks_in_vain) };
    const char *mode = argc > 1 ? argv[1] : "";
    if (strcmp(mode, "limited") == 0) {
        return cmocka_run_group_tests(limited, NULL, NULL);
    }
    if (strcmp(mode, "missing") == 0) {
        return cmocka_run_group_tests(missing, NULL, NULL);
    }
    return strcmp(mode, "asked") == 0 ? cmocka_run_group_tests(asked, NULL, NULL) : EXIT_FAILURE;
}
