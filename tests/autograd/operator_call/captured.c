/* Plans of functions that call operators of the program: the bits of ordinary calls, or an error
 * that names the operator. */
#include "common.h"

enum { ROWS = 5, FEATURES = 3, WIDTH = 4 };

/* How the step computes the cube of what a layer has computed. */
typedef adz_tensor *(*cube_function)(adz_tensor *x);

typedef struct {
    adz_module *first, *second;
    adz_optimizer *optimizer;
    adz_tensor *x, *target;
    cube_function cube;
} trainee;

static trainee begin(cube_function f)
{
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(3);
    trainee t = { .first = adz_linear_new(FEATURES, WIDTH, NULL),
        .second = adz_linear_new(ROWS, 2, NULL),
        .x = adz_keep(adz_zeros(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32)),
        .target = adz_keep(adz_zeros(ADZ_SHAPE(WIDTH, 2), ADZ_F32)),
        .cube = f };
    adz_tensor *parameters[4];
    for (size_t i = 0; i < 4; ++i) {
        parameters[i] = adz_module_parameter_at(i < 2 ? t.first : t.second, i % 2);
    }
    t.optimizer = adz_sgd_new(adz_tensor_list_of(parameters, 4), 0.05, NULL);
    assert_non_null(t.optimizer);
    adz_scope_close(scope);
    return t;
}

static void end(trainee *t)
{
    adz_release(&t->x);
    adz_release(&t->target);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->first);
    adz_module_release(&t->second);
}

/* The cube of a transposed result of a layer, as every step computes it from other contents. */
static adz_tensor *step(void *user)
{
    trainee *t = user;
    adz_tensor *h = adz_transpose(adz_module_forward(t->first, t->x), 0, 1);
    h = adz_module_forward(t->second, t->cube(h));
    adz_tensor *loss = adz_mse_loss(h, t->target, ADZ_REDUCE_MEAN);
    if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(t->optimizer) != ADZ_OK ||
        adz_optimizer_zero_grad(t->optimizer) != ADZ_OK) {
        return NULL;
    }
    return loss;
}

/* Row k of the data. */
static void write_batch(trainee *t, int k)
{
    float x[ROWS * FEATURES], target[WIDTH * 2];
    for (int i = 0; i < ROWS * FEATURES; ++i) {
        x[i] = (float)((i * 7 + k * 5) % 11 - 5) / 5;
    }
    for (int i = 0; i < WIDTH * 2; ++i) {
        target[i] = (float)((i * 3 + k) % 7 - 3) / 3;
    }
    assert_int_equal(adz_tensor_write(t->x, x, sizeof x), ADZ_OK);
    assert_int_equal(adz_tensor_write(t->target, target, sizeof target), ADZ_OK);
}

static void ordinary_steps(trainee *t, int from, int to)
{
    for (int k = from; k < to; ++k) {
        adz_scope *scope = adz_scope_open();
        write_batch(t, k);
        assert_non_null(step(t));
        adz_scope_close(scope);
    }
}

/* Makes `before` ordinary steps, then a plan, and compares 12 runs with ordinary steps. */
static void expect_equal_steps(cube_function f, int before)
{
    trainee planned = begin(f), ordinary = begin(f);
    ordinary_steps(&planned, 0, before);
    ordinary_steps(&ordinary, 0, before);
    write_batch(&planned, before);
    adz_plan *plan = adz_plan_new(step, &planned, NULL);
    if (plan == NULL) {
        fail_msg("%s", adz_error_message());
    }
    for (int k = before; k < before + 12; ++k) {
        adz_scope *scope = adz_scope_open();
        write_batch(&planned, k);
        write_batch(&ordinary, k);
        if (k > before && adz_plan_run(plan) != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
        assert_same_bits(adz_plan_output(plan), adz_detach(step(&ordinary)));
        assert_same_bits(adz_detach(adz_module_parameter_at(planned.first, 0)),
            adz_detach(adz_module_parameter_at(ordinary.first, 0)));
        adz_scope_close(scope);
    }
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(&plan);
    end(&planned);
    end(&ordinary);
}

/* The documented operator whose backward is that of its expression. */
static adz_tensor *derived_cube(adz_tensor *x)
{
    static adz_operator op;
    op = cube_operator;
    op.backward = NULL;
    return adz_operator_call(&op, &x, 1, NULL, NULL);
}

/* Without a kernel, the expression computes. */
static adz_tensor *expressed_cube(adz_tensor *x)
{
    static adz_operator op;
    op = cube_operator;
    op.kernels[ADZ_F32] = NULL;
    return adz_operator_call(&op, &x, 1, NULL, NULL);
}

/* Values that adze's operators compute may be recorded by adz_record, too. */
static adz_tensor *computed_cube(adz_tensor *x)
{
    adz_tensor *y;
    ADZ_NO_GRAD
    {
        y = adz_mul(adz_mul(x, x), x);
    }
    adz_record_options o = ADZ_RECORD_OPTIONS;
    o.saved_inputs = 1U << 0;
    return adz_record(&cube_operator, &x, 1, &y, 1, &o) == ADZ_OK ? y : NULL;
}

static void steps_of_a_plan_have_the_bits_of_ordinary_steps(void **state)
{
    (void)state;
    static const cube_function functions[] = { cube, derived_cube, expressed_cube, computed_cube };
    for (size_t i = 0; i < COUNT_OF(functions); ++i) {
        expect_equal_steps(functions[i], 0);
        expect_equal_steps(functions[i], 200);
    }
}

/* Bytes between the fields of the attributes mean nothing, and may differ from call to call. */
typedef struct {
    bool negative;
    double scale;
} padded;

static void padded_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const padded *at = call->attributes;
    const float *x = call->inputs[0].data;
    float *y = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = (float)(at->negative ? -at->scale : at->scale) * x[i];
    }
}

