/* What the functions of modules and states refuse, and how they say it. */
#include "nn/module.h"
#include "scale.h"
#include "../../temporary.h"
#include "tests.h"

static adz_status visit_nothing(adz_module *module, void *user)
{
    (void)module;
    (void)user;
    return ADZ_OK;
}

static void modules_that_are_null_are_named(void **state)
{
    (void)state;
    adz_tensor *t = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    expect_null(adz_module_new(NULL, 0) == NULL, "adz_module_new", "type");
    expect_null(adz_module_keep(NULL) == NULL, "adz_module_keep", "module");
    expect_null(adz_module_data(NULL) == NULL, "adz_module_data", "module");
    expect_null(adz_module_type_of(NULL) == NULL, "adz_module_type_of", "module");
    expect_null(adz_module_name(NULL) == NULL, "adz_module_name", "module");
    expect_null(adz_module_copy(NULL) == NULL, "adz_module_copy", "module");
    expect_null(adz_module_get_parameter(NULL, "w") == NULL, "adz_module_get_parameter", "module");
    expect_null(adz_module_get_buffer(NULL, "w") == NULL, "adz_module_get_buffer", "module");
    expect_null(adz_module_get_child(NULL, "w") == NULL, "adz_module_get_child", "module");
    expect_null(adz_module_parameter_at(NULL, 0) == NULL, "adz_module_parameter_at", "module");
    expect_null(adz_module_buffer_at(NULL, 0) == NULL, "adz_module_buffer_at", "module");
    expect_null(adz_module_child_at(NULL, 0) == NULL, "adz_module_child_at", "module");
    expect_null(adz_module_child_name_at(NULL, 0) == NULL, "adz_module_child_name_at", "module");
    assert_int_equal(adz_module_child_count(NULL), 0);
    expect_null(adz_module_parameters(NULL).items == NULL, "adz_module_parameters", "module");
    expect_null(
        adz_module_named_parameters(NULL).items == NULL, "adz_module_named_parameters", "module");
    expect_null(adz_module_named_buffers(NULL).items == NULL, "adz_module_named_buffers", "module");
    expect_null(adz_module_numel(NULL) == -1, "adz_module_numel", "module");
    expect_null(adz_module_zero_grad(NULL) == ADZ_ERR_NULL, "adz_module_zero_grad", "module");
    expect_null(
        adz_module_fill_grad_zero(NULL) == ADZ_ERR_NULL, "adz_module_fill_grad_zero", "module");
    expect_null(adz_module_train(NULL, true) == ADZ_ERR_NULL, "adz_module_train", "module");
    expect_null(adz_module_eval(NULL) == ADZ_ERR_NULL, "adz_module_train", "module");
    expect_null(!adz_module_is_training(NULL), "adz_module_is_training", "module");
    expect_null(adz_module_requires_grad_(NULL, true) == ADZ_ERR_NULL, "adz_module_requires_grad_",
        "module");
    expect_null(
        adz_module_apply(NULL, visit_nothing, NULL) == ADZ_ERR_NULL, "adz_module_apply", "module");
    expect_null(adz_module_reset_parameters(NULL) == ADZ_ERR_NULL, "adz_module_apply", "module");
    expect_null(adz_module_reset(NULL) == ADZ_ERR_NULL, "adz_module_reset", "module");
    expect_null(
        adz_module_select_hidden(NULL, t) == ADZ_ERR_NULL, "adz_module_select_hidden", "module");
    expect_null(adz_module_to(NULL, ADZ_F64) == ADZ_ERR_NULL, "adz_module_to", "module");
    expect_null(adz_module_state_dict(NULL) == NULL, "adz_module_state_dict", "module");
}

