/* References of modules: two parents without a reference, freeing twice, and stale pointers. */
#include "nn/module.h"
#include "scale.h"
#include "tests.h"

/* A module that stands twice in one list, or in two parents, needs a reference for each position.
 */
static void two_positions_need_two_references(void **state)
{
    (void)state;
    destroyed = 0;
    adz_module *m = scale_new(3, 2);
    assert_null(ADZ_SEQUENTIAL(m, m));
    expect_error(ADZ_ERR_OWNERSHIP, "the Scale belongs to another parent already");
    assert_int_equal(destroyed, 1); /* The Sequential that failed has ended its child. */

    m = scale_new(3, 2);
    adz_module *first = ADZ_SEQUENTIAL(m);
    assert_null(ADZ_SEQUENTIAL(m));
    expect_error(ADZ_ERR_OWNERSHIP, "adz_module_keep");
    assert_int_equal(destroyed, 1);
    adz_module *second = ADZ_SEQUENTIAL(adz_module_keep(m));
    assert_non_null(second);
    adz_module_release(&first);
    assert_int_equal(destroyed, 1);
    assert_non_null(adz_module_forward(second, adz_ones(ADZ_SHAPE(3), ADZ_F32)));
    adz_module_release(&second);
    assert_int_equal(destroyed, 2);
    assert_int_equal(adz_error_code(), ADZ_OK);
}

/* What every function that takes a reference over does with a module that a parent owns alone. */
static void owned_children_are_refused_everywhere(void **state)
{
    (void)state;
    destroyed = 0;
    adz_module *m = scale_new(3, 2), *owner = ADZ_SEQUENTIAL(m), *other = outer_new();
    adz_module *list = adz_module_list_new(NULL, 0), *sequential = adz_sequential_new(NULL, 0);
    assert_null(adz_module_add_child(other, "a", m));
    expect_error(ADZ_ERR_OWNERSHIP, "adz_module_add_child: the Scale");
    assert_null(adz_module_set_child(other, "a", m));
    expect_error(ADZ_ERR_OWNERSHIP, "adz_module_set_child: the Scale");
    assert_null(adz_sequential_append(sequential, m));
    expect_error(ADZ_ERR_OWNERSHIP, "the Scale");
    assert_null(adz_module_list_append(list, m));
    expect_error(ADZ_ERR_OWNERSHIP, "the Scale");
    assert_null(adz_sequential_append(list, m));
    expect_error(ADZ_ERR_ARGUMENT, "this is a ModuleList");
    assert_null(adz_activation_checkpoint_new(m));
    expect_error(ADZ_ERR_OWNERSHIP, "the Scale");
    assert_int_equal(adz_module_child_count(other), 0);
    assert_int_equal(destroyed, 0);
    adz_module *all[] = { owner, other, list, sequential };
    for (int i = 0; i < 4; ++i) {
        adz_module_release(&all[i]);
    }
    assert_int_equal(destroyed, 1);
    assert_int_equal(adz_error_code(), ADZ_OK);
}

/* A caller who gave its reference away cannot end the module. */
static void a_child_is_ended_by_its_parent(void **state)
{
    (void)state;
    destroyed = 0;
    adz_module *m = scale_new(3, 2), *same = m, *parent = ADZ_SEQUENTIAL(m);
    adz_module_release(&same);
    assert_null(same);
    expect_error(ADZ_ERR_OWNERSHIP, "the Scale belongs to its parent");
    assert_int_equal(destroyed, 0);
    assert_ptr_equal(adz_module_child_at(parent, 0), m);
    same = adz_module_keep(m);
    adz_module_release(&parent);
    assert_int_equal(destroyed, 0);
    adz_module_release(&same);
    assert_int_equal(destroyed, 1);
    assert_int_equal(adz_error_code(), ADZ_OK);
}

/* set_child may replace a child by itself: its old reference goes and the new one stays. */
static void a_child_may_replace_itself(void **state)
{
    (void)state;
    destroyed = 0;
    adz_module *m = scale_new(3, 2), *parent = outer_new();
    assert_non_null(adz_module_add_child(parent, "a", m));
    assert_ptr_equal(adz_module_set_child(parent, "a", adz_module_keep(m)), m);
    assert_int_equal(destroyed, 0);
    assert_ptr_equal(m->parent, parent);
    adz_module_release(&parent);
    assert_int_equal(destroyed, 1);
}

