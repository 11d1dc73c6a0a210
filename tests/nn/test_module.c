/* The module core: ownership, listings, calls, state, copies, printed trees. */
#include "../nn.h"

#include "adze/custom.h"

/* ---- a module of a user's own --------------------------------------------------------------- */

typedef struct {
    double factor;
    char *text; /* owned */
} scale_state;

static int destroyed, resets;

static adz_tensor *scale_forward(adz_module *self, adz_tensor *x)
{
    const scale_state *state = adz_module_state(self);
    return adz_mul_number(adz_mul(x, adz_module_parameter_at(self, 0)), state->factor);
}

static adz_status scale_reset(adz_module *self)
{
    (void)self;
    ++resets;
    return ADZ_OK;
}

static size_t scale_repr(adz_module *self, char *buffer, size_t size)
{
    const scale_state *state = adz_module_state(self);
    return (size_t)snprintf(buffer, size, "factor=%d", (int)state->factor);
}

static void scale_destroy(adz_module *self)
{
    scale_state *state = adz_module_state(self);
    free(state->text);
    ++destroyed;
}

static adz_status scale_copy(adz_module *copy, adz_module *original)
{
    const scale_state *from = adz_module_state(original);
    scale_state *to = adz_module_state(copy);
    to->factor = from->factor;
    to->text = strdup(from->text);
    return ADZ_OK;
}

static const adz_module_type scale_type = { .size = sizeof(adz_module_type),
    .name = "Scale",
    .forward = scale_forward,
    .reset_parameters = scale_reset,
    .extra_repr = scale_repr,
    .destroy = scale_destroy,
    .copy_state = scale_copy };

static adz_module *scale_new(int64_t width, double factor)
{
    adz_module *self = adz_module_new(&scale_type, sizeof(scale_state));
    adz_scope *scope = adz_scope_open();
    if (adz_module_add_parameter(self, "weight", adz_ones(ADZ_SHAPE(width), ADZ_F32)) == NULL) {
        adz_module_free(&self);
    } else {
        scale_state *state = adz_module_state(self);
        state->factor = factor;
        state->text = strdup("text");
    }
    adz_scope_close(scope);
    return self;
}

/* Several values in and out, by name: y = a + b, where b may be absent; and the difference. */
static adz_status both_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_tensor *a = adz_values_argument(in, 0, "a"), *b = adz_values_argument(in, 1, "b");
    adz_tensor *other = b == ADZ_NONE ? adz_zeros_like(a) : b;
    adz_tensor *sum = adz_add(a, other), *difference = adz_add_scaled(a, other, -1);
    if (adz_values_add(out, "sum", sum) != ADZ_OK) {
        return adz_error_code();
    }
    if (adz_values_add(out, "absent", ADZ_NONE) != ADZ_OK) {
        return adz_error_code();
    }
    return adz_values_add(out, "difference", difference);
}

static const adz_module_type both_type = {
    .size = sizeof(adz_module_type), .name = "Both", .call = both_call
};

/* Calls its children, leaves a scope open when one fails. */
static adz_tensor *outer_forward(adz_module *self, adz_tensor *x)
{
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < adz_module_child_count(self); ++i) {
        x = adz_module_forward(adz_module_child_at(self, i), x);
        if (x == NULL) {
            return NULL;
        }
    }
    return adz_scope_return(scope, x);
}

static const adz_module_type outer_type = {
    .size = sizeof(adz_module_type), .name = "Outer", .forward = outer_forward
};

static adz_module *outer_new(void)
{
    return adz_module_new(&outer_type, 0);
}

/* ---- ownership ------------------------------------------------------------------------------ */

static void references_are_counted(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = scale_new(3, 2);
    adz_module *same = adz_module_keep(m);
    adz_module_free(&m);
    assert_null(m);
    assert_int_equal(destroyed, 0);
    adz_module_free(&same);
    assert_int_equal(destroyed, 1);
    adz_module_free(&same);
    adz_module_free(NULL);
}