static void states_that_are_null_are_named(void **state)
{
    (void)state;
    adz_tensor *t = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    adz_module *m = scale_new(1, 2);
    adz_state_dict *dict = adz_module_state_dict(m);
    expect_null(adz_module_load_state_dict(NULL, dict, true) == ADZ_ERR_NULL,
        "adz_module_load_state_dict", "module");
    expect_null(adz_module_load_state_dict(m, NULL, true) == ADZ_ERR_NULL,
        "adz_module_load_state_dict", "state");
    expect_null(adz_state_dict_add(NULL, "x", t) == ADZ_ERR_NULL, "adz_state_dict_add", "state");
    expect_null(adz_state_dict_add(dict, NULL, t) == ADZ_ERR_NULL, "adz_state_dict_add", "name");
    expect_null(adz_state_dict_add(dict, "x", NULL) == ADZ_ERR_NULL, "adz_state_dict_add", "t");
    expect_null(adz_state_dict_name_at(NULL, 0) == NULL, "adz_state_dict_name_at", "state");
    expect_null(adz_state_dict_at(NULL, 0) == NULL, "adz_state_dict_at", "state");
    expect_null(adz_state_dict_get(NULL, "x") == NULL, "adz_state_dict_get", "state");
    expect_null(adz_state_dict_get(dict, NULL) == NULL, "adz_state_dict_get", "name");
    assert_int_equal(adz_state_dict_count(NULL), 0);
    adz_state_dict_free(&dict);
    assert_null(dict);
    adz_state_dict_free(&dict);
    adz_state_dict_free(NULL);
    adz_module_release(&m);
}

static void arguments_that_are_null_are_named(void **state)
{
    (void)state;
    adz_tensor *t = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    adz_module *m = scale_new(1, 2);
    destroyed = 0;
    static adz_tensor *(*const put[])(adz_module *, const char *, adz_tensor *) = {
        adz_module_add_parameter, adz_module_set_parameter, adz_module_set_buffer
    };
    static const char *const names[] = { "adz_module_add_parameter", "adz_module_set_parameter",
        "adz_module_set_buffer" };
    for (int i = 0; i < 3; ++i) {
        expect_null(put[i](NULL, "w", t) == NULL, names[i], "module");
        expect_null(put[i](m, NULL, t) == NULL, names[i], "name");
        expect_null(put[i](m, "w", NULL) == NULL, names[i], "t");
    }
    expect_null(
        adz_module_add_buffer(NULL, "w", t, true) == NULL, "adz_module_add_buffer", "module");
    expect_null(adz_module_add_buffer(m, NULL, t, true) == NULL, "adz_module_add_buffer", "name");
    expect_null(adz_module_add_buffer(m, "w", NULL, true) == NULL, "adz_module_add_buffer", "t");
    static adz_module *(*const put_child[])(
        adz_module *, const char *, adz_module *) = { adz_module_add_child, adz_module_set_child };
    static const char *const child_names[] = { "adz_module_add_child", "adz_module_set_child" };
    for (int i = 0; i < 2; ++i) {
        expect_null(put_child[i](NULL, "c", scale_new(1, 1)) == NULL, child_names[i], "module");
        expect_null(put_child[i](m, NULL, scale_new(1, 1)) == NULL, child_names[i], "name");
        expect_null(put_child[i](m, "c", NULL) == NULL, child_names[i], "child");
    }
    assert_int_equal(destroyed, 4);
    expect_null(adz_module_get_parameter(m, NULL) == NULL, "adz_module_get_parameter", "path");
    expect_null(adz_module_get_buffer(m, NULL) == NULL, "adz_module_get_buffer", "path");
    expect_null(adz_module_get_child(m, NULL) == NULL, "adz_module_get_child", "path");
    expect_null(adz_module_apply(m, NULL, NULL) == ADZ_ERR_NULL, "adz_module_apply", "visit");
    expect_null(
        adz_module_select_hidden(m, NULL) == ADZ_ERR_NULL, "adz_module_select_hidden", "rows");
    adz_module_release(&m);
}

