/* What lies where, and what may not be changed. */
#include "tests.h"

/* The layout and the list of check_layout. */
static adz_flat_parameters *checked;
static adz_tensor *checked_leaf;

static void parameters_lie_in_order_on_boundaries(void **state)
{
    (void)state;
    adz_tensor *frozen = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_tensor *list[] = { leaf(1, 3, ADZ_F32), leaf(2, 5, ADZ_F64), frozen, leaf(3, 17, ADZ_F32),
        leaf(4, 0, ADZ_F32), leaf(5, 1, ADZ_F32), NULL };
    list[6] = list[0];
    adz_tensor_set_grad(list[3], adz_full(ADZ_SHAPE(17), 9, ADZ_F32));
    adz_flat_parameters *flat = lay_out(list, 7);
    assert_int_equal(adz_flat_parameters_count(flat), 5);
    assert_int_equal(adz_flat_parameters_group_count(flat), 2);
    const struct {
        int group;
        int64_t offset, length;
        size_t from;
    } expected[] = { { 0, 0, 3, 0 }, { 1, 0, 5, 1 }, { 0, 16, 17, 3 }, { 0, 48, 0, 4 },
        { 0, 48, 1, 5 } };
    for (size_t i = 0; i < 5; ++i) {
        adz_flat_slice s = adz_flat_parameters_slice_at(flat, i);
        assert_ptr_equal(s.parameter, list[expected[i].from]);
        assert_int_equal(s.group, expected[i].group);
        assert_int_equal(s.offset, expected[i].offset);
        assert_int_equal(s.length, expected[i].length);
        assert_int_equal((uintptr_t)adz_tensor_data(s.parameter) % 64, 0);
        assert_true(lies_in_its_slice(flat, i));
        adz_tensor *values = adz_flat_parameters_values(flat, s.group);
        adz_tensor *slice = adz_narrow(values, 0, s.offset, s.length);
        assert_ptr_equal(adz_tensor_data(slice), adz_tensor_data(s.parameter));
    }
    assert_int_equal(adz_tensor_numel(adz_flat_parameters_values(flat, 0)), 64);
    assert_int_equal(adz_tensor_numel(adz_flat_parameters_gradients(flat, 1)), 8);
    assert_true(all_are(list[3], 3) && all_are(adz_tensor_grad(list[3]), 9));
    assert_float_equal(adz_item(total(adz_flat_parameters_values(flat, 0))), 3 + 51 + 5, 0);
    assert_float_equal(adz_item(total(adz_flat_parameters_gradients(flat, 0))), 9 * 17, 0);
    adz_flat_parameters_free(&flat);
    assert_null(flat);
}

/* After the end of the layout, the parameters own the memory. */
static void parameters_outlive_the_layout(void **state)
{
    (void)state;
    adz_tensor *w = leaf(2, 40, ADZ_F32), *v = leaf(3, 2, ADZ_F64), *list[] = { w, v };
    adz_flat_parameters *flat = lay_out(list, 2);
    void *before = adz_tensor_data(w);
    assert_int_equal(adz_backward(total(adz_square(w))), ADZ_OK);
    adz_flat_parameters_free(&flat);
    assert_ptr_equal(adz_tensor_data(w), before);
    assert_true(all_are(w, 2) && all_are(adz_tensor_grad(w), 4));
    assert_int_equal(adz_backward(total(adz_square(w))), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 8));
    flat = lay_out(list, 2); /* may be laid out again */
    assert_true(all_are(adz_tensor_grad(w), 8) && lies_in_its_slice(flat, 0));
    adz_flat_parameters_free(&flat);
    adz_tensor_set_grad(w, ADZ_NONE);
    assert_int_equal(adz_backward(total(adz_square(w))), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 4));
}

static void a_graph_from_before_stays_valid(void **state)
{
    (void)state;
    adz_tensor *w = leaf(3, 2, ADZ_F64), *loss = total(adz_mul(adz_square(w), w));
    adz_flat_parameters *flat = lay_out(&w, 1);
    assert_int_equal(adz_backward(loss), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 27) && lies_in_its_slice(flat, 0));
    loss = total(adz_square(w));
    assert_int_equal(adz_flat_parameters_touch(flat), ADZ_OK);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    adz_error_clear();
    adz_flat_parameters_free(&flat);
}