static void a_child_is_taken_over_even_on_failure(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = outer_new();
    assert_non_null(adz_module_add_child(m, "a", scale_new(3, 2)));
    assert_null(adz_module_add_child(m, "a", scale_new(3, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "Outer has a child called a already");
    assert_int_equal(destroyed, 1);
    assert_null(adz_module_add_child(m, "b.c", scale_new(3, 2)));
    expect_error(ADZ_ERR_ARGUMENT, "has a dot");
    assert_null(adz_module_add_child(NULL, "b", scale_new(3, 2)));
    expect_error(ADZ_ERR_NULL, "module is NULL");
    assert_int_equal(destroyed, 3);
    assert_null(adz_module_add_child(m, "b", adz_module_add_child(m, "", scale_new(3, 2))));
    expect_error(ADZ_ERR_ARGUMENT, "is empty or has a dot");
    adz_module *inner = adz_module_add_child(m, "inner", outer_new());
    assert_non_null(inner);
    assert_null(adz_module_add_child(inner, "loop", adz_module_keep(m)));
    expect_error(ADZ_ERR_ARGUMENT, "inside itself");
    adz_module_free(&m);
    assert_int_equal(destroyed, 5);
}

static void entries_are_checked(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *t = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_null(adz_module_add_parameter(m, "weight", t));
    expect_error(ADZ_ERR_ARGUMENT, "a parameter called weight already");
    assert_null(adz_module_add_buffer(m, "weight", t, true));
    expect_error(ADZ_ERR_ARGUMENT, "a parameter called weight already");
    assert_null(adz_module_add_parameter(m, "t", adz_transpose(t, 0, 1)));
    expect_error(ADZ_ERR_SHAPE, "not contiguous");
    assert_null(adz_module_add_parameter(m, "i", adz_ones(ADZ_SHAPE(2), ADZ_I64)));
    expect_error(ADZ_ERR_DTYPE, "i[2] is int64");
    assert_null(adz_module_add_parameter(m, "y", adz_mul(t, adz_module_parameter(m, "weight"))));
    expect_error(ADZ_ERR_GRAPH, "takes part in a graph");
    assert_false(adz_tensor_requires_grad(t));
    assert_ptr_equal(adz_module_add_parameter(m, "absent", ADZ_NONE), ADZ_NONE);
    assert_ptr_equal(adz_module_add_parameter(m, "more", t), t);
    assert_true(adz_tensor_requires_grad(t));
    assert_int_equal(adz_module_parameters(m).count, 2);
    assert_null(adz_module_parameter(m, "nothing"));
    expect_error(ADZ_ERR_ARGUMENT, "nothing: Scale has no parameter nothing");
    assert_null(adz_module_child(m, "a.b"));
    expect_error(ADZ_ERR_ARGUMENT, "a.b: Scale has no child a");
    assert_null(adz_module_parameter_at(m, 3));
    expect_error(ADZ_ERR_INDEX, "no parameter 3, only 3");
    adz_module_free(&m);
}

/* ---- listings ------------------------------------------------------------------------------- */

static void listings_follow_the_structure(void **state)
{
    (void)state;
    adz_module *m = outer_new();
    adz_module *a = adz_module_add_child(m, "a", scale_new(3, 2));
    adz_module *inner = adz_module_add_child(m, "inner", outer_new());
    adz_tensor_list list = adz_module_parameters(m);
    assert_int_equal(list.count, 1);
    adz_module *other = scale_new(1, 1); /* elsewhere: the list stays */
    assert_ptr_equal(adz_module_parameters(m).items, list.items);
    adz_module_add_child(inner, "b", scale_new(5, 2)); /* two levels down */
    assert_int_equal(adz_module_parameters(m).count, 2);
    assert_int_equal(adz_module_num_parameters(m), 8);
    adz_module_add_child(inner, "again", adz_module_keep(a));
    adz_module_add_buffer(inner, "mean", adz_zeros(ADZ_SHAPE(4), ADZ_F64), true);
    adz_module_add_buffer(inner, "scratch", adz_zeros(ADZ_SHAPE(4), ADZ_F64), false);
    adz_named_list named = adz_module_named_parameters(m);
    assert_int_equal(named.count, 2);
    assert_string_equal(named.items[0].name, "a.weight");
    assert_string_equal(named.items[1].name, "inner.b.weight");
    adz_named_list buffers = adz_module_named_buffers(m);
    assert_int_equal(buffers.count, 2);
    assert_string_equal(buffers.items[1].name, "inner.scratch");

    adz_state *dict = adz_module_state_dict(m);
    assert_int_equal(adz_state_count(dict), 4);
    assert_string_equal(adz_state_name(dict, 0), "a.weight");
    assert_string_equal(adz_state_name(dict, 1), "inner.mean");
    assert_string_equal(adz_state_name(dict, 2), "inner.b.weight");
    assert_string_equal(adz_state_name(dict, 3), "inner.again.weight");
    assert_ptr_equal(adz_state_tensor(dict, 3), adz_state_find(dict, "a.weight"));
    assert_null(adz_state_find(dict, "scratch"));
    assert_null(adz_state_tensor(dict, 4));
    expect_error(ADZ_ERR_INDEX, "no entry 4, only 4");

    assert_ptr_equal(
        adz_module_parameter(m, "inner.again.weight"), list.items ? named.items[0].tensor : NULL);
    assert_ptr_equal(adz_module_child(m, "inner.again"), a);
    assert_ptr_equal(adz_module_buffer(m, "inner.mean"), buffers.items[0].tensor);
    /* tied by hand */
    adz_module_set_parameter(adz_module_child(m, "inner.b"), "weight", named.items[0].tensor);
    assert_int_equal(adz_module_parameters(m).count, 1);
    assert_int_equal(adz_module_num_parameters(m), 3);
    /* replaced */
    assert_non_null(adz_module_set_child(m, "a", scale_new(7, 1)));
    assert_int_equal(adz_module_num_parameters(m), 10);
    adz_state_free(&dict);
    adz_module_free(&other);
    adz_module_free(&m);
}

/* ---- calls ---------------------------------------------------------------------------------- */

static void a_call_hands_only_its_result_outward(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), scale_new(3, 5), adz_identity_new());
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    ADZ_NO_GRAD
    {
        int64_t before = adzi_live_tensors();
        adz_tensor *y = adz_module_forward(m, x);
        assert_int_equal(adzi_live_tensors(), before + 1);
        assert_true(adz_item(adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM)) == 10);
        adz_module *identity = adz_module_child(m, "2");
        before = adzi_live_tensors();
        assert_ptr_equal(adz_module_forward(identity, x), x);
        assert_int_equal(adzi_live_tensors(), before);
    }
    adz_tensor *loss = adz_mean(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(loss), ADZ_OK);
    adz_tensor *grad = adz_tensor_grad(adz_module_parameter(m, "1.weight"));
    assert_true(HOLDS(grad, 1e-6, 10.0 / 3, 10.0 / 3, 10.0 / 3));
    assert_int_equal(adz_module_fill_grad_zero(m), ADZ_OK);
    assert_true(all_are(grad, 0));
    assert_int_equal(adz_module_zero_grad(m), ADZ_OK);
    assert_null(adz_tensor_grad(adz_module_parameter(m, "1.weight")));
    adz_module_free(&m);
}