static void positions_are_checked(void **state)
{
    (void)state;
    adz_module *m = outer_new();
    adz_module_add_child(m, "scale", scale_new(3, 2));
    adz_module_add_buffer(m, "mean", adz_ones(ADZ_SHAPE(1), ADZ_F32), true);
    assert_null(adz_module_child_at(m, 1));
    expect_error(ADZ_ERR_INDEX, "adz_module_child_at: Outer has no child 1, only 1");
    assert_null(adz_module_child_name_at(m, 7));
    expect_error(ADZ_ERR_INDEX, "adz_module_child_name_at: Outer has no child 7, only 1");
    assert_null(adz_module_parameter_at(m, 0));
    expect_error(ADZ_ERR_INDEX, "adz_module_parameter_at: Outer has no parameter 0, only 0");
    assert_null(adz_module_buffer_at(m, 1));
    expect_error(ADZ_ERR_INDEX, "adz_module_buffer_at: Outer has no buffer 1, only 1");
    assert_string_equal(adz_module_child_name_at(m, 0), "scale");
    assert_non_null(adz_module_buffer_at(m, 0));
    assert_null(adz_module_get_parameter(m, "scal.weight"));
    expect_error(ADZ_ERR_ARGUMENT, "scal.weight: Outer has no child scal");
    assert_null(adz_module_get_parameter(m, "scale.weigh"));
    expect_error(ADZ_ERR_ARGUMENT, "scale.weigh: Scale has no parameter weigh");
    assert_null(adz_module_get_buffer(m, "scale.weight"));
    expect_error(ADZ_ERR_ARGUMENT, "scale.weight: Scale has no buffer weight");
    assert_null(adz_module_get_child(m, "scale.scale"));
    expect_error(ADZ_ERR_ARGUMENT, "scale.scale: Scale has no child scale");
    adz_module_release(&m);
}

/* Parameters, buffers and children have names of their own. Only an entry of its own kind may be
 * replaced. */
static void names_are_unique(void **state)
{
    (void)state;
    adz_module *m = outer_new();
    adz_tensor *t = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    adz_module_add_parameter(m, "p", adz_ones(ADZ_SHAPE(1), ADZ_F32));
    adz_module_add_buffer(m, "b", t, true);
    adz_module_add_child(m, "c", adz_identity_new());
    static const char *const names[] = { "p", "b", "c", "", "x.y" };
    static const char *const says[] = { "Outer has a parameter called p already",
        "Outer has a buffer called b already", "Outer has a child called c already",
        "the name \"\" is empty or has a dot", "the name \"x.y\" is empty or has a dot" };
    for (int i = 0; i < 5; ++i) {
        assert_null(adz_module_add_parameter(m, names[i], t));
        expect_error(ADZ_ERR_ARGUMENT, says[i]);
        assert_null(adz_module_add_buffer(m, names[i], t, true));
        expect_error(ADZ_ERR_ARGUMENT, says[i]);
        assert_null(adz_module_add_child(m, names[i], adz_identity_new()));
        expect_error(ADZ_ERR_ARGUMENT, says[i]);
        if (i != 0) {
            assert_null(adz_module_set_parameter(m, names[i], t));
            expect_error(ADZ_ERR_ARGUMENT, says[i]);
        }
        if (i != 1) {
            assert_null(adz_module_set_buffer(m, names[i], t));
            expect_error(ADZ_ERR_ARGUMENT, says[i]);
        }
        if (i != 2) {
            assert_null(adz_module_set_child(m, names[i], adz_identity_new()));
            expect_error(ADZ_ERR_ARGUMENT, says[i]);
        }
    }
    assert_ptr_equal(adz_module_set_buffer(m, "b2", t), t);
    assert_int_equal(adz_module_named_buffers(m).count, 1); /* One tensor under two names. */
    assert_non_null(adz_module_set_child(m, "c2", adz_identity_new()));
    assert_int_equal(adz_module_child_count(m), 2);
    assert_non_null(adz_module_set_parameter(m, "p2", adz_ones(ADZ_SHAPE(1), ADZ_F32)));
    adz_state_dict *dict = adz_module_state_dict(m); /* What was set is saved as what was added. */
    static const char *const saved[] = { "p", "p2", "b", "b2" };
    assert_int_equal(adz_state_dict_count(dict), 4);
    for (size_t i = 0; i < 4; ++i) {
        assert_string_equal(adz_state_dict_name_at(dict, i), saved[i]);
    }
    adz_state_dict_free(&dict);
    adz_module_release(&m);
}

