/* Calls: results, named values, and errors with the path of the module. */
#include "nn/module.h"
#include "../../temporary.h"
#include "scale.h"
#include "tests.h"

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
        adz_module *identity = adz_module_get_child(m, "2");
        before = adzi_live_tensors();
        assert_ptr_equal(adz_module_forward(identity, x), x);
        assert_int_equal(adzi_live_tensors(), before);
    }
    adz_tensor *loss = adz_mean(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_backward(loss), ADZ_OK);
    adz_tensor *grad = adz_tensor_grad(adz_module_get_parameter(m, "1.weight"));
    assert_true(HOLDS(grad, 1e-6, 10.0 / 3, 10.0 / 3, 10.0 / 3));
    assert_int_equal(adz_module_fill_grad_zero(m), ADZ_OK);
    assert_true(all_are(grad, 0));
    assert_int_equal(adz_module_zero_grad(m), ADZ_OK);
    assert_null(adz_tensor_grad(adz_module_get_parameter(m, "1.weight")));
    adz_module_release(&m);
}

/* A list of values refuses names that are too long, missing pointers, positions beyond its end and,
 * when memory is refused, more values. After adz_values_free no memory of it is left. */
static void lists_are_freed_and_refuse(void **state)
{
    (void)state;
    adz_tensor *a = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    const int64_t before = adzi_live_bytes();
    adz_values *values = adz_values_new();
    char name[ADZ_VALUE_NAME + 2] = "";
    memset(name, 'n', ADZ_VALUE_NAME);
    assert_int_equal(adz_values_add(values, name, a), ADZ_OK);
    assert_ptr_equal(adz_values_get(values, name), a);
    name[ADZ_VALUE_NAME] = 'n';
    assert_int_equal(adz_values_add(values, name, a), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "is longer than 39 characters");
    expect_null(adz_values_add(NULL, "a", a) == ADZ_ERR_NULL, "adz_values_add", "values");
    expect_null(adz_values_add(values, "a", NULL) == ADZ_ERR_NULL, "adz_values_add", "t");
    expect_null(adz_values_name_at(NULL, 0) == NULL, "adz_values_name_at", "values");
    assert_null(adz_values_name_at(values, 1));
    expect_error(ADZ_ERR_INDEX, "there is no value 1, only 1");
    expect_null(adz_values_at(NULL, 0) == NULL, "adz_values_at", "values");
    expect_null(adz_values_get(NULL, "a") == NULL, "adz_values_get", "values");
    expect_null(adz_values_get(values, NULL) == NULL, "adz_values_get", "name");
    expect_null(adz_values_argument(NULL, 0, "a") == NULL, "adz_values_argument", "values");
    expect_null(adz_values_argument(values, 0, NULL) == NULL, "adz_values_argument", "name");
    adzi_alloc_fail_at(1);
    adz_status status = ADZ_OK;
    size_t count = 0;
    while (status == ADZ_OK) {
        count = adz_values_count(values);
        status = adz_values_add(values, NULL, a);
    }
    adzi_alloc_fail_at(0);
    assert_int_equal(status, ADZ_ERR_MEMORY);
    expect_error(ADZ_ERR_MEMORY, "adz_values_add: memory was refused");
    assert_int_equal(count, ADZI_FEW_VALUES); /* So many fit without more memory. */
    assert_int_equal(adz_values_count(values), count);
    for (int i = 0; i < 3 * ADZI_FEW_VALUES; ++i) {
        assert_int_equal(adz_values_add(values, NULL, a), ADZ_OK);
    }
    for (size_t i = 0; i < adz_values_count(values); ++i) {
        assert_ptr_equal(adz_values_at(values, i), a);
        assert_int_equal(strlen(adz_values_name_at(values, i)), i == 0 ? ADZ_VALUE_NAME : 0);
    }
    adz_values_free(&values);
    assert_null(values);
    adz_values_free(&values);
    adz_values_free(NULL);
    assert_int_equal(adzi_live_bytes(), before);
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
    assert_true(all_are(adz_values_get(out, "difference"), 2));
    assert_string_equal(adz_values_name_at(out, 2), "difference");
    assert_ptr_equal(adz_values_get(out, "nothing"), ADZ_NONE);
    assert_ptr_equal(adz_values_at(out, 9), ADZ_NONE);

    adz_values_clear(out);
    adz_values_clear(in);
    adz_values_add(in, "", a); /* by position; b is absent */
    before = adzi_live_tensors();
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_int_equal(adzi_live_tensors(), before + 2); /* The zeros instead of b are gone. */
    assert_true(alike(adz_values_at(out, 0), a, 0));
    assert_true(alike(adz_module_forward(m, a), a, 0)); /* the first result */

    /* A failed call leaves the results unchanged. */
    assert_int_equal(adz_values_add(out, "sum", a), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "called sum already");
    /* There is a result "sum" already. */
    assert_int_equal(adz_module_call(m, in, out), ADZ_ERR_ARGUMENT);
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
    adz_module_release(&one);
    adz_module_release(&m);
}