static void lists_carry_names_and_absent_values(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_identity_new(), adz_module_new(&both_type, 0));
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *a = adz_full(ADZ_SHAPE(2), 5, ADZ_F32), *b = adz_full(ADZ_SHAPE(2), 3, ADZ_F32);
    adz_values_add(in, "b", b);
    adz_values_add(in, "a", a);
    int64_t before = adzi_live_tensors();
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_int_equal(adzi_live_tensors(), before + 2);
    assert_int_equal(adz_values_count(out), 3);
    assert_true(all_are(adz_values_at(out, 0), 8));
    assert_ptr_equal(adz_values_at(out, 1), ADZ_NONE);
    assert_true(all_are(adz_values_find(out, "difference"), 2));
    assert_string_equal(adz_values_name(out, 2), "difference");
    assert_ptr_equal(adz_values_find(out, "nothing"), ADZ_NONE);
    assert_ptr_equal(adz_values_at(out, 9), ADZ_NONE);

    adz_values_clear(out);
    adz_values_clear(in);
    adz_values_add(in, "", a); /* by place, the other absent */
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_true(alike(adz_values_at(out, 0), a, 0));
    assert_true(alike(adz_module_forward(m, a), a, 0)); /* the first result */

    /* failures leave the results as they were */
    assert_int_equal(adz_values_add(out, "sum", a), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "called sum already");
    assert_int_equal(adz_module_call(m, in, out), ADZ_ERR_ARGUMENT); /* "sum" is taken */
    expect_error(ADZ_ERR_ARGUMENT, "adz_values_add: there is a value called sum already");
    assert_int_equal(adz_values_count(out), 3);
    adz_module *one = scale_new(2, 1);
    adz_values_add(in, "mask", b);
    assert_int_equal(adz_module_call(one, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "Scale: takes one tensor, but value 1, mask is given too");
    for (int i = 0; i < 20; ++i) {
        assert_int_equal(adz_values_add(in, NULL, a), ADZ_OK);
    }
    assert_int_equal(adz_values_count(in), 22);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_free(&one);
    adz_module_free(&m);
}