static void sizes_have_borders(void **state)
{
    (void)state;
    assert_true(adz_check_size("op", "n", 1, 1));
    const int64_t most = INT64_MAX / 16;
    assert_true(adz_check_size("op", "n", most, 0));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_false(adz_check_size("op", "n", 0, 1));
    expect_error(ADZ_ERR_ARGUMENT, "op: n is 0, but must be 1 or more");
    assert_false(adz_check_size("op", "n", most + 1, 0));
    expect_error(ADZ_ERR_ARGUMENT, "more than fit in memory");
    assert_true(
        adz_check_range("op", "n", 2, 2, 65535) && adz_check_range("op", "n", 65535, 2, 65535));
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_false(adz_check_range("op", "n", 1, 2, 65535));
    expect_error(ADZ_ERR_ARGUMENT, "op: n is 1, but must be in [2, 65535]");
    assert_false(adz_check_range("op", "n", 65536, 2, 65535));
    expect_error(ADZ_ERR_ARGUMENT, "op: n is 65536, but must be in [2, 65535]");
    assert_false(adz_check_parameter_dtype("op", ADZ_I64));
    expect_error(ADZ_ERR_DTYPE, "op: parameters are float32 or float64, not int64");
    assert_true(adz_check_parameter_dtype("op", ADZ_F64));
}

static void types_are_checked(void **state)
{
    (void)state;
    adz_module_type type = scale_type;
    type.size = sizeof type.size - 1;
    assert_null(adz_module_new(&type, 0));
    expect_error(ADZ_ERR_ARGUMENT, "the type's size is 7; set it to sizeof(adz_module_type)");
    type.size = sizeof type.size;
    assert_null(adz_module_new(&type, 0));
    expect_error(ADZ_ERR_ARGUMENT, "the type has no name");
    type.size = sizeof type;
    type.forward = NULL;
    assert_null(adz_module_new(&type, 0));
    expect_error(ADZ_ERR_ARGUMENT, "the type has no forward");
}

static void entries_of_states_are_checked(void **state)
{
    (void)state;
    adz_state_dict *s = adz_state_dict_new();
    adz_tensor *t = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    assert_int_equal(adz_state_dict_add(s, "", t), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the name is empty");
    assert_int_equal(adz_state_dict_add(s, "t", t), ADZ_OK);
    assert_int_equal(adz_state_dict_add(s, "t", t), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "there is a tensor called t already");
    assert_null(adz_state_dict_name_at(s, 1));
    expect_error(ADZ_ERR_INDEX, "adz_state_dict_name_at: there is no entry 1, only 1");
    assert_null(adz_state_dict_at(s, 1));
    expect_error(ADZ_ERR_INDEX, "adz_state_dict_at: there is no entry 1, only 1");
    assert_null(adz_state_dict_get(s, "u"));
    assert_int_equal(adz_error_code(), ADZ_OK);
    adz_state_dict_free(&s);
}

/* ---- hidden states -------------------------------------------------------------------------- */

/* Replaces its buffer, and then fails if the buffer had more than one element. */
static adz_status reset_or_fail(adz_module *self)
{
    bool fails = adz_tensor_numel(adz_module_buffer_at(self, 0)) > 1;
    if (adz_module_set_buffer(self, "hidden", adz_zeros(ADZ_SHAPE(1), ADZ_F32)) == NULL) {
        return adz_error_code();
    }
    if (adz_module_named_buffers(self).items == NULL) { /* A list is made in between. */
        return adz_error_code();
    }
    return fails ? ADZ_ERR_CANCELLED : ADZ_OK;
}

static adz_tensor *pass(adz_module *self, adz_tensor *x)
{
    (void)self;
    return x;
}

static const adz_module_type carrier_type = {
    .size = sizeof(adz_module_type), .name = "Carrier", .forward = pass, .reset = reset_or_fail
};

static void a_reset_that_fails_changes_nothing(void **state)
{
    (void)state;
    adz_module *m = outer_new();
    adz_tensor *before[3];
    for (int i = 0; i < 3; ++i) {
        char name[] = { (char)('a' + i), '\0' };
        adz_module *carrier = adz_module_add_child(m, name, adz_module_new(&carrier_type, 0));
        before[i] = adz_module_add_buffer(
            carrier, "hidden", adz_ones(ADZ_SHAPE(i == 1 ? 2 : 1), ADZ_F32), false);
    }
    adz_module_add_child(m, "again", adz_module_keep(adz_module_get_child(m, "a")));
    adz_module_add_child(m, "plain", scale_new(1, 1));
    assert_int_equal(adz_module_reset(m), ADZ_ERR_CANCELLED);
    expect_error(ADZ_ERR_CANCELLED, "Carrier: the call failed without saying why");
    for (size_t i = 0; i < 3; ++i) {
        assert_ptr_equal(adz_module_buffer_at(adz_module_child_at(m, i), 0), before[i]);
        adz_named_list list = adz_module_named_buffers(adz_module_child_at(m, i));
        assert_ptr_equal(list.items[0].tensor, before[i]);
        assert_ptr_equal(adz_module_named_buffers(m).items[i].tensor, before[i]);
    }
    assert_non_null(adz_module_set_child(m, "b", adz_identity_new()));
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    assert_true(all_are(adz_module_get_buffer(m, "a.hidden"), 0));
    assert_true(all_are(adz_module_get_buffer(m, "c.hidden"), 0));
    adz_module_release(&m);
}

/* Its new buffer would take part in a graph if the reset were recorded. */
static adz_status reset_by_parameter(adz_module *self)
{
    adz_tensor *next = adz_neg(adz_neg(adz_module_parameter_at(self, 0)));
    return adz_module_set_buffer(self, "hidden", next) != NULL ? ADZ_OK : adz_error_code();
}

static const adz_module_type learner_type = {
    .size = sizeof(adz_module_type), .name = "Learner", .forward = pass, .reset = reset_by_parameter
};

static void a_reset_is_not_recorded(void **state)
{
    (void)state;
    adz_module *m = adz_module_new(&learner_type, 0);
    adz_tensor *w = adz_module_add_parameter(m, "weight", adz_full(ADZ_SHAPE(2), 5, ADZ_F32));
    adz_module_add_buffer(m, "hidden", ADZ_NONE, false);
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    assert_true(all_are(adz_module_buffer_at(m, 0), 5));
    int64_t tensors = adzi_live_tensors();
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(adz_module_reset(m), ADZ_OK);
        assert_int_equal(adzi_self()->n_frames, 0);
    }
    assert_int_equal(adzi_live_tensors(), tensors); /* What a reset makes besides is gone. */
    assert_true(adz_tensor_requires_grad(adz_neg(w)));
    adz_module_release(&m);
}

