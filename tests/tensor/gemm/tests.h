/* The tests of test_gemm, which main.c lists in the order in which they have to run. */
#ifndef ADZE_TESTS_TENSOR_GEMM_TESTS_H
#define ADZE_TESTS_TENSOR_GEMM_TESTS_H

/* products.c */
void sizes_and_transposes_on_every_level(void **state);
void factors_bias_and_padding(void **state);
void either_way_is_right(void **state);
void edges_of_tiles(void **state);
void large_products_in_blocks(void **state);
void sizes_beyond_blas_integers(void **state);

/* batches.c */
void batches_equal_their_items(void **state);
void nothing_is_nothing(void **state);
void integers_wrap_around(void **state);

/* half.c */
void half_precision_is_widened(void **state);
void large_half_precision_is_widened(void **state);
void blocks_are_widened(void **state);
void half_precision_at_medium(void **state);
void half_precision_without_memory(void **state);

/* bits.c */
void same_bits_from_any_thread_count(void **state);
void same_bits_when_deterministic(void **state);
void same_bits_on_every_processor(void **state);

/* threads.c */
void one_thread_means_one(void **state);
void openmp_settings_stay(void **state);
void several_users_call_blas_at_once(void **state);
void several_users_multiply_at_once(void **state);
void signal_handlers_run_on_the_stack(void **state);
void a_forked_child_multiplies(void **state);

#endif