static adz_tensor *silent_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    (void)x;
    return NULL;
}

static const adz_module_type silent_type = {
    .size = sizeof(adz_module_type), .name = "Silent", .forward = silent_forward
};

static void errors_carry_the_path(void **state)
{
    (void)state;
    adz_module *inner = outer_new(), *m = outer_new();
    adz_module_add_child(inner, "scale", scale_new(3, 2));
    adz_module_add_child(m, "encoder", ADZ_SEQUENTIAL(scale_new(3, 2), inner));
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 4), ADZ_F32);
    assert_null(adz_module_forward(adz_module_child(m, "encoder.1"), x));
    expect_error(ADZ_ERR_SHAPE, "scale: mul: ");
    assert_non_null(adz_module_set_child(adz_module_child(m, "encoder"), "0", adz_identity_new()));
    for (int i = 0; i < 3; ++i) { /* and scopes left open by the failing forward are closed */
        assert_null(adz_module_forward(m, x));
        assert_int_equal(strncmp(adz_error_message(), "encoder.1.scale: mul: ", 22), 0);
        adz_error_clear();
    }
    assert_null(adz_mul(x, adz_ones(ADZ_SHAPE(3), ADZ_F32)));
    assert_int_equal(strncmp(adz_error_message(), "mul: ", 5), 0);
    adz_error_clear();
    /* shared with another parent: the name in the module that calls */
    adz_module *third = ADZ_SEQUENTIAL(adz_module_keep(adz_module_child(m, "encoder.1.scale")));
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_SHAPE, "encoder.1.scale: mul: ");
    assert_null(adz_module_forward(third, x));
    expect_error(ADZ_ERR_SHAPE, "0: mul: ");
    adz_module_free(&third);
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_SHAPE, "encoder.1.scale: mul: ");
    assert_null(adz_module_forward(m, NULL));
    expect_error(ADZ_ERR_NULL, "x is NULL");
    adz_module *list = adz_module_list_new(NULL, 0), *silent = adz_module_new(&silent_type, 0);
    assert_null(adz_module_forward(list, x));
    expect_error(ADZ_ERR_UNSUPPORTED, "ModuleList: a list cannot be called");
    assert_null(adz_module_forward(silent, x));
    expect_error(ADZ_ERR_NULL, "Silent: the result is NULL");
    assert_null(adz_sequential_append(list, adz_identity_new()));
    expect_error(ADZ_ERR_ARGUMENT, "this is a ModuleList, not a Sequential");
    assert_non_null(adz_module_list_append(list, adz_identity_new()));
    adz_module_free(&silent);
    adz_module_free(&list);
    adz_module_free(&m);
}

