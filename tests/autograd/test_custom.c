/* Operators of a user, source lines in messages, and the picture of a graph. */
#define _GNU_SOURCE /* open_memstream */
#define ADZ_SITES
#include "adze/adze.h"
#include "base/alloc.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../errors.h"

/* y = x^3, the example of adze/custom.h with its factor 3 as an attribute. */
typedef struct {
    double factor;
} cube_attributes;

static const adz_field cube_fields[] = { ADZ_FIELD(cube_attributes, factor) };

static adz_status cube_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adz_node_input_at(node, 0);
    const cube_attributes *attributes = adz_node_attributes(node);
    dx[0] = adz_mul(dy[0], adz_mul_number(adz_mul(x, x), attributes->factor));
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status wrong_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adz_node_input_at(node, 0);
    dx[0] = adz_mul(dy[0], adz_mul_number(adz_mul(x, x), -3));
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *cube(adz_tensor *x, adz_backward_function backward)
{
    static adz_operator op = {
        .size = sizeof(adz_operator), .name = "cube", .fields = cube_fields, .n_fields = 1
    };
    static const cube_attributes three = { 3 };
    op.backward = backward;
    adz_tensor *in = adz_contiguous(x), *y = adz_empty_like(in);
    if (y == NULL) {
        return NULL;
    }
    const double *from = adz_tensor_data_f64(in);
    double *to = adz_tensor_data_f64(y);
    for (int64_t i = 0; i < adz_tensor_numel(y); ++i) {
        to[i] = from[i] * from[i] * from[i];
    }
    adz_record_options o = ADZ_RECORD_OPTIONS;
    o.saved_inputs = 1u << 0;
    o.attributes = &three;
    o.attributes_size = sizeof three;
    return adz_record(&op, &x, 1, &y, 1, &o) == ADZ_OK ? y : NULL;
}

static int call_cube(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    (void)n;
    outputs[0] = cube(inputs[0], user == NULL ? cube_backward : wrong_backward);
    return outputs[0] != NULL;
}

static void a_custom_operator_passes_gradcheck(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 2), ADZ_F64), true);
    adz_gradcheck_function f = { call_cube, NULL };
    adz_gradcheck_report report;
    assert_int_equal(adz_gradcheck(&f, &x, 1, NULL, &report), ADZ_OK);
    assert_int_equal(report.elements, 36);
    assert_int_equal(adz_gradgradcheck(&f, &x, 1, NULL, NULL), ADZ_OK);
    adz_scope_close(scope);
}

/* y = 2 a + 3 b + 2 c. The backward returns one tensor as the gradient of a and of c. */
static adz_status shared_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = dx[2] = adz_mul_number(dy[0], 2);
    dx[1] = adz_mul_number(dy[0], 3);
    return dx[0] != NULL && dx[1] != NULL ? ADZ_OK : adz_error_code();
}

static void one_gradient_for_two_inputs_is_not_summed_into(void **state)
{
    (void)state;
    static const adz_operator op = {
        .size = sizeof(adz_operator), .name = "shared", .backward = shared_backward
    };
    adz_scope *scope = adz_scope_open();
    adz_tensor *u = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F64), true);
    adz_tensor *v = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F64), true);
    adz_tensor *inputs[] = { u, u, v }, *y = adz_full(ADZ_SHAPE(3), 7, ADZ_F64);
    assert_int_equal(adz_record(&op, inputs, 3, &y, 1, NULL), ADZ_OK);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    for (int i = 0; i < 3; ++i) {
        assert_true(adz_tensor_data_f64(adz_tensor_grad(u))[i] == 5);
        assert_true(adz_tensor_data_f64(adz_tensor_grad(v))[i] == 2);
    }
    adz_scope_close(scope);
}

