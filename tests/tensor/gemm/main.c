/* Matrix products are compared with a plain loop, and have the same bits with any number of
 * threads.
 *
 * usage: test_gemm [WAY [CASES]]
 *
 * WAY chooses the implementation of large f32 products. '': the library's choice. blas: BLAS.
 * strided or prepared: the module with oneDNN (exit status 77 if the library does not use it).
 * ours: the tiles of adze. CASES names the tests to run; * and ? stand for any
 * characters.
 */
#include <string.h>

#include "tensor/gemm/onednn.h"
#include "problem.h"
#include "tests.h"

/* Chooses the implementation by its name. False if the library does not use it on this system. */
static bool choose_way(const char *name)
{
    static const struct {
        const char *name;
        adzi_gemm_choice choice;
    } ways[] = { { "", ADZI_GEMM_BY_RULE }, { "blas", ADZI_GEMM_BLAS_ALONE },
        { "strided", ADZI_GEMM_MODULE_STRIDED }, { "prepared", ADZI_GEMM_MODULE_PREPARED },
        { "ours", ADZI_GEMM_OURS } };
    for (size_t i = 0; i < COUNT(ways); ++i) {
        if (strcmp(name, ways[i].name) == 0) {
            adzi_gemm_backend_choice = ways[i].choice;
        }
    }
    return (adzi_gemm_backend_choice != ADZI_GEMM_MODULE_STRIDED &&
               adzi_gemm_backend_choice != ADZI_GEMM_MODULE_PREPARED) ||
           adzi_gemm_backend_get() != NULL;
}

int main(int argc, char **argv)
{
    if (ONEDNN_MODULE[0] != '\0') {
        setenv("ADZE_ONEDNN", ONEDNN_MODULE, 0);
    }
    if (!choose_way(argc > 1 ? argv[1] : "")) {
        print_message("%s\n", adzi_gemm_backend_info());
        return 77;
    }
    const bool module = adzi_gemm_backend_choice == ADZI_GEMM_MODULE_STRIDED ||
                        adzi_gemm_backend_choice == ADZI_GEMM_MODULE_PREPARED;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_thread_means_one),
        cmocka_unit_test(openmp_settings_stay),
        cmocka_unit_test(several_users_call_blas_at_once),
        cmocka_unit_test(sizes_and_transposes_on_every_level),
        cmocka_unit_test(factors_bias_and_padding),
        cmocka_unit_test(either_way_is_right),
        cmocka_unit_test(edges_of_tiles),
        cmocka_unit_test(large_products_in_blocks),
        cmocka_unit_test(sizes_beyond_blas_integers),
        cmocka_unit_test(batches_equal_their_items),
        cmocka_unit_test(nothing_is_nothing),
        cmocka_unit_test(integers_wrap_around),
        cmocka_unit_test(same_bits_from_any_thread_count),
        cmocka_unit_test(same_bits_when_deterministic),
        cmocka_unit_test(several_users_multiply_at_once),
        cmocka_unit_test(signal_handlers_run_on_the_stack),
        cmocka_unit_test(a_forked_child_multiplies),
    };
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (module && adzi_gemm_backend_products() < 1000) {
        print_error("the module computed %llu products\n",
            (unsigned long long)adzi_gemm_backend_products());
        return 1;
    }
    return failed;
}