/* ---- whole trees ---------------------------------------------------------------------------- */

static adz_status count_visit(adz_module *module, void *user)
{
    strcat(user, adz_module_name(module));
    strcat(user, " ");
    return ADZ_OK;
}

static adz_status stop_visit(adz_module *module, void *user)
{
    (void)user;
    return strcmp(adz_module_name(module), "Scale") == 0 ? ADZ_ERR_CANCELLED : ADZ_OK;
}

static void modes_reach_the_whole_tree(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), ADZ_SEQUENTIAL(scale_new(3, 2)));
    adz_module *deep = adz_module_child(m, "1.0");
    assert_true(adz_module_is_training(deep));
    assert_int_equal(adz_module_eval(m), ADZ_OK);
    assert_false(adz_module_is_training(deep));
    assert_false(adz_module_is_training(m));
    adz_module_train(adz_module_child(m, "1"), true);
    assert_true(adz_module_is_training(deep));
    assert_false(adz_module_is_training(m));
    assert_int_equal(adz_module_requires_grad(m, false), ADZ_OK);
    assert_false(adz_tensor_requires_grad(adz_module_parameter_at(deep, 0)));
    adz_module_requires_grad(m, true);
    assert_true(adz_tensor_requires_grad(adz_module_parameter_at(deep, 0)));
    char names[200] = "";
    assert_int_equal(adz_module_apply(m, count_visit, names), ADZ_OK);
    assert_string_equal(names, "Scale Scale Sequential Sequential ");
    assert_int_equal(adz_module_apply(m, stop_visit, NULL), ADZ_ERR_CANCELLED);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_int_equal(resets, 2);
    adz_module_free(&m);
}