/* A reset takes memory for its lists and a scope. The thread has had no scope as deep as that. */
static void a_reset_is_refused_memory(void **state)
{
    (void)state;
    adz_module *m = adz_module_new(&carrier_type, 0);
    adz_module_add_buffer(m, "hidden", adz_ones(ADZ_SHAPE(1), ADZ_F32), false);
    adz_scope *outermost = adz_scope_open();
    while (adzi_self()->scope->inner != NULL) {
        adz_scope_open();
    }
    const adz_tensor *before = adz_module_buffer_at(m, 0);
    int refused = 0;
    for (adz_status status = ADZ_ERR_MEMORY; status != ADZ_OK; ++refused) {
        assert_ptr_equal(adz_module_buffer_at(m, 0), before);
        adzi_alloc_fail_at(refused + 1);
        status = adz_module_reset(m);
        adzi_alloc_fail_at(0);
        assert_int_equal(adz_error_code(), status);
        adz_error_clear();
    }
    assert_true(refused >= 4);
    assert_ptr_not_equal(adz_module_buffer_at(m, 0), before);
    adz_scope_close(outermost);
    adz_module_release(&m);
}

static adz_status pick_rows(adz_module *self, adz_tensor *rows)
{
    adz_tensor *picked = adz_index_select(adz_module_buffer_at(self, 0), 0, rows);
    return adz_module_set_buffer(self, "hidden", picked) != NULL ? ADZ_OK : adz_error_code();
}

static const adz_module_type picker_type = {
    .size = sizeof(adz_module_type), .name = "Picker", .forward = pass, .select_hidden = pick_rows
};

