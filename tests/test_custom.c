/* Operators from outside the library, source lines in messages, and the graph as a picture. */
#define _GNU_SOURCE /* open_memstream */
#define ADZ_SITES
#include "adze/adze.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* y = x^3, the example of adze/custom.h with a save of either kind */
static adz_status cube_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adz_node_input(node, 0);
    const double *factor = adz_node_attributes(node);
    dx[0] = adz_mul(dy[0], adz_mul_number(adz_mul(x, x), *factor));
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status wrong_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adz_node_input(node, 0);
    dx[0] = adz_mul(dy[0], adz_mul_number(adz_mul(x, x), -3));
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *cube(adz_tensor *x, adz_backward_function backward)
{
    static adz_operator op = { sizeof(adz_operator), "cube", NULL, NULL, NULL };
    static const double three = 3;
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

/* y = 2 a + 3 b + 2 c, where a's gradient and c's are one tensor. */
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
    static const adz_operator op = { sizeof(adz_operator), "shared", shared_backward, NULL, NULL };
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
    adz_scope_close(scope);
}

static void misuse_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_operator op = { sizeof op, "mine", wrong_backward, NULL, NULL };
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
    adz_set_detect_anomaly(true);
    assert_int_equal(adz_backward_with(&y, &up, 1, NULL), ADZ_ERR_NUMERIC);
    adz_set_detect_anomaly(false);
    assert_non_null(strstr(adz_error_message(), where));
    adz_error_clear();
    adz_scope_close(scope);
}

static void the_graph_is_written(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2, 3), ADZ_F64), true);
    adz_tensor *y = adz_sum(adz_mul(x, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    assert_int_equal(adz_graph_dot(y, stream), ADZ_OK);
    fclose(stream);
    assert_non_null(strstr(text, "digraph"));
    assert_non_null(strstr(text, "label=\"mul\\n[2, 3]\""));
    assert_non_null(strstr(text, "label=\"sum\\n[]\""));
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
    adz_scope *inner = adz_scope_open();
    adz_tensor *gone = adz_ones(ADZ_SHAPE(5), ADZ_F32);
    adz_scope_close(inner);
    for (int i = 0; i < 100; ++i) {
        assert_non_null(adz_ones(ADZ_SHAPE(5), ADZ_F32)); /* none of them takes its place */
    }
#if !defined(__SANITIZE_ADDRESS__)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_custom_operator_passes_gradcheck),
        cmocka_unit_test(a_wrong_sign_does_not),
        cmocka_unit_test(one_gradient_for_two_inputs_is_not_summed_into),
        cmocka_unit_test(misuse_is_refused),
        cmocka_unit_test(messages_name_the_line),
        cmocka_unit_test(the_graph_is_written),
        cmocka_unit_test(what_is_alive_is_listed),
    };
    return cmocka_run_group_tests_name("custom", tests, NULL, NULL);
}