static void dtypes_change_in_place(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *w = adz_module_parameter(m, "weight");
    adz_tensor *ids = adz_module_add_buffer(m, "ids", adz_ones(ADZ_SHAPE(2), ADZ_I64), true);
    adz_tensor *mean = adz_module_add_buffer(m, "mean", adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    adz_tensor *y =
        adz_mean(adz_module_forward(m, adz_ones(ADZ_SHAPE(3), ADZ_F32)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *late =
        adz_mean(adz_module_forward(m, adz_ones(ADZ_SHAPE(3), ADZ_F32)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *through = adz_mean(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_backward(y);
    assert_int_equal(adz_module_to(m, ADZ_I64), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "int64");
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    assert_ptr_equal(w, adz_module_parameter(m, "weight"));
    assert_int_equal(adz_tensor_dtype(w), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(mean), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(ids), ADZ_I64);
    assert_true(all_are(w, 1));
    assert_int_equal(adz_tensor_dtype(adz_tensor_grad(w)), ADZ_F64);
    assert_true(fabs(adz_tensor_at(adz_tensor_grad(w), (int64_t[]){ 1 }) - 2.0 / 3) < 1e-6);
    (void)late;
    assert_int_equal(adz_backward(through), ADZ_ERR_VERSION); /* it needs the old w */
    expect_error(ADZ_ERR_VERSION, "adz_module_to");
    adz_module_free(&m);
}

/* ---- state ---------------------------------------------------------------------------------- */

static void states_load_all_or_nothing(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), scale_new(4, 2), scale_new(5, 2));
    adz_state *given = adz_state_new();
    adz_state_add(given, "0.weight", adz_full(ADZ_SHAPE(3), 7, ADZ_F64));
    adz_state_add(given, "1.weight", adz_full(ADZ_SHAPE(2, 2), 7, ADZ_F32));
    adz_state_add(given, "1.bias", adz_full(ADZ_SHAPE(2), 7, ADZ_F32));
    assert_int_equal(adz_state_add(given, "1.bias", adz_scalar(1, ADZ_F32)), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "called 1.bias already");
    assert_int_equal(adz_module_load_state_dict(m, given, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE,
        "1 missing, 1 unexpected, 1 of another shape, 1 of another dtype; nothing was loaded. "
        "missing: 2.weight; unexpected: 1.bias; of another shape: 1.weight ([2, 2] given, [4] "
        "here); of another dtype, which adz_module_to changes: 0.weight (float64 given, float32 "
        "here)");
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "0 missing, 0 unexpected, 1 of another shape");
    adz_tensor *w = adz_module_parameter(m, "0.weight");
    assert_true(all_are(w, 1));
    adz_state_free(&given);

    given = adz_state_new();
    adz_state_add(given, "0.weight", adz_full(ADZ_SHAPE(3), 7, ADZ_BF16));
    adz_state_add(given, "more", adz_full(ADZ_SHAPE(3), 7, ADZ_F64));
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_OK);
    assert_true(all_are(w, 7));
    assert_int_equal(adz_tensor_dtype(w), ADZ_F32);
    assert_null(adz_mul(NULL, w)); /* an error is pending */
    assert_int_equal(adz_module_load_state_dict(m, given, false), ADZ_ERR_NULL);
    adz_error_clear();
    adz_state_free(&given);

    adz_module *copy = adz_module_copy(m);
    fill(w, 9);
    adz_state *saved = adz_module_state_dict(m);
    assert_int_equal(adz_module_load_state_dict(copy, saved, true), ADZ_OK);
    assert_true(alike(adz_module_parameter(copy, "0.weight"), w, 0));
    assert_int_equal(adz_module_load_state_dict(m, saved, true), ADZ_OK); /* its own */
    adz_state_free(&saved);
    adz_module_free(&copy);
    adz_module_free(&m);
}

static void a_load_counts_as_a_change(void **state)
{
    (void)state;
    adz_module *m = scale_new(3, 2);
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *loss = adz_mean(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_module *other = scale_new(3, 2);
    adz_state *dict = adz_module_state_dict(other);
    adz_module_load_state_dict(m, dict, true);
    assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
    expect_error(ADZ_ERR_VERSION, "load_state_dict");
    adz_state_free(&dict);
    adz_module_free(&other);
    adz_module_free(&m);
}

/* ---- copies --------------------------------------------------------------------------------- */

static void copies_share_nothing_and_keep_ties(void **state)
{
    (void)state;
    destroyed = resets = 0;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), scale_new(3, 4));
    adz_sequential_append(m, adz_module_keep(adz_module_child(m, "0")));
    adz_module_set_parameter(
        adz_module_child(m, "1"), "weight", adz_module_parameter(m, "0.weight"));
    adz_module_add_buffer(adz_module_child(m, "1"), "b", adz_ones(ADZ_SHAPE(2), ADZ_I64), false);
    adz_module_eval(adz_module_child(m, "1"));
    adz_requires_grad_(adz_module_parameter(m, "0.weight"), false);
    adz_module *copy = adz_module_copy(m);
    adz_tensor *old = adz_module_parameter(m, "0.weight");
    adz_tensor *new = adz_module_parameter(copy, "0.weight");
    assert_ptr_not_equal(old, new);
    assert_ptr_equal(new, adz_module_parameter(copy, "1.weight"));
    assert_ptr_equal(adz_module_child(copy, "0"), adz_module_child(copy, "2"));
    assert_false(adz_tensor_requires_grad(new));
    assert_false(adz_module_is_training(adz_module_child(copy, "1")));
    assert_true(adz_module_is_training(copy));
    adz_state *dict = adz_module_state_dict(copy);
    assert_int_equal(adz_state_count(dict), 3); /* the buffer is not persistent there either */
    adz_state_free(&dict);
    const scale_state *a = adz_module_state(adz_module_child(m, "1"));
    const scale_state *b = adz_module_state(adz_module_child(copy, "1"));
    assert_true(b->factor == 4);
    assert_string_equal(b->text, "text");
    assert_ptr_not_equal(a->text, b->text);
    fill(new, 5);
    assert_true(all_are(old, 1));
    adz_module_free(&m);
    assert_int_equal(adz_module_num_parameters(copy), 3);
    adz_module_free(&copy);
    assert_int_equal(destroyed, 4);
}

/* ---- printing ------------------------------------------------------------------------------- */

static void trees_print_as_in_pytorch(void **state)
{
    (void)state;
    adz_module *inner = outer_new(), *m = outer_new();
    adz_module_add_child(inner, "scale", scale_new(3, 2));
    adz_module *list = adz_module_list_new(NULL, 0);
    adz_module_list_append(list, scale_new(1, 1));
    adz_module_list_append(list, scale_new(2, 1));
    adz_module_list_append(list, scale_new(2, 3));
    adz_module_add_child(m, "inner", inner);
    adz_module_add_child(m, "list", list);
    adz_module_add_child(m, "empty", ADZ_SEQUENTIAL(adz_identity_new()));
    static const char expected[] = "Outer(\n"
                                   "  (inner): Outer(\n"
                                   "    (scale): Scale(factor=2)\n"
                                   "  )\n"
                                   "  (list): ModuleList(\n"
                                   "    (0-1): 2 x Scale(factor=1)\n"
                                   "    (2): Scale(factor=3)\n"
                                   "  )\n"
                                   "  (empty): Sequential(\n"
                                   "    (0): Identity()\n"
                                   "  )\n"
                                   ")";
    char text[400], few[8];
    assert_int_equal(adz_module_to_string(m, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(adz_module_to_string(m, few, sizeof few), strlen(expected));
    assert_string_equal(few, "Outer(\n");
    FILE *file = tmpfile();
    assert_int_equal(adz_module_print(m, file), ADZ_OK);
    assert_int_equal(ftell(file), (long)strlen(expected) + 1);
    fclose(file);
    adz_module_free(&m);
}

/* ---- refused memory ------------------------------------------------------------------------- */

/* Everything above once; returns whether all of it worked. */
static bool exercise(void)
{
    bool good = false;
    adz_module *m = ADZ_SEQUENTIAL(scale_new(3, 2), ADZ_SEQUENTIAL(scale_new(3, 4)));
    adz_scope *scope = adz_scope_open();
    adz_module *copy = m != NULL ? adz_module_copy(m) : NULL;
    adz_state *dict = m != NULL ? adz_module_state_dict(m) : NULL;
    adz_values *in = adz_values_new(), *out = adz_values_new();
    char text[300];
    if (copy != NULL && dict != NULL && scope != NULL &&
        adz_module_load_state_dict(copy, dict, true) == ADZ_OK &&
        adz_module_to(copy, ADZ_F64) == ADZ_OK && adz_module_parameters(copy).count == 2 &&
        adz_values_add(in, "", adz_ones(ADZ_SHAPE(2, 3), ADZ_F64)) == ADZ_OK &&
        adz_module_call(copy, in, out) == ADZ_OK &&
        adz_backward(adz_mean(adz_values_at(out, 0), ADZ_ALL_DIMS, ADZ_DROPDIM)) == ADZ_OK &&
        adz_module_to(copy, ADZ_F32) == ADZ_OK &&
        adz_module_to_string(copy, text, sizeof text) > 0) {
        good = adz_module_set_child(m, "0", scale_new(2, 2)) != NULL;
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_state_free(&dict);
    adz_module_free(&copy);
    adz_module_free(&m);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_leaks_nothing(void **state)
{
    (void)state;
    int points = refuse_each_request(exercise);
    printf("%d failure points\n", points);
    assert_true(points > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(references_are_counted),
        TEST(a_child_is_taken_over_even_on_failure),
        TEST(entries_are_checked),
        TEST(listings_follow_the_structure),
        TEST(a_call_hands_only_its_result_outward),
        TEST(lists_carry_names_and_absent_values),
        TEST(errors_carry_the_path),
        TEST(modes_reach_the_whole_tree),
        TEST(dtypes_change_in_place),
        TEST(states_load_all_or_nothing),
        TEST(a_load_counts_as_a_change),
        TEST(copies_share_nothing_and_keep_ties),
        TEST(trees_print_as_in_pytorch),
        TEST(refused_memory_leaks_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