/* A module that stands in several positions has its rows selected once. */
static void rows_are_selected_once(void **state)
{
    (void)state;
    adz_module *m = outer_new(), *inner = outer_new(), *picker = adz_module_new(&picker_type, 0);
    adz_module_add_buffer(picker, "hidden", adz_arange(0, 3, 1, ADZ_F32), false);
    adz_module_add_child(m, "a", adz_module_keep(picker));
    adz_module_add_child(m, "b", adz_module_keep(picker));
    adz_module_add_child(inner, "c", adz_module_keep(picker));
    adz_module_add_child(m, "inner", inner);
    static const int64_t rows[] = { 1, 2, 0 };
    adz_tensor *turned = adz_tensor_from(rows, ADZ_SHAPE(3), ADZ_I64);
    assert_int_equal(adz_module_select_hidden(m, turned), ADZ_OK);
    assert_true(HOLDS(adz_module_buffer_at(picker, 0), 0, 1, 2, 0));
    assert_int_equal(adz_module_reset(m), ADZ_OK); /* It has nothing to reset. */
    assert_true(HOLDS(adz_module_buffer_at(picker, 0), 0, 1, 2, 0));
    adz_module_release(&picker);
    adz_module_release(&m);
}

static void rows_of_hidden_states_are_checked(void **state)
{
    (void)state;
    adz_module *m = scale_new(1, 1);
    assert_int_equal(adz_module_select_hidden(m, adz_ones(ADZ_SHAPE(2), ADZ_F32)), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "rows are float32, but must be int64");
    assert_int_equal(
        adz_module_select_hidden(m, adz_ones(ADZ_SHAPE(2, 1), ADZ_I64)), ADZ_ERR_SHAPE);
    expect_error(ADZ_ERR_SHAPE, "rows[2, 1] must be [n]");
    assert_int_equal(adz_module_select_hidden(m, adz_ones(ADZ_SHAPE(2), ADZ_I64)), ADZ_OK);
    adz_module_release(&m);
}

/* ---- refused memory ------------------------------------------------------------------------- */

static adz_status convert(void *module)
{
    adz_status status = adz_module_to(module, ADZ_F64);
    if (status == ADZ_OK) {
        status = adz_module_to(module, ADZ_F32);
    }
    return status;
}

static bool is_f32(void *module)
{
    adz_tensor *w = adz_module_get_parameter(module, "0.weight");
    return adz_tensor_dtype(w) == ADZ_F32 && adz_tensor_dtype(adz_tensor_grad(w)) == ADZ_F32 &&
           adz_tensor_dtype(adz_module_get_parameter(module, "1.weight")) == ADZ_F32;
}

static adz_status reset(void *module)
{
    return adz_module_reset(module);
}

static void refused_memory_converts_nothing(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(700, 2), scale_new(900, 2));
    adz_tensor *w = adz_module_get_parameter(m, "0.weight");
    assert_int_equal(adz_tensor_set_grad(w, adz_ones(ADZ_SHAPE(700), ADZ_F32)), ADZ_OK);
    adz_module_parameters(m);
    for (int n = 1; n <= 3; ++n) { /* The first conversion changes all or nothing. */
        adzi_alloc_fail_at(n);
        adz_status status = adz_module_to(m, ADZ_F64);
        adzi_alloc_fail_at(0);
        assert_int_equal(status, ADZ_ERR_MEMORY);
        expect_error(ADZ_ERR_MEMORY, "adz_module_to: ");
        assert_true(is_f32(m));
    }
    assert_int_equal(convert(m), ADZ_OK);
    assert_true(is_f32(m));
    assert_true(refuse_each(reset, NULL, m) >= 0);
    adz_module_release(&m);
    m = adz_module_new(&carrier_type, 0);
    adz_module_add_buffer(m, "hidden", adz_ones(ADZ_SHAPE(1), ADZ_F32), false);
    assert_true(refuse_each(reset, NULL, m) >= 2);
    adz_module_release(&m);
}

int refused_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(modules_that_are_null_are_named),
        TEST(arguments_that_are_null_are_named),
        TEST(states_that_are_null_are_named),
        TEST(positions_are_checked),
        TEST(names_are_unique),
        TEST(sizes_have_borders),
        TEST(types_are_checked),
        TEST(entries_of_states_are_checked),
        TEST(a_reset_that_fails_changes_nothing),
        TEST(a_reset_is_not_recorded),
        TEST(a_reset_is_refused_memory),
        TEST(rows_are_selected_once),
        TEST(rows_of_hidden_states_are_checked),
        TEST(refused_memory_converts_nothing),
    };
    return cmocka_run_group_tests_name("module: refused", tests, NULL, NULL);
}