static adz_tensor *scaled(void *user)
{
    static const adz_field fields[] = {
        { .name = "negative", .kind = ADZ_FIELD_BOOL, .offset = offsetof(padded, negative) },
        { .name = "scale", .kind = ADZ_FIELD_F64, .offset = offsetof(padded, scale) },
    };
    static const adz_operator op = { .size = sizeof(adz_operator),
        .name = "scaled",
        .kernels = { [ADZ_F32] = padded_f32 },
        .units = ADZ_UNITS_ELEMENTS,
        .attributes_size = sizeof(padded),
        .fields = fields,
        .n_fields = COUNT_OF(fields) };
    static int calls;
    padded at;
    adz_tensor *x = user;
    memset(&at, ++calls, sizeof at);
    at.negative = true;
    at.scale = 0.5;
    return adz_operator_call(&op, &x, 1, &at, NULL);
}

static void attributes_of_a_plan(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_plan *plan = adz_plan_new(scaled, x, NULL);
    for (int k = 0; k < 4; ++k) {
        adz_copy_(x, adz_randn(ADZ_SHAPE(3), ADZ_F32));
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_same_bits(adz_plan_output(plan), adz_mul_number(x, -0.5));
    }
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

/* A plan of a forward whose input is written between the runs, on several threads. */
static adz_tensor *forward(void *user)
{
    return cube(adz_mul_number(user, 2));
}

static void a_plan_of_a_forward(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_set_num_threads(3);
    adz_tensor *x = adz_ones(ADZ_SHAPE(150, 100), ADZ_F32);
    adz_plan *plan = adz_plan_new(forward, x, NULL);
    for (int k = 0; k < 5; ++k) {
        adz_copy_(x, adz_randn(ADZ_SHAPE(150, 100), ADZ_F32));
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_same_bits(adz_plan_output(plan), forward(x));
    }
    adz_plan_free(&plan);
    adz_set_num_threads(0);
    adz_scope_close(scope);
}

/* ---- what cannot be replayed ---------------------------------------------------------------- */

/* The program computes the values, as operators without a kernel do: by pointers that it takes. */
static adz_tensor *host_cube(adz_tensor *x)
{
    adz_tensor *in = adz_contiguous(x), *y = adz_empty_like(in);
    const float *from = adz_tensor_data_constant(in);
    float *to = adz_tensor_data_f32(y);
    for (int64_t i = 0; from != NULL && to != NULL && i < adz_tensor_numel(y); ++i) {
        to[i] = from[i] * from[i] * from[i];
    }
    adz_record_options o = ADZ_RECORD_OPTIONS;
    o.saved_inputs = 1U << 0;
    return adz_record(&cube_operator, &x, 1, &y, 1, &o) == ADZ_OK ? y : NULL;
}

/* A launch reads the values before they are recorded. */
static adz_tensor *read_cube(adz_tensor *x)
{
    adz_tensor *y = adz_empty_like(x);
    float *to = adz_tensor_data_f32(y);
    for (int64_t i = 0; to != NULL && i < adz_tensor_numel(y); ++i) {
        to[i] = (float)i;
    }
    adz_mul(y, y);
    return adz_record(&cube_operator, &x, 1, &y, 1, NULL) == ADZ_OK ? y : NULL;
}

/* The program writes into a tensor that lives longer than the function. */
static adz_tensor *outside;

static adz_tensor *outside_cube(adz_tensor *x)
{
    adz_tensor *y = adz_reshape(outside, adz_tensor_shape(x));
    return adz_record(&cube_operator, &x, 1, &y, 1, NULL) == ADZ_OK ? y : NULL;
}

static void expect_refused(cube_function f, int before, const char *says)
{
    trainee t = begin(f);
    ordinary_steps(&t, 0, before);
    write_batch(&t, before);
    adz_plan *plan = adz_plan_new(step, &t, NULL);
    assert_null(plan);
    expect_error(ADZ_ERR_STATE, says);
    end(&t);
}

static void values_of_the_program_are_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    outside = adz_ones(ADZ_SHAPE(ROWS * WIDTH), ADZ_F32);
    expect_refused(outside_cube, 0,
        "cube: cannot be captured, because the program has computed result 0[4, 5] itself, and each run of the plan would repeat these values; give the operator a kernel and call it by adz_operator_call");
    expect_refused(read_cube, 0, "cube: cannot be captured");
    for (int before = 0; before <= 200; before += 200) {
        expect_refused(host_cube, before, "captured if adz_operator_call runs it as a kernel");
    }
    adz_scope_close(scope);
}