/* Fails after its first result, and says why only if it is given two tensors. */
static adz_status half_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_status status = adz_values_add(out, "half", adz_neg(adz_values_at(in, 0)));
    return status != ADZ_OK           ? status
           : adz_values_count(in) < 2 ? ADZ_ERR_ARGUMENT
                                      : adz_values_add(out, "", NULL);
}

static const adz_module_type half_type = {
    .size = sizeof(adz_module_type), .name = "Half", .call = half_call
};

static void half_a_result_is_none(void **state)
{
    (void)state;
    adz_module *m = adz_module_new(&half_type, 0);
    adz_tensor *a = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", a);
    adz_values_add(out, "before", a);
    int64_t before = adzi_live_tensors();
    for (int says = 0; says < 2; ++says) {
        adz_status code = says ? ADZ_ERR_NULL : ADZ_ERR_ARGUMENT;
        assert_int_equal(adz_module_call(m, in, out), code);
        expect_error(code, says ? "t is NULL" : "Half: the call failed without saying why");
        assert_int_equal(adz_values_count(out), 1);
        assert_ptr_equal(adz_values_at(out, 0), a);
        assert_ptr_equal(adz_values_get(out, "half"), ADZ_NONE);
        assert_int_equal(adzi_live_tensors(), before);
        adz_values_add(in, "", a);
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

static adz_status empty_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    (void)in;
    (void)out;
    return ADZ_OK;
}

static const adz_module_type empty_type = {
    .size = sizeof(adz_module_type), .name = "Empty", .call = empty_call
};

static void a_forward_needs_a_result(void **state)
{
    (void)state;
    adz_module *m = adz_module_new(&empty_type, 0);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2), ADZ_F32)));
    expect_error(ADZ_ERR_STATE, "Empty: the call has no result");
    adz_module_release(&m);
}

/* Each module in a module takes a frame, for which memory may be refused. The thread keeps the
 * memory for frames. */
static void refused_frames_are_said(void **state)
{
    (void)state;
    enum { DEPTH = 300 };
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32), *y = NULL;
    adz_module *m = adz_identity_new();
    for (int i = 0; i < DEPTH; ++i) {
        m = ADZ_SEQUENTIAL(m);
    }
    int refused = 0;
    for (int n = 1; y == NULL; ++n) {
        adzi_alloc_fail_at(n);
        y = adz_module_forward(m, x);
        adzi_alloc_fail_at(0);
        if (y == NULL) {
            expect_error(ADZ_ERR_MEMORY, "memory was refused");
            ++refused;
        }
        assert_int_equal(adzi_self()->n_frames, 0);
    }
    assert_true(refused >= 1);
    assert_ptr_equal(y, x);
    adz_module_release(&m);
}

/* Makes more tensors than it hands out, the first of which is its input. */
static adz_status many_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adz_tensor *x = adz_values_at(in, 0);
    adz_status status = adz_values_add(out, "", x);
    for (int i = 0; i < 3 * ADZI_FEW_VALUES && status == ADZ_OK; ++i) {
        status = adz_values_add(out, "", adz_neg(adz_neg(x)));
    }
    return status;
}

static const adz_module_type many_type = {
    .size = sizeof(adz_module_type), .name = "Many", .call = many_call
};