/* An in-place change of one parameter leaves what a graph saved of another valid. */
static void versions_are_kept_apart(void **state)
{
    (void)state;
    adz_tensor *list[] = { leaf(3, 2, ADZ_F64), leaf(1, 2, ADZ_F64) };
    adz_flat_parameters *flat = lay_out(list, 2);
    adz_tensor *loss = total(adz_square(list[0]));
    fill(list[1], 7);
    assert_int_equal(adz_backward(loss), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(list[0]), 6));
    adz_flat_parameters_free(&flat);
}

/* A parameter that was changed before the layout keeps its version and the name of the writer. */
static void earlier_changes_are_remembered(void **state)
{
    (void)state;
    adz_tensor *w = leaf(3, 2, ADZ_F64), *early = total(adz_square(w));
    fill(w, 2);
    adz_tensor *late = total(adz_square(w));
    adz_flat_parameters *flat = lay_out(&w, 1);
    assert_int_equal(adz_backward(late), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 4));
    assert_int_equal(adz_backward(early), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "was changed in place by copy since");
    adz_flat_parameters_free(&flat);
}

/* The report of living tensors still says where a parameter was made. */
static void reports_say_where_parameters_were_made(void **state)
{
    (void)state;
    adz_set_debug(true);
    adz_tensor *w = adz_sited(leaf(3, 2, ADZ_F64), "network.c", 12);
    adz_flat_parameters *flat = lay_out(&w, 1);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(adz_report_alive(stream), ADZ_OK);
    fclose(stream);
    assert_non_null(strstr(text, "at network.c:12\n"));
    free(text);
    adz_flat_parameters_free(&flat);
    adz_set_debug(false);
}

/* A touch counts as a change of the gradients, too. */
static void graphs_of_touched_gradients_end(void **state)
{
    (void)state;
    adz_tensor *w = leaf(3, 2, ADZ_F64), *v = leaf(1, 2, ADZ_F64);
    adz_flat_parameters *flat = lay_out(&w, 1);
    assert_int_equal(adz_backward(total(adz_square(w))), ADZ_OK);
    adz_tensor *loss = total(adz_mul(adz_tensor_grad(w), v));
    assert_int_equal(adz_flat_parameters_touch(flat), ADZ_OK);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    adz_error_clear();
    adz_flat_parameters_free(&flat);
}

static void a_layout_leaves_no_memory_behind(void **state)
{
    (void)state;
    for (int round = 0; round < 3; ++round) {
        adz_memory_info before, after;
        adz_get_memory_info(&before, sizeof before);
        adz_scope *scope = adz_scope_open();
        adz_tensor *w = leaf(3, 5000, ADZ_F32);
        adz_flat_parameters *flat = lay_out(&w, 1);
        assert_int_equal(adz_backward(total(adz_square(w))), ADZ_OK);
        adz_flat_parameters_free(&flat);
        adz_scope_close(scope);
        adz_get_memory_info(&after, sizeof after);
        assert_true(round == 0 || after.live_bytes == before.live_bytes);
    }
}

static void gradients_go_to_their_slices(void **state)
{
    (void)state;
    adz_tensor *w = leaf(3, 2, ADZ_F64), *unused = leaf(1, 2, ADZ_F64), *list[] = { w, unused };
    adz_flat_parameters *flat = lay_out(list, 2);
    adz_optimizer *optimizer = adz_sgd_new(adz_tensor_list_of(list, 2), 0.5, NULL);
    for (int round = 0; round < 3; ++round) {
        assert_int_equal(adz_backward(total(adz_square(w))), ADZ_OK);
        assert_true(lies_in_its_slice(flat, 0) && lies_in_its_slice(flat, 1));
        assert_null(adz_tensor_grad(unused));
        assert_true(all_are(adz_tensor_grad(w), round == 2 ? 12 : 6));
        if (round == 0) {
            assert_int_equal(adz_optimizer_zero_grad(optimizer), ADZ_OK);
            assert_null(adz_tensor_grad(w));
            assert_true(lies_in_its_slice(flat, 0));
        } else {
            assert_int_equal(adz_optimizer_fill_grad_zero(optimizer), ADZ_OK);
            assert_true(all_are(adz_tensor_grad(w), 0));
            assert_int_equal(adz_backward(total(adz_square(w))), ADZ_OK);
        }
    }
    assert_int_equal(adz_tensor_set_grad(w, adz_full(ADZ_SHAPE(2), 5, ADZ_F64)), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 5) && lies_in_its_slice(flat, 0));
    assert_int_equal(adz_tensor_set_grad(w, adz_tensor_grad(w)), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 5));
    assert_int_equal(adz_tensor_set_grad(w, ADZ_NONE), ADZ_OK);
    assert_true(lies_in_its_slice(flat, 0));
    adz_optimizer_release(&optimizer);
    adz_flat_parameters_free(&flat);
}

