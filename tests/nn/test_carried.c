/* Hidden states that modules carry from call to call: resetting them, and selecting rows of them.
 */
#include "../nn.h"

static int resets, selections, fails_at; /* fails_at: the selection that fails, from 1; 0: none */

/* Adds x to the buffer `sum`, which has the sum of all calls so far for each row. */
static adz_tensor *count_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *sum = adz_module_buffer_at(self, 0);
    adz_tensor *y = sum == ADZ_NONE ? x : adz_add(x, sum);
    return adz_module_set_buffer(self, "sum", adz_contiguous(adz_detach(y))) != NULL ? y : NULL;
}

static adz_status count_reset(adz_module *self)
{
    ++resets;
    return adz_module_set_buffer(self, "sum", ADZ_NONE) != NULL ? ADZ_OK : adz_error_code();
}

static adz_status count_select(adz_module *self, adz_tensor *rows)
{
    adz_tensor *sum = adz_module_buffer_at(self, 0);
    if (++selections == fails_at) {
        return ADZ_ERR_STATE;
    }
    return sum == ADZ_NONE ||
                   adz_module_set_buffer(self, "sum", adz_index_select(sum, 0, rows)) != NULL
               ? ADZ_OK
               : adz_error_code();
}

static const adz_module_type count_type = { .size = sizeof(adz_module_type),
    .name = "Count",
    .forward = count_forward,
    .reset = count_reset,
    .select_hidden = count_select };

static adz_module *count_new(void)
{
    adz_module *self = adz_module_new(&count_type, 0);
    if (adz_module_add_buffer(self, "sum", ADZ_NONE, false) == NULL) {
        adz_module_release(&self);
    }
    return self;
}

static adz_tensor *ids(int64_t a, int64_t b)
{
    return adz_tensor_from((int64_t[]){ a, b }, ADZ_SHAPE(2), ADZ_I64);
}

static adz_module *two_counts(void)
{
    return ADZ_SEQUENTIAL(count_new(), adz_linear_new(1, 1, NULL), count_new());
}

static adz_tensor *three_rows(void)
{
    return adz_arange(0, 3, 1, ADZ_F32);
}

static void a_tree_is_reset_and_selected(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(count_new(), count_new());
    resets = selections = fails_at = 0;
    adz_module_forward(m, three_rows());
    assert_int_equal(adz_module_select_hidden(m, ids(2, 1)), ADZ_OK);
    assert_true(HOLDS(adz_module_get_buffer(m, "0.sum"), 0, 2, 1));
    assert_true(HOLDS(adz_module_forward(m, adz_zeros(ADZ_SHAPE(2), ADZ_F32)), 0, 4, 2));
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    assert_ptr_equal(adz_module_get_buffer(m, "0.sum"), ADZ_NONE);
    assert_ptr_equal(adz_module_get_buffer(m, "1.sum"), ADZ_NONE);
    assert_int_equal(resets, 2);
    assert_int_equal(selections, 2);
    adz_module_release(&m);
}

/* A second selection would select rows of the rows that the first one kept. */
static void a_module_in_two_positions_is_selected_once(void **state)
{
    (void)state;
    adz_module *shared = count_new();
    adz_module *m = ADZ_SEQUENTIAL(
        ADZ_SEQUENTIAL(adz_module_keep(shared)), ADZ_SEQUENTIAL(adz_module_keep(shared)));
    adz_module_forward(shared, three_rows());
    assert_int_equal(adz_module_select_hidden(m, ids(1, 0)), ADZ_OK);
    assert_true(HOLDS(adz_module_get_buffer(shared, "sum"), 0, 1, 0));
    adz_module_release(&m);
    adz_module_release(&shared);
}

static void a_failure_changes_nothing(void **state)
{
    (void)state;
    adz_module *m = two_counts();
    adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 1), ADZ_F32));
    adz_tensor *first = adz_module_get_buffer(m, "0.sum"),
               *last = adz_module_get_buffer(m, "2.sum");
    selections = 0;
    fails_at = 2;
    assert_int_equal(adz_module_select_hidden(m, ids(0, 1)), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "Count: the call failed");
    fails_at = 0;
    assert_ptr_equal(adz_module_get_buffer(m, "0.sum"), first);
    assert_ptr_equal(adz_module_get_buffer(m, "2.sum"), last);
    assert_int_equal(adz_module_select_hidden(m, ids(0, 3)), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "3");
    assert_ptr_equal(adz_module_get_buffer(m, "0.sum"), first);
    adz_module_release(&m);
}

static void bad_rows_are_refused(void **state)
{
    (void)state;
    adz_module *m = two_counts();
    adz_module_select_hidden(m, adz_ones(ADZ_SHAPE(2), ADZ_F32));
    expect_error(ADZ_ERR_DTYPE, "float32");
    adz_module_select_hidden(m, adz_ones(ADZ_SHAPE(2, 1), ADZ_I64));
    expect_error(ADZ_ERR_SHAPE, "rows[2, 1]");
    adz_module_select_hidden(NULL, ids(0, 1));
    expect_error(ADZ_ERR_NULL, "module");
    adz_module_select_hidden(m, NULL);
    expect_error(ADZ_ERR_NULL, "rows");
    adz_module_reset(NULL);
    expect_error(ADZ_ERR_NULL, "module");
    adz_module_release(&m);
}

/* A training loop holds the list of parameters while calls replace buffers. The list must stay
 * valid. */
static void lists_of_parameters_outlive_calls(void **state)
{
    (void)state;
    adz_module *m = two_counts();
    adz_tensor_list parameters = adz_module_parameters(m);
    adz_named_list buffers = adz_module_named_buffers(m);
    assert_int_equal(buffers.count, 0);
    adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 1), ADZ_F32));
    assert_ptr_equal(adz_module_parameters(m).items, parameters.items);
    assert_int_equal(adz_module_parameters(m).count, 2);
    buffers = adz_module_named_buffers(m);
    assert_int_equal(buffers.count, 2);
    assert_string_equal(buffers.items[1].name, "2.sum");
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    assert_int_equal(adz_tensor_dtype(adz_module_get_buffer(m, "2.sum")), ADZ_F64);
    adz_module_release(&m);
}

static bool exercise(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = scope != NULL ? two_counts() : NULL;
    bool good = m != NULL && adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 1), ADZ_F32)) != NULL &&
                adz_module_parameters(m).count == 2 &&
                adz_module_select_hidden(m, ids(0, 1)) == ADZ_OK &&
                adz_module_named_buffers(m).count == 2 && adz_module_reset(m) == ADZ_OK;
    adz_module_release(&m);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    assert_true(refuse_each_request(exercise) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_tree_is_reset_and_selected),
        TEST(a_module_in_two_positions_is_selected_once),
        TEST(a_failure_changes_nothing),
        TEST(bad_rows_are_refused),
        TEST(lists_of_parameters_outlive_calls),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