static void many_results_leave_nothing_behind(void **state)
{
    (void)state;
    adz_module *m = adz_module_new(&many_type, 0);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", x);
    assert_ptr_equal(adz_module_forward(m, x), x);
    int64_t tensors = adzi_live_tensors(), bytes = adzi_live_bytes();
    assert_ptr_equal(adz_module_forward(m, x), x);
    assert_true(adzi_live_tensors() == tensors && adzi_live_bytes() == bytes);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_int_equal(adzi_live_tensors(), tensors + 3 * ADZI_FEW_VALUES);
    assert_int_equal(adzi_self()->n_frames, 0);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

static void lists_of_a_call_are_checked(void **state)
{
    (void)state;
    static const char op[] = "adz_module_call";
    adz_module *m = adz_identity_new();
    adz_values *in = adz_values_new(), *out = adz_values_new();
    expect_null(adz_module_call(NULL, in, out) == ADZ_ERR_NULL, op, "module");
    expect_null(adz_module_call(m, NULL, out) == ADZ_ERR_NULL, op, "in");
    expect_null(adz_module_call(m, in, NULL) == ADZ_ERR_NULL, op, "out");
    assert_int_equal(adz_module_call(m, in, in), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "adz_module_call: in and out are one list");
    adz_module_release(&m);
    m = scale_new(3, 1);
    assert_int_equal(adz_module_call(m, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "Scale: takes a tensor, but none is given");
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

typedef struct other_parameters {
    adz_module *module;
    adz_values *parameters, *in, *out;
} other_parameters;

static adz_status call_with_others(void *user)
{
    const other_parameters *o = user;
    adz_scope *scope = adz_scope_open();
    adz_values_clear(o->out);
    adz_status status = adz_module_functional_call(o->module, o->parameters, o->in, o->out);
    adz_values_clear(o->out);
    adz_scope_close(scope);
    return status;
}

static void refused_memory_exchanges_no_parameter(void **state)
{
    (void)state;
    adz_tensor *w = adz_full(ADZ_SHAPE(3), 7, ADZ_F32);
    other_parameters o = { scale_new(3, 2), adz_values_new(), adz_values_new(), adz_values_new() };
    adz_tensor *own = adz_module_get_parameter(o.module, "weight");
    adz_values_add(o.parameters, "weight", w);
    adz_values_add(o.in, "", adz_ones(ADZ_SHAPE(3), ADZ_F32));
    expect_null(adz_module_functional_call(NULL, o.parameters, o.in, o.out) == ADZ_ERR_NULL,
        "adz_module_functional_call", "module");
    expect_null(adz_module_functional_call(o.module, NULL, o.in, o.out) == ADZ_ERR_NULL,
        "adz_module_functional_call", "parameters");
    assert_true(refuse_each(call_with_others, NULL, &o) >= 2);
    assert_ptr_equal(adz_module_get_parameter(o.module, "weight"), own);
    adz_values_free(&o.parameters);
    adz_values_free(&o.in);
    adz_values_free(&o.out);
    adz_module_release(&o.module);
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
    assert_null(adz_module_forward(adz_module_get_child(m, "encoder.1"), x));
    expect_error(ADZ_ERR_SHAPE, "scale: mul: ");
    assert_non_null(
        adz_module_set_child(adz_module_get_child(m, "encoder"), "0", adz_identity_new()));
    const adz_scope *scope = adzi_self()->scope;
    for (int i = 0; i < 3; ++i) { /* The scopes that the failing forward left open are closed. */
        assert_null(adz_module_forward(m, x));
        assert_ptr_equal(adzi_self()->scope, scope);
        assert_false(scope->inner->open);
        assert_int_equal(strncmp(adz_error_message(), "encoder.1.scale: mul: ", 22), 0);
        adz_error_clear();
    }
    assert_null(adz_mul(x, adz_ones(ADZ_SHAPE(3), ADZ_F32)));
    assert_int_equal(strncmp(adz_error_message(), "mul: ", 5), 0);
    adz_error_clear();
    /* A child of two parents is named by the parent that calls it. */
    adz_module *third = ADZ_SEQUENTIAL(adz_module_keep(adz_module_get_child(m, "encoder.1.scale")));
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_SHAPE, "encoder.1.scale: mul: ");
    assert_null(adz_module_forward(third, x));
    expect_error(ADZ_ERR_SHAPE, "0: mul: ");
    adz_module_release(&third);
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
    adz_module_release(&silent);
    adz_module_release(&list);
    adz_module_release(&m);
}

static jmp_buf out;

static adz_tensor *jumping_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    (void)x;
    longjmp(out, 1);
}

static const adz_module_type jumping_type = {
    .size = sizeof(adz_module_type), .name = "Jumping", .forward = jumping_forward
};

/* The frames of calls that were left stay for a while, but name no module that has ended. */
static void frames_forget_modules(void **state)
{
    (void)state;
    static adz_module *m;
    m = ADZ_SEQUENTIAL(adz_module_new(&jumping_type, 0));
    const void *gone[] = { m, adz_module_get_child(m, "0") };
    adz_tensor *x = adz_ones(ADZ_SHAPE(1), ADZ_F32);
    if (setjmp(out) == 0) {
        adz_module_forward(m, x);
        fail_msg("the forward has not jumped");
    }
    const adzi_thread *thread = adzi_self();
    assert_int_equal(thread->n_frames, 2);
    assert_true(thread->frames[0].owner == gone[0] && thread->frames[1].owner == gone[1]);
    adz_module_release(&m);
    for (size_t i = 0; i < thread->n_frames; ++i) {
        assert_null(thread->frames[i].owner);
    }
}

int calls_tests(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_call_hands_only_its_result_outward),
        TEST(lists_carry_names_and_absent_values),
        TEST(lists_are_freed_and_refuse),
        TEST(half_a_result_is_none),
        TEST(a_forward_needs_a_result),
        TEST(refused_frames_are_said),
        TEST(many_results_leave_nothing_behind),
        TEST(lists_of_a_call_are_checked),
        TEST(refused_memory_exchanges_no_parameter),
        TEST(errors_carry_the_path),
        TEST(frames_forget_modules),
    };
    return cmocka_run_group_tests_name("module: calls", tests, NULL, NULL);
}