static void a_wrong_sign_does_not(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 2, ADZ_F64), true);
    int wrong = 1;
    adz_gradcheck_function f = { call_cube, &wrong };
    adz_gradcheck_report report;
    assert_int_equal(adz_gradcheck(&f, &x, 1, NULL, &report), ADZ_ERR_NUMERIC);
    assert_non_null(strstr(adz_error_message(), "analytic -12"));
    assert_float_equal(report.analytic, -12, 1e-6);
    assert_float_equal(report.numeric, 12, 1e-6);
    adz_error_clear();
    adz_gradcheck_options o = ADZ_GRADCHECK_OPTIONS;
    o.eps = 0;
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, NULL), ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "eps is 0, but must be"));
    adz_error_clear();
    o = (adz_gradcheck_options){ sizeof o, 1e-6, NAN, 1e-3, 0, 0 };
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, NULL), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_scope_close(scope);
}

static int call_tanh(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    (void)n, (void)user;
    outputs[0] = adz_tanh(inputs[0]);
    return outputs[0] != NULL;
}

static double tanh_of(double x)
{
    return adz_item(adz_tanh(adz_scalar(x, ADZ_F64)));
}

/* The report of a check that passes names an error as well. Most derivatives of this function are 0
 * and have no error. */
static void the_report_names_the_error_that_is_closest_to_failing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_tensor_from((double[]){ 0.5, 1, -2 }, ADZ_SHAPE(3), ADZ_F64);
    adz_requires_grad_(x, true);
    adz_gradcheck_function f = { call_tanh, NULL };
    adz_gradcheck_options o = ADZ_GRADCHECK_OPTIONS;
    adz_gradcheck_report report;
    o.eps = 1e-3; /* makes an error of eps^2 / 6 times the third derivative, which is visible */
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, &report), ADZ_OK);
    assert_int_equal(report.elements, 9);
    assert_int_equal(report.nonzero, 3);
    assert_int_equal(report.index, report.output_index);
    assert_true(report.analytic != 0 && report.error > 0);
    assert_true(report.error == fabs(report.analytic - report.numeric));
    double allowed[3], error[3], worst = 0;
    for (int64_t i = 0; i < 3; ++i) {
        double value = adz_tensor_at(x, &i), y = tanh_of(value), slope = 1 - y * y;
        double numeric = (tanh_of(value + o.eps) - tanh_of(value - o.eps)) / (2 * o.eps);
        allowed[i] = o.atol + o.rtol * fabs(numeric);
        error[i] = fabs(slope - numeric);
        worst = error[i] / allowed[i] > worst ? error[i] / allowed[i] : worst;
    }
    assert_true(fabs(error[report.index] / allowed[report.index] / worst - 1) < 1e-6);
    o.atol = o.rtol = 0;
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, &report), ADZ_ERR_NUMERIC);
    adz_error_clear();
    assert_true(report.error > 0);
    adz_scope_close(scope);
}

/* ---- kernels for f32 alone ------------------------------------------------------------------ */

/* y = 3 x with a kernel for f32 and adze's operators for f64. */
typedef struct {
    double forward, backward; /* the factors of the f32 kernel */
    adz_dtype result;         /* the dtype of the result for f32 inputs */
} tripler;

static double slope_of_triple;

static adz_status triple_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_mul_number(dy[0], slope_of_triple);
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static int call_triple(adz_tensor *const *inputs, size_t n, adz_tensor **outputs, void *user)
{
    static const adz_operator op = {
        .size = sizeof(adz_operator), .name = "triple", .backward = triple_backward
    };
    const tripler *t = user;
    (void)n;
    adz_tensor *x = inputs[0];
    if (adz_tensor_dtype(x) == ADZ_F64) {
        outputs[0] = adz_mul_number(x, 3);
        return outputs[0] != NULL;
    }
    if (t->result != ADZ_F32) {
        outputs[0] = adz_mul_number(adz_to(x, t->result), 3);
        return outputs[0] != NULL;
    }
    adz_tensor *y = adz_empty_like(x);
    for (int64_t i = 0; i < adz_tensor_numel(x); ++i) {
        adz_tensor_data_f32(y)[i] = (float)t->forward * adz_tensor_data_f32(x)[i];
    }
    slope_of_triple = t->backward;
    outputs[0] = y;
    return adz_record(&op, &x, 1, &y, 1, NULL) == ADZ_OK;
}