static void a_gradient_from_elsewhere_is_attached(void **state)
{
    (void)state;
    adz_tensor *w = leaf(3, 2, ADZ_F32);
    adz_flat_parameters *flat = lay_out(&w, 1);
    adz_fill_(adz_flat_parameters_gradients(flat, 0), 4);
    adz_flat_parameters_touch(flat);
    assert_null(adz_tensor_grad(w));
    assert_int_equal(adz_flat_parameters_attach_grad(flat, 0), ADZ_OK);
    assert_true(all_are(adz_tensor_grad(w), 4));
    assert_int_equal(adz_flat_parameters_attach_grad(flat, 0), ADZ_OK);
    assert_int_equal(adz_flat_parameters_attach_grad(flat, 1), ADZ_ERR_INDEX);
    adz_error_clear();
    adz_flat_parameters_free(&flat);
}

static void what_cannot_be_laid_out_is_refused(void **state)
{
    (void)state;
    adz_tensor *w = leaf(1, 4, ADZ_F32), *result = adz_square(w), *view, *frozen, *turned;
    ADZ_NO_GRAD
    {
        view = adz_requires_grad_(adz_narrow(w, 0, 0, 2), true);
        turned = adz_requires_grad_(adz_transpose(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), 0, 1), true);
    }
    frozen = adz_ones(ADZ_SHAPE(4), ADZ_F32);
    const struct {
        adz_tensor *t;
        adz_status status;
        const char *says;
    } wrong[] = { { result, ADZ_ERR_GRAPH, "square" }, { view, ADZ_ERR_ARGUMENT, "view" },
        { turned, ADZ_ERR_SHAPE, "contiguous" }, { NULL, ADZ_ERR_NULL, "parameter" } };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        adz_tensor *list[] = { w, wrong[i].t };
        assert_null(adz_flat_parameters_new(adz_tensor_list_of(list, 2)));
        expect_error(wrong[i].status, wrong[i].says);
    }
    assert_null(adz_flat_parameters_new(adz_tensor_list_of(&frozen, 1)));
    expect_error(ADZ_ERR_ARGUMENT, "wants a gradient");
    adz_flat_parameters *flat = lay_out(&w, 1);
    assert_null(adz_flat_parameters_new(adz_tensor_list_of(&w, 1)));
    expect_error(ADZ_ERR_ARGUMENT, "adz_flat_parameters_free");
    assert_null(adz_flat_parameters_values(flat, 1));
    expect_error(ADZ_ERR_INDEX, "group 1");
    assert_null(adz_flat_parameters_slice_at(flat, 1).parameter);
    expect_error(ADZ_ERR_INDEX, "parameter 1");
    adz_flat_parameters_free(&flat);
}

static bool check_layout(void)
{
    return adz_flat_parameters_check(checked, adz_tensor_list_of(&checked_leaf, 1)) == ADZ_OK;
}

static void lists_are_compared(void **state)
{
    (void)state;
    adz_tensor *w = leaf(1, 4, ADZ_F32), *twice[] = { w, w };
    adz_flat_parameters *flat = lay_out(&w, 1);
    const char *op = "adz_flat_parameters_check";
    assert_int_equal(adz_flat_parameters_check(flat, adz_tensor_list_of(twice, 2)), ADZ_OK);
    expect_null(adz_flat_parameters_check(NULL, adz_tensor_list_of(&w, 1)) != ADZ_OK, op, "flat");
    expect_null(adz_flat_parameters_check(flat, (adz_tensor_list){ NULL, 0 }) != ADZ_OK, op,
        "the list of parameters");
    checked = flat;
    checked_leaf = w;
    assert_int_equal(refuse_each_request(check_layout), 1);
    adz_flat_parameters_free(&flat);
}