static adz_status visit_nothing(adz_module *module, void *user)
{
    (void)module;
    (void)user;
    return ADZ_OK;
}

/* Expects that a call failed because its module has ended. */
static void expect_stale(bool failed)
{
    assert_true(failed);
    expect_error(ADZ_ERR_OWNERSHIP, "is a stale pointer: the module has ended");
}

/* Calls functions that change or call a module that has ended. */
static void use_stale(adz_module *stale, adz_module *other)
{
    adz_tensor *t = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_values *values = adz_values_new(), *out = adz_values_new();
    adz_state_dict *dict = adz_module_state_dict(other);
    expect_stale(adz_module_forward(stale, t) == NULL);
    expect_stale(adz_module_call(stale, values, out) != ADZ_OK);
    expect_stale(ADZ_CALL(stale, { NULL, t }) == NULL);
    expect_stale(adz_module_functional_call(stale, values, values, out) != ADZ_OK);
    expect_stale(adz_module_load_state_dict(stale, dict, true) != ADZ_OK);
    expect_stale(adz_module_save(stale, "none") != ADZ_OK);
    expect_stale(adz_module_load(stale, "none", true) != ADZ_OK);
    expect_stale(adz_module_write_onnx(stale, t, "none.onnx", NULL) != ADZ_OK);
    adz_values_free(&values);
    adz_values_free(&out);
    adz_state_dict_free(&dict);
}

/* In debug mode the memory of a module that has ended is not used again, so that a stale pointer is
 * an error in every function. */
static void stale_pointers_are_errors(void **state)
{
    (void)state;
    adz_set_debug(true);
    adz_tensor *t = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_module *m = scale_new(3, 2), *stale = m, *other = outer_new();
    adz_module_release(&m);
    m = stale;
    adz_module_release(&m);
    expect_stale(m == NULL);
    for (int i = 0; i < 100; ++i) { /* No other module gets the memory. */
        adz_module *next = scale_new(3, 2);
        assert_ptr_not_equal(next, stale);
        adz_module_release(&next);
    }
    expect_stale(adz_module_keep(stale) == NULL);
    expect_stale(adz_module_name(stale) == NULL);
    expect_stale(adz_module_data(stale) == NULL);
    expect_stale(adz_module_type_of(stale) == NULL);
    expect_stale(adz_module_parameters(stale).items == NULL);
    expect_stale(adz_module_named_buffers(stale).items == NULL);
    expect_stale(adz_module_get_parameter(stale, "weight") == NULL);
    expect_stale(adz_module_get_child(stale, "a") == NULL);
    expect_stale(adz_module_child_at(stale, 0) == NULL);
    expect_stale(adz_module_child_count(stale) == 0);
    expect_stale(adz_module_add_parameter(stale, "a", t) == NULL);
    expect_stale(adz_module_add_child(other, "a", stale) == NULL);
    expect_stale(adz_module_add_child(stale, "a", outer_new()) == NULL);
    expect_stale(adz_sequential_append(stale, outer_new()) == NULL);
    expect_stale(ADZ_SEQUENTIAL(stale) == NULL);
    expect_stale(adz_module_train(stale, true) != ADZ_OK);
    expect_stale(!adz_module_is_training(stale));
    expect_stale(adz_module_zero_grad(stale) != ADZ_OK);
    expect_stale(adz_module_apply(stale, visit_nothing, NULL) != ADZ_OK);
    expect_stale(adz_module_reset(stale) != ADZ_OK);
    expect_stale(adz_module_to(stale, ADZ_F64) != ADZ_OK);
    expect_stale(adz_module_copy(stale) == NULL);
    expect_stale(adz_module_state_dict(stale) == NULL);
    expect_stale(adz_module_print(stale, stderr) != ADZ_OK);
    use_stale(stale, other);
    adz_module_release(&other);
    adz_set_debug(false);
}

int ownership_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(two_positions_need_two_references),
        TEST(owned_children_are_refused_everywhere),
        TEST(a_child_is_ended_by_its_parent),
        TEST(a_child_may_replace_itself),
        TEST(stale_pointers_are_errors),
    };
    return cmocka_run_group_tests_name("module: ownership", tests, NULL, NULL);
}