static void a_kernel_for_f32_alone_is_checked(void **state)
{
    (void)state;
    static const struct {
        tripler t;
        adz_status status;
        const char *says;
        int64_t index;
    } cases[] = {
        { { 3, 3, ADZ_F32 }, ADZ_OK, NULL, 0 },
        { { 3, -3, ADZ_F32 }, ADZ_ERR_NUMERIC, "derivative -3, but 3 in f64: difference 6", 1 },
        { { 3.001, 3, ADZ_F32 }, ADZ_ERR_NUMERIC, "in f32, output 0, element 1 is ", -1 },
        { { 3, NAN, ADZ_F32 }, ADZ_ERR_NUMERIC, "but 3 in f64", 0 },
        { { 3, 3, ADZ_F64 }, ADZ_ERR_ARGUMENT, "is float64 for f32 inputs", 0 },
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        adz_scope *scope = adz_scope_open();
        tripler t = cases[i].t;
        adz_tensor *x = adz_tensor_from((double[]){ 0.1, -70 }, ADZ_SHAPE(2), ADZ_F64);
        adz_requires_grad_(x, true);
        adz_gradcheck_function f = { call_triple, &t };
        adz_gradcheck_options o = ADZ_GRADCHECK_OPTIONS;
        adz_gradcheck_report report;
        assert_int_equal(adz_gradcheck(&f, &x, 1, &o, &report), ADZ_OK); /* checks f64 only */
        assert_int_equal(report.elements, 4);
        o.f32_tolerance = 1e-4;
        assert_int_equal(adz_gradcheck(&f, &x, 1, &o, &report), cases[i].status);
        if (cases[i].says != NULL && strstr(adz_error_message(), cases[i].says) == NULL) {
            fail_msg("case %d: %s", (int)i, adz_error_message());
        }
        if (cases[i].status == ADZ_OK) {
            assert_int_equal(report.elements, 8);
        } else if (cases[i].status == ADZ_ERR_NUMERIC && cases[i].index != 0) {
            assert_true(report.error > 1e-4 && (report.index < 0) == (cases[i].index < 0));
        }
        adz_error_clear();
        adz_scope_close(scope);
    }
}

static void the_f32_run_leaves_inputs_as_they_are(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    tripler t = { 3, 3, ADZ_F32 };
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), true);
    adz_tensor *before = adz_clone(adz_detach(x));
    adz_gradcheck_function f = { call_triple, &t };
    adz_gradcheck_options o = ADZ_GRADCHECK_OPTIONS;
    o.f32_tolerance = 1e-4;
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, NULL), ADZ_OK);
    assert_true(adz_equal(adz_detach(x), before));
    assert_null(adz_tensor_grad(x));
    o.f32_tolerance = NAN;
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, NULL), ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "f32_tolerance"));
    adz_error_clear();
    o.size = offsetof(adz_gradcheck_options, f32_tolerance); /* of a caller that does not know it */
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, NULL), ADZ_OK);
    adz_scope_close(scope);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_operator op = { .size = sizeof op, .name = "mine", .backward = wrong_backward };
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
    adz_tensor *y = adz_mul(x, x);
    assert_int_equal(adz_record(&op, &x, 1, &y, 1, NULL), ADZ_ERR_GRAPH);
    adz_error_clear();
    y = adz_zeros_like(x);
    assert_int_equal(adz_record(&op, &x, 0, &y, 1, NULL), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_int_equal(adz_record(&op, &x, 1, &y, 1, NULL), ADZ_OK);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_GRAPH);
    assert_non_null(strstr(adz_error_message(), "mine: input 0 was not saved"));
    adz_error_clear();
    adz_scope_close(scope);
}

