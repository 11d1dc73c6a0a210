/* Scans, while loops and branches, written as ONNX and read again: the same numbers. */
#include "adze/adze.h"
#include "adze/onnx.h"
#include "errors.h"
#include "export/c99/write/write_c.h"
#include "export/loop_functions.h"
#include "temporary.h"

static void check(const loop_function *f, adz_dtype dtype)
{
    const char *path = temporary_path("net.onnx");
    adz_scope *scope = adz_scope_open();
    adz_module *cell = loop_module(f);
    adz_module_to(cell, dtype);
    adz_tensor *x = adz_randn(ADZ_SHAPE(LOOP_STEPS, LOOP_WIDTH), dtype);
    if (loop_write_onnx(f, cell, x, path) != ADZ_OK) {
        fail_msg("%s: %s", f->name, adz_error_message());
    }
    adz_module *read = adz_onnx_load(path, NULL);
    for (int i = 0; i < 3; ++i) {
        const double tolerance = dtype == ADZ_F64 ? 1e-13 : 1e-6;
        adz_tensor *y = read != NULL ? adz_module_forward(read, x) : NULL;
        if (y == NULL || !adz_allclose(y, f->call(cell, &x), tolerance, tolerance, false)) {
            fail_msg("%s: %s", f->name, y == NULL ? adz_error_message() : "other numbers");
        }
        x = adz_randn(ADZ_SHAPE(LOOP_STEPS, LOOP_WIDTH), dtype);
    }
    adz_module_release(&read);
    adz_module_release(&cell);
    adz_scope_close(scope);
}

static void loops_are_read_again(void **state)
{
    (void)state;
    adz_manual_seed(5);
    for (size_t i = 0; i < n_loop_functions; ++i) {
        check(&loop_functions[i], ADZ_F32);
        check(&loop_functions[i], ADZ_F64);
    }
}

static const loop_function *differentiated;

static adz_tensor *value(adz_tensor *x, void *none)
{
    (void)none;
    return adz_mean(differentiated->call(NULL, &x), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_tensor *gradient(adz_module *none, adz_tensor **in)
{
    (void)none;
    return adz_vjp(value, NULL, in[0], ADZ_NONE, NULL);
}

/* A part of a gradient is never left out without a word. */
static void gradients_of_whiles_and_branches_are_refused(void **state)
{
    (void)state;
    static const loop_function function = { "gradient", gradient, NULL };
    static const char *const names[] = { "until_it_converges", "as_it_is", "branches" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = adz_randn(ADZ_SHAPE(LOOP_STEPS, LOOP_WIDTH), ADZ_F64);
        differentiated = loop_functions;
        while (strcmp(differentiated->name, names[i]) != 0) {
            ++differentiated;
        }
        assert_int_equal(
            loop_write_onnx(&function, NULL, x, temporary_path("net.onnx")), ADZ_ERR_UNSUPPORTED);
        assert_non_null(strstr(adz_error_message(), "has no gradient in an ONNX file"));
        adz_error_clear();
        adz_scope_close(scope);
    }
}

/* The scan of `batched` goes over columns, so that the file takes any number of rows. */
static void other_numbers_of_rows(void **state)
{
    (void)state;
    const char *path = temporary_path("net.onnx");
    const loop_function *f = loop_functions;
    while (strcmp(f->name, "batched") != 0) {
        ++f;
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_randn(ADZ_SHAPE(LOOP_STEPS, LOOP_WIDTH), ADZ_F32);
    assert_int_equal(loop_write_onnx(f, NULL, x, path), ADZ_OK);
    adz_module *read = adz_onnx_load(path, NULL);
    for (int64_t rows = 1; rows < 20; rows += 9) {
        x = adz_randn(ADZ_SHAPE(rows, LOOP_WIDTH), ADZ_F32);
        assert_true(
            adz_allclose(adz_module_forward(read, x), f->call(NULL, &x), 1e-6, 1e-6, false));
    }
    assert_int_equal(adz_onnx_input_shape_at(read, 0).sizes[0], -1);
    adz_module_release(&read);
    adz_scope_close(scope);
}

/* ---- as C ------------------------------------------------------------------------------------ */

typedef struct {
    adz_module *net;
    adz_tensor *x;
} called;

static adz_tensor *call(void *user)
{
    called *c = user;
    return adz_module_forward(c->net, c->x);
}

/* The characters, but for digits, of the C file of a network that is read from net.onnx. */
static size_t text_as_c(adz_tensor *x)
{
    called c = { adz_onnx_load(temporary_path("net.onnx"), NULL), x };
    const adzi_export what = { .function = call, .user = &c, .inputs = { &c.x, 1 } };
    adz_c_options o = ADZ_C_OPTIONS;
    o.libm = true;
    o.allow_nonfinite = true; /* states that a solution does not reach are NaN */
    if (c.net == NULL || adzi_write_c("write", temporary_path("net.c"), &what, 1, &o) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    adz_module_release(&c.net);
    FILE *file = fopen(temporary_path("net.c"), "r");
    assert_non_null(file);
    size_t n = 0;
    for (int letter = fgetc(file); letter != EOF; letter = fgetc(file)) {
        n += letter < '0' || letter > '9';
    }
    fclose(file);
    return n;
}

/* Scan, Loop and If are a scan, a while loop and a branch in an export again. */
static void loops_stay_loops(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < n_loop_functions; ++i) {
        adz_module *cell = loop_module(&loop_functions[i]);
        size_t text[2];
        for (int k = 0; k < 2; ++k) {
            const int64_t steps = k == 0 ? 12 : 1200;
            adz_tensor *x = adz_randn(ADZ_SHAPE(steps, LOOP_WIDTH), ADZ_F32);
            const adz_status status =
                loop_write_onnx(&loop_functions[i], cell, x, temporary_path("net.onnx"));
            assert_int_equal(status, ADZ_OK);
            text[k] = text_as_c(x);
        }
        /* The length of a step may be a number with an exponent. The padding is a constant of all
         * steps. */
        const size_t more = text[1] > text[0] ? text[1] - text[0] : text[0] - text[1];
        if (more > 4 && strcmp(loop_functions[i].name, "padded") != 0) {
            fail_msg("%s: %zu and %zu characters", loop_functions[i].name, text[0], text[1]);
        }
        adz_module_release(&cell);
    }
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(loops_are_read_again),
        cmocka_unit_test(gradients_of_whiles_and_branches_are_refused),
        cmocka_unit_test(other_numbers_of_rows), cmocka_unit_test(loops_stay_loops) };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
