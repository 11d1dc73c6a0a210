/* test_onnx_read_sweep [OPERATOR...]: every operator, or those that are named, written as ONNX and
 * read again. The module that was read must give what the library gives. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/onnx.h"
#include "errors.h"
#include "export/onnx.h"
#include "export/sweep/sweep.h"
#include "groups.h"
#include "temporary.h"

static struct {
    size_t read, refused; /* of all operators */
    size_t faults;        /* of one */
} totals;

static void report(const sweep_case *c, const char *what)
{
    char description[200];
    sweep_describe(c, description, sizeof description);
    if (++totals.faults <= 20 || getenv("ADZE_SWEEP_ALL") != NULL) {
        fprintf(stderr, "%s: %s\n", description, what);
    }
}

/* A tensor as the reader takes it: halves become f32. */
static adz_tensor *converted(adz_tensor *t)
{
    switch (adz_tensor_dtype(t)) {
    case ADZ_F16:
    case ADZ_BF16:
        return adz_to(t, ADZ_F32);
    default:
        return t;
    }
}

static adz_tensor *run(adz_module *module, const sweep_case *c)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *y = NULL;
    for (size_t i = 0; i < c->n_inputs; ++i) {
        assert_int_equal(adz_values_add(in, "", converted(c->inputs[i])), ADZ_OK);
    }
    if (adz_module_call(module, in, out) == ADZ_OK) {
        y = adz_values_at(out, 0);
    }
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

static bool is_attention(const sweep_case *c)
{
    return strcmp(c->op->name, "scaled_dot_product_attention") == 0;
}

/* Rounding may differ where the file has another formula than the library. The exponential of
 * attention's scores, which are up to 400, magnifies it. */
static double tolerance_of(const sweep_case *c)
{
    return c->dtype == ADZ_F32 && is_attention(c)        ? 1e-4
           : c->dtype == ADZ_F64 && c->only < 0          ? 1e-9
           : c->dtype == ADZ_F16 || c->dtype == ADZ_BF16 ? 2e-2
                                                         : 2e-5;
}

/* A query whose scores are all -inf attends to no key: the library gives 0, Softmax of the file
 * NaN. */
static adz_tensor *without_keys(const sweep_case *c, adz_tensor *y, adz_tensor *expected)
{
    if (!is_attention(c)) {
        return y;
    }
    adz_tensor *none = adz_logical_and(adz_isnan(y), adz_eq_number(expected, 0));
    return adz_masked_fill(y, none, 0);
}

static void compare(adz_module *module, sweep_case *c)
{
    char says[1200];
    const int n = sweep_n_contents(c);
    for (int k = 0; k < n; ++k) {
        adz_scope *scope = adz_scope_open();
        sweep_fill(c, k);
        adz_tensor *expected = sweep_expected(c);
        adz_tensor *y = expected != NULL ? run(module, c) : NULL;
        if (expected != NULL && y == NULL) {
            char message[1000];
            adz_error_take(message, sizeof message);
            snprintf(says, sizeof says, "contents %d: %s", k, message);
            report(c, says);
        } else if (expected != NULL) {
            const double tolerance = tolerance_of(c);
            if (adz_tensor_dtype(y) != adz_tensor_dtype(converted(expected))) {
                snprintf(says, sizeof says, "the result is %s instead of %s",
                    adz_dtype_name(adz_tensor_dtype(y)),
                    adz_dtype_name(adz_tensor_dtype(converted(expected))));
                report(c, says);
            } else if (!adz_allclose(adz_to(without_keys(c, y, expected), ADZ_F64),
                           adz_to(expected, ADZ_F64), tolerance, tolerance, true)) {
                snprintf(says, sizeof says, "contents %d: %s and %s differ", k, adz_text_shape(y),
                    adz_text_shape(expected));
                report(c, says);
            }
        }
        adz_error_clear();
        adz_scope_close(scope);
    }
}

static void visit(sweep_case *c, void *user)
{
    const adzi_export what = {
        .function = sweep_call, .user = c, .inputs = { c->inputs, c->n_inputs }, .module = c->module
    };
    const char *path = temporary_path("case.onnx");
    (void)user;
    adz_scope *scope = adz_scope_open();
    if (adzi_write_onnx("adz_plan_write_onnx", &what, path, NULL) != ADZ_OK) {
        adz_error_clear(); /* test_onnx_sweep checks refusals of the writer */
        adz_scope_close(scope);
        return;
    }
    adz_module *module = adz_onnx_load(path, NULL);
    if (module == NULL) {
        char message[1000];
        adz_error_take(message, sizeof message);
        ++totals.refused;
        report(c, message);
    } else {
        ++totals.read;
        compare(module, c);
    }
    adz_module_release(&module);
    adz_scope_close(scope);
}

static void reads_what_is_written(void **state)
{
    const op_case *c = *state;
    totals.faults = 0;
    assert_true(sweep_cases(c, (sweep_limits){ .i64_is_i32 = false }, visit, NULL) > 0);
    assert_int_equal(totals.faults, 0);
}

/* Files are not needed after a failure of the machine. */
int __wrap_fsync(int file);
int __wrap_fsync(int file)
{
    (void)file;
    return 0;
}

int main(int argc, char **argv)
{
    int failed = 0;
    if (temporary_begin(NULL) != 0) {
        return EXIT_FAILURE;
    }
    for (int i = 0; i < n_op_cases; ++i) {
        if (is_chosen(op_cases[i]->name, 1, argc, argv)) {
            struct CMUnitTest test = cmocka_unit_test(reads_what_is_written);
            memcpy(&test.initial_state, &op_cases[i], sizeof op_cases[i]); /* removes const */
            failed += run_group(op_cases[i]->name, &test, 1);
        }
    }
    printf("%zu files, %zu refused\n", totals.read, totals.refused);
    temporary_end(NULL);
    return failed != 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