/* A table that does not fit the attributes, or that is wrong in itself, is refused. */
static void tables_of_fields_are_checked(void **state)
{
    (void)state;
    static const struct {
        adz_field field;
        const char *says;
    } cases[] = {
        { { .name = "a", .kind = ADZ_FIELD_F64 }, NULL },
        { { .name = "a", .kind = ADZ_FIELD_F64, .offset = 8, .count = 1 }, NULL },
        { { .name = "a", .kind = ADZ_FIELD_F64, .count = 2 }, NULL },
        { { .name = "a", .kind = ADZ_FIELD_F64, .count = 3 }, "field a at byte 0 does not fit" },
        { { .name = "a", .kind = ADZ_FIELD_I64, .offset = 9 }, "field a at byte 9 does not fit" },
        { { .name = "a", .kind = ADZ_FIELD_BOOL, .offset = SIZE_MAX }, "which have 16 bytes" },
        { { .name = "a", .kind = ADZ_FIELD_INT, .count = SIZE_MAX }, "which have 16 bytes" },
        { { .kind = ADZ_FIELD_INT }, "field 0 of the operator has no name" },
        { { .name = "a", .kind = (adz_field_kind)-1 }, "an unknown kind" },
        { { .name = "a", .kind = (adz_field_kind)1000 }, "an unknown kind" },
        { { .name = "a", .kind = ADZ_FIELD_I64, .count = 1, .counted = true },
            "does not follow the int" },
    };
    static const double numbers[2] = { 1, 2 };
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
        adz_scope *inner = adz_scope_open(); /* its tensors' nodes point to `op` */
        adz_operator op = { .size = sizeof op,
            .name = "mine",
            .backward = wrong_backward,
            .fields = &cases[i].field,
            .n_fields = 1 };
        adz_tensor *y = adz_zeros_like(x);
        adz_record_options o = ADZ_RECORD_OPTIONS;
        o.attributes = numbers;
        o.attributes_size = sizeof numbers;
        assert_int_equal(
            adz_record(&op, &x, 1, &y, 1, &o), cases[i].says == NULL ? ADZ_OK : ADZ_ERR_ARGUMENT);
        if (cases[i].says != NULL && strstr(adz_error_message(), cases[i].says) == NULL) {
            fail_msg("case %d: %s", (int)i, adz_error_message());
        }
        adz_error_clear();
        op.size = offsetof(adz_operator, fields); /* of a caller that knows no fields */
        y = adz_zeros_like(x);
        assert_int_equal(adz_record(&op, &x, 1, &y, 1, &o), ADZ_OK);
        o.attributes = NULL;
        assert_int_equal(adz_record(&op, &x, 1, &y, 1, &o), ADZ_ERR_NULL);
        adz_error_clear();
        adz_scope_close(inner);
    }
    adz_scope_close(scope);
}

static adz_status backward_of_another_shape(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node, (void)dy;
    dx[0] = adz_ones(ADZ_SHAPE(5), ADZ_F64);
    return ADZ_OK;
}

static void a_wrong_gradient_names_the_call(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F64), true);
    adz_tensor *y = cube(x, backward_of_another_shape);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_SHAPE);
    assert_string_equal(adz_error_message(),
        "cube: the backward gave a gradient [5] for input 0, which has shape [2] (in the backward of cube(factor=3))");
    adz_error_clear();
    adz_scope_close(scope);
}

static void messages_name_the_line(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *a = adz_ones(ADZ_SHAPE(2), ADZ_F64), *b = adz_ones(ADZ_SHAPE(3), ADZ_F64);
    char where[64];
    snprintf(where, sizeof where, "test_custom.c:%d)", __LINE__ + 1);
    assert_null(adz_relu(adz_mul(a, b)));
    assert_non_null(strstr(adz_error_message(), where));
    adz_error_clear();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(1), 1e-300, ADZ_F64), true);
    snprintf(where, sizeof where, "test_custom.c:%d)", __LINE__ + 1);
    adz_tensor *y = adz_mul(x, adz_full(ADZ_SHAPE(1), 1e308, ADZ_F64));
    adz_tensor *up = adz_full(ADZ_SHAPE(1), 1e10, ADZ_F64);
    adz_set_anomaly_enabled(true);
    assert_int_equal(adz_autograd_backward(&y, &up, 1, NULL), ADZ_ERR_NUMERIC);
    adz_set_anomaly_enabled(false);
    assert_non_null(strstr(adz_error_message(), where));
    adz_error_clear();
    adz_scope_close(scope);
}