/* Each buffer may have INT64_MAX / 64 elements. The claimed memory is never touched. */
static void layouts_have_a_limit(void **state)
{
    (void)state;
    const int64_t most = INT64_MAX / 64;
    float number = 0;
    adz_tensor *huge = adz_tensor_wrap(&number, ADZ_SHAPE(most), ADZ_F32, NULL, NULL);
    adz_tensor *list[] = { leaf(1, 1, ADZ_F32), adz_requires_grad_(huge, true) };
    assert_null(adz_flat_parameters_new(adz_tensor_list_of(&huge, 1)));
    expect_error(ADZ_ERR_MEMORY, "bytes");
    assert_null(adz_flat_parameters_new(adz_tensor_list_of(list, 2)));
    expect_error(ADZ_ERR_MEMORY, "the parameters do not fit one buffer");
}

static void a_module_that_is_laid_out_keeps_its_parameters(void **state)
{
    (void)state;
    adz_module *tied = adz_linear_new(4, 4, NULL), *other = adz_linear_new(4, 4, NULL);
    adz_module_set_parameter(other, "weight", adz_module_get_parameter(tied, "weight"));
    adz_module *both = adz_sequential_new((adz_module *[]){ tied, other }, 2);
    adz_flat_parameters *flat = adz_flat_parameters_new(adz_module_parameters(both));
    assert_int_equal(adz_flat_parameters_count(flat), 3); /* one weight, two biases */
    assert_int_equal(adz_flat_parameters_check(flat, adz_module_parameters(both)), ADZ_OK);
    adz_tensor *weight = adz_module_get_parameter(tied, "weight"), *before = adz_clone(weight);
    assert_int_equal(adz_module_to(both, ADZ_F64), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "adz_flat_parameters_free");
    assert_int_equal(adz_module_to(both, ADZ_F32), ADZ_OK);
    assert_null(adz_module_set_parameter(tied, "weight", leaf(1, 16, ADZ_F32)));
    expect_error(ADZ_ERR_STATE, "adz_flat_parameters_free");
    assert_ptr_equal(adz_module_set_parameter(tied, "weight", weight), weight);
    assert_ptr_equal(adz_module_get_parameter(tied, "weight"), weight);
    assert_true(alike(weight, before, 0));
    adz_module *copy = adz_module_copy(both);
    assert_int_equal(adz_module_to(copy, ADZ_F64), ADZ_OK);
    adz_module_release(&copy);
    adz_module_requires_grad_(tied, false); /* freezing changes no place */
    assert_int_equal(adz_flat_parameters_check(flat, adz_module_parameters(both)), ADZ_OK);
    adz_sequential_append(both, adz_linear_new(2, 2, NULL));
    assert_int_equal(adz_flat_parameters_check(flat, adz_module_parameters(both)), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "changed after");
    assert_int_equal(adz_flat_parameters_check(flat, adz_module_parameters(tied)), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "3 parameters");
    adz_flat_parameters_free(&flat);
    assert_int_equal(adz_module_to(both, ADZ_F64), ADZ_OK);
    adz_module_release(&both);
}

int layout_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(parameters_lie_in_order_on_boundaries),
        TEST(parameters_outlive_the_layout),
        TEST(a_graph_from_before_stays_valid),
        TEST(versions_are_kept_apart),
        TEST(earlier_changes_are_remembered),
        TEST(reports_say_where_parameters_were_made),
        TEST(graphs_of_touched_gradients_end),
        TEST(a_layout_leaves_no_memory_behind),
        TEST(gradients_go_to_their_slices),
        TEST(a_gradient_from_elsewhere_is_attached),
        TEST(what_cannot_be_laid_out_is_refused),
        TEST(lists_are_compared),
        TEST(layouts_have_a_limit),
        TEST(a_module_that_is_laid_out_keeps_its_parameters),
    };
    return cmocka_run_group_tests_name("flat parameters: layout", tests, NULL, NULL);
}
