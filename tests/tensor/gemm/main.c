/* Matrix products are compared with a plain loop, and have the same bits with any number of
 * threads.
 *
 * usage: test_gemm [WAY [CASES]]
 *
 * WAY chooses the implementation of large products. '': the library's choice. blas: BLAS. ours: the
 * tiles of adze. CASES names the tests to run; * and ? stand for any characters.
 */
#include <string.h>

#include "problem.h"
#include "tests.h"

/* Chooses the implementation by its name. */
static void choose_way(const char *name)
{
    static const struct {
        const char *name;
        adzi_gemm_choice choice;
    } ways[] = { { "", ADZI_GEMM_BY_RULE }, { "blas", ADZI_GEMM_BLAS_ALONE },
        { "ours", ADZI_GEMM_OURS } };
    for (size_t i = 0; i < COUNT(ways); ++i) {
        if (strcmp(name, ways[i].name) == 0) {
            adzi_gemm_backend_choice = ways[i].choice;
        }
    }
}

int main(int argc, char **argv)
{
    choose_way(argc > 1 ? argv[1] : "");
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
        cmocka_unit_test(half_precision_is_widened),
        cmocka_unit_test(large_half_precision_is_widened),
        cmocka_unit_test(blocks_are_widened),
        cmocka_unit_test(half_precision_at_medium),
        cmocka_unit_test(half_precision_without_memory),
        cmocka_unit_test(same_bits_from_any_thread_count),
        cmocka_unit_test(same_bits_when_deterministic),
        cmocka_unit_test(same_bits_on_every_processor),
        cmocka_unit_test(several_users_multiply_at_once),
        cmocka_unit_test(signal_handlers_run_on_the_stack),
        cmocka_unit_test(a_forked_child_multiplies),
    };
    cmocka_set_test_filter(argc > 2 ? argv[2] : NULL);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