static void the_graph_is_written(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, 3), ADZ_F64), true);
    static adz_operator quoted = {
        .size = sizeof(adz_operator), .name = "a \"b\\", .backward = wrong_backward
    };
    adz_tensor *z = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F64), *c = cube(adz_mul(x, x), wrong_backward);
    assert_int_equal(adz_record(&quoted, &c, 1, &z, 1, NULL), ADZ_OK);
    adz_tensor *y = adz_sum(z, ADZ_ALL_DIMS, ADZ_DROPDIM);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(adz_graph_dot(y, stream), ADZ_OK);
    fclose(stream);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "label=\"mul\\n[2, 3]\""));
    assert_non_null(strstr(text, "label=\"cube(factor=3)\\n[2, 3]\""));
    assert_non_null(strstr(text, "label=\"a \\\"b\\\\\\n[2, 3]\""));
    assert_non_null(strstr(text, "label=\"sum(dim=[0, 1], keepdim=False)\\n[]\""));
    assert_non_null(strstr(text, "->"));
    free(text);
    FILE *full = fopen("/dev/full", "w");
    if (full != NULL) {
        assert_int_equal(adz_graph_dot(y, full), ADZ_ERR_IO);
        adz_error_clear();
        fclose(full);
    }
    adz_scope_close(scope);
}

static void what_is_alive_is_listed(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    assert_false(adz_set_debug(true));
    assert_true(adz_is_debug());
    adz_scope *inner = adz_scope_open();
    adz_tensor *gone = adz_ones(ADZ_SHAPE(5), ADZ_F32);
    adz_scope_close(inner);
    for (int i = 0; i < 100; ++i) {
        assert_non_null(adz_ones(ADZ_SHAPE(5), ADZ_F32)); /* must not reuse the header of `gone` */
    }
#ifndef ADZI_ASAN
    assert_null(adz_relu(gone));
    assert_int_equal(adz_error_code(), ADZ_ERR_OWNERSHIP);
    adz_error_clear();
#endif
    (void)gone;
    char where[64];
    adz_tensor *kept = adz_keep(adz_mul_number(adz_ones(ADZ_SHAPE(7, 3), ADZ_F64), 2));
    snprintf(where, sizeof where, "[7, 3], 2 references (1 kept) at");
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(adz_report_alive(stream), ADZ_OK);
    fclose(stream);
    assert_non_null(strstr(text, where));
    free(text);
    adz_release(&kept);
    assert_true(adz_set_debug(false));
    adz_scope_close(scope);
}

static void users_record_errors(void **state)
{
    (void)state;
    char op[] = "scale";
    assert_int_equal(adz_error_set(op, ADZ_ERR_SHAPE, "x[2] is too short"), ADZ_ERR_SHAPE);
    op[0] = 'S'; /* the name was copied */
    const char *name = adz_error_operator();
    assert_string_equal(name, "scale");
    expect_error(ADZ_ERR_SHAPE, "scale: x[2] is too short");
    assert_int_equal(adz_error_set(name, (adz_status)-99, "again"), ADZ_ERR_ARGUMENT);
    assert_int_equal(adz_error_set("scale", ADZ_OK, NULL), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "scale: again");
    assert_int_equal(adz_error_set(NULL, ADZ_ERR_IO, NULL), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "error: no reason was given");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_custom_operator_passes_gradcheck),
        cmocka_unit_test(a_wrong_sign_does_not),
        cmocka_unit_test(one_gradient_for_two_inputs_is_not_summed_into),
        cmocka_unit_test(the_report_names_the_error_that_is_closest_to_failing),
        cmocka_unit_test(a_kernel_for_f32_alone_is_checked),
        cmocka_unit_test(the_f32_run_leaves_inputs_as_they_are),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(tables_of_fields_are_checked),
        cmocka_unit_test(a_wrong_gradient_names_the_call),
        cmocka_unit_test(messages_name_the_line),
        cmocka_unit_test(the_graph_is_written),
        cmocka_unit_test(what_is_alive_is_listed),
        cmocka_unit_test(users_record_errors),
    };
    return cmocka_run_group_tests_name("custom", tests, NULL, NULL);
}