/* Operators and attributes that differ from call to call make no plan, or one that is right. */
typedef struct {
    adz_tensor *x;
    int calls;
    bool kernels; /* the operators differ, and not only the attributes */
} changing;

typedef struct {
    int64_t n;
} power_attributes;

static void power_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const power_attributes *at = call->attributes;
    const float *x = call->inputs[0].data;
    float *y = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = 1;
        for (int64_t k = 0; k < at->n; ++k) {
            y[i] *= x[i];
        }
    }
}

static void negative_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *x = call->inputs[0].data;
    float *y = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = -x[i];
    }
}

static adz_tensor *change(void *user)
{
    static const adz_field fields[] = { { .name = "n", .kind = ADZ_FIELD_I64 } };
    static const adz_operator power = { .size = sizeof(adz_operator),
        .name = "power",
        .kernels = { [ADZ_F32] = power_f32 },
        .units = ADZ_UNITS_ELEMENTS,
        .attributes_size = sizeof(power_attributes),
        .fields = fields,
        .n_fields = 1 };
    static const adz_operator other = { .size = sizeof(adz_operator),
        .name = "power",
        .kernels = { [ADZ_F32] = negative_f32 },
        .units = ADZ_UNITS_ELEMENTS,
        .attributes_size = sizeof(power_attributes),
        .fields = fields,
        .n_fields = 1 };
    changing *c = user;
    const power_attributes at = { c->kernels ? 2 : c->calls };
    c->calls += 1;
    return adz_operator_call(
        c->kernels && c->calls % 2 == 0 ? &other : &power, &c->x, 1, &at, NULL);
}

static void what_differs_from_call_to_call(void **state)
{
    (void)state;
    for (int kernels = 0; kernels <= 1; ++kernels) {
        adz_scope *scope = adz_scope_open();
        changing c = { adz_full(ADZ_SHAPE(3), 2, ADZ_F32), 1, kernels != 0 };
        adz_plan *plan = adz_plan_new(change, &c, NULL);
        assert_non_null(plan);
        adz_status status = ADZ_OK;
        for (int run = 0; run < 6 && status == ADZ_OK; ++run) {
            changing next = c;
            status = adz_plan_run(plan);
            if (status == ADZ_OK) {
                assert_same_bits(adz_plan_output(plan), change(&next));
            }
        }
        assert_int_equal(status, ADZ_ERR_STATE);
        expect_error(ADZ_ERR_STATE, "power");
        adz_plan_free(&plan);
        adz_scope_close(scope);
    }
}

int captured_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_of_a_plan_have_the_bits_of_ordinary_steps),
        cmocka_unit_test(attributes_of_a_plan),
        cmocka_unit_test(a_plan_of_a_forward),
        cmocka_unit_test(values_of_the_program_are_refused),
        cmocka_unit_test(what_differs_from_call_to_call),
    };
    return run_group("operator_call: captured", tests, COUNT_OF(tests));
}
