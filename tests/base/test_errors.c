/* The error record, the callbacks that hear of errors and warnings, and what a new context takes
 * over. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "../errors.h"
#include "base/alloc.h"
#include "base/error.h"

/* ---- the first error ------------------------------------------------------------------------ */

typedef struct heard {
    int calls;
    adz_status status;
    char message[300];
    int64_t bytes; /* live when the callback was called */
} heard;

static void hear(adz_status status, const char *message, void *user)
{
    heard *h = user;
    ++h->calls;
    h->status = status;
    h->bytes = adzi_live_bytes();
    snprintf(h->message, sizeof h->message, "%s", message);
}

/* The message that leads to the mistake stays; a callback hears of all errors. */
static void the_first_error_stays(void **state)
{
    (void)state;
    heard h = { 0 };
    adz_on_error(hear, &h);
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    assert_null(adz_matmul(x, adz_ones(ADZ_SHAPE(4, 2), ADZ_F32)));
    assert_int_equal(adz_set_num_threads(-1), ADZ_ERR_ARGUMENT);
    assert_int_equal(h.calls, 2);
    assert_int_equal(h.status, ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(h.message, "-1 threads"));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    assert_string_equal(adz_error_operator(), "matmul");
    expect_error(ADZ_ERR_SHAPE, "matmul");
    assert_int_equal(adz_set_num_threads(-1), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "-1 threads");
    adz_on_error(adz_quiet, NULL);
}

/* Errors of the user follow the same rule, and the name of the first one stays. */
static void the_first_error_of_a_user_stays(void **state)
{
    (void)state;
    assert_int_equal(adz_error_set("first", ADZ_ERR_FORMAT, "one"), ADZ_ERR_FORMAT);
    assert_int_equal(adz_error_set("second", ADZ_ERR_IO, "two"), ADZ_ERR_IO);
    assert_string_equal(adz_error_operator(), "first");
    expect_error(ADZ_ERR_FORMAT, "first: one");
    assert_int_equal(adz_error_set("third", ADZ_ERR_IO, NULL), ADZ_ERR_IO);
    assert_string_equal(adz_error_operator(), "third");
    adz_error_clear();
}

/* ---- compositions ---------------------------------------------------------------------------- */

/* A composition whose dimension is out of range, which adz_norm finds. */
static adz_tensor *norm_beyond(void)
{
    return adz_vector_norm(adz_ones(ADZ_SHAPE(3), ADZ_F32), 2, ADZ_DIMS(7), false);
}

/* The callback of an error may call adze, whose errors are none of the composition's. */
static void hear_and_fail(adz_status status, const char *message, void *user)
{
    heard *h = user;
    if (h->calls++ == 0) {
        adz_matmul(adz_ones(ADZ_SHAPE(3), ADZ_F32), adz_ones(ADZ_SHAPE(4), ADZ_F32));
    } else {
        h->status = status;
        snprintf(h->message, sizeof h->message, "%s", message);
    }
}

static void errors_of_compositions_name_them(void **state)
{
    (void)state;
    heard h = { 0 };
    assert_null(norm_beyond());
    assert_string_equal(adz_error_operator(), "vector_norm");
    expect_error(ADZ_ERR_DIM, "vector_norm: dimension 7 is");
    assert_null(adz_addcmul(NULL, NULL, NULL, 1));
    assert_string_equal(adz_error_operator(), "addcmul");
    adz_error_clear();
    assert_null(adz_relu6(NULL)); /* which calls the composition adz_hardtanh */
    assert_string_equal(adz_error_operator(), "relu6");
    adz_error_clear();
    adz_on_error(hear_and_fail, &h);
    assert_null(norm_beyond());
    assert_int_equal(h.calls, 2);
    assert_ptr_equal(strstr(h.message, "matmul: "), h.message);
    expect_error(ADZ_ERR_DIM, "vector_norm: dimension 7 is");
    adz_on_error(adz_quiet, NULL);
}

static jmp_buf behind;

static void leave(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
    longjmp(behind, 1);
}

/* Nothing is left of the name of a composition that ended by a jump. */
static void a_jump_ends_the_name_of_a_composition(void **state)
{
    (void)state;
    adz_on_error(leave, NULL);
    if (setjmp(behind) == 0) {
        norm_beyond();
        fail();
    }
    adz_on_error(adz_quiet, NULL);
    expect_error(ADZ_ERR_DIM, "vector_norm: dimension 7 is");
    assert_null(adz_matmul(adz_ones(ADZ_SHAPE(3), ADZ_F32), adz_ones(ADZ_SHAPE(4), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "matmul: ");
}

/* ---- reports -------------------------------------------------------------------------------- */

/* A constructor that fails has freed everything when the callback is called. */
static void constructors_report_after_cleaning_up(void **state)
{
    (void)state;
    for (int64_t n = 1; n < 100; ++n) {
        heard h = { 0 };
        const int64_t before = adzi_live_bytes();
        adz_on_error(hear, &h);
        adzi_alloc_fail_at(n);
        adz_module *m = adz_linear_new(30, 40, NULL);
        adzi_alloc_fail_at(0);
        adz_on_error(adz_quiet, NULL);
        adz_module_release(&m);
        assert_int_equal(h.calls, adz_error_code() != ADZ_OK);
        if (h.calls == 0) {
            assert_true(n > 4);
            return;
        }
        assert_int_equal(h.bytes, before);
        expect_error(ADZ_ERR_MEMORY, "memory was refused");
    }
    fail();
}

static jmp_buf landing;

static void jump(adz_status status, const char *message, void *user)
{
    (void)message;
    *(adz_status *)user = status;
    longjmp(landing, 1);
}

/* A callback that jumps away ends the call; later errors are reported as usual. */
static void callbacks_may_jump_away(void **state)
{
    (void)state;
    adz_status status = ADZ_OK;
    adz_on_error(jump, &status);
    for (volatile int i = 0; i < 3; ++i) {
        if (setjmp(landing) == 0) {
            adz_safetensors_load("there/is/none", NULL);
            fail();
        }
        assert_int_equal(status, ADZ_ERR_IO);
        status = ADZ_OK;
        expect_error(ADZ_ERR_IO, "No such file");
    }
    adz_on_error(adz_quiet, NULL);
}

/* ---- warnings ------------------------------------------------------------------------------- */

/* What is printed on stderr while `warn` runs, at most 9999 bytes. */
static const char *printed_by(void (*warn)(void))
{
    static char text[10000];
    FILE *file = tmpfile();
    int kept = dup(2);
    assert_true(file != NULL && kept >= 0);
    fflush(stderr);
    dup2(fileno(file), 2);
    warn();
    fflush(stderr);
    dup2(kept, 2);
    close(kept);
    rewind(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static void broadcast_target(void)
{
    for (int i = 0; i < 3; ++i) {
        adz_tensor *x = adz_ones(ADZ_SHAPE(4, 1), ADZ_F32),
                   *target = adz_ones(ADZ_SHAPE(4), ADZ_F32);
        assert_non_null(adz_mse_loss(x, target, ADZ_REDUCE_MEAN));
    }
}

static void many_warnings(void)
{
    for (int i = 0; i < 200; ++i) {
        adzi_warn("many", "%d", i % 100);
    }
}

static void warnings_are_printed_unless_somebody_listens(void **state)
{
    (void)state;
    heard h = { 0 };
    adz_on_warning(hear, &h);
    assert_string_equal(printed_by(broadcast_target), "");
    assert_int_equal(h.calls, 3);
    adz_on_warning(NULL, NULL);
    const char *text = printed_by(broadcast_target);
    const char *line =
        strstr(text, "adze: warning: mse_loss: x[4, 1] and target[4] differ in shape");
    assert_ptr_equal(line, text);
    assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1); /* one line: each text once */
    text = printed_by(many_warnings);
    assert_non_null(strstr(text, "adze: warning: many: 5\n"));
    assert_null(strstr(text, "many: 99\n"));
    assert_non_null(strstr(text, "further warnings are not printed; adz_on_warning gets all\n"));
}

/* ---- places ---------------------------------------------------------------------------------- */

static adz_status read_part(void *user)
{
    const adz_status *status = user;
    return *status == ADZ_OK ? adz_error_set("read", ADZ_ERR_FORMAT, "is cut") : *status;
}

static adz_status read_inner(void *user)
{
    return adz_error_within("part", read_part, user);
}

/* The text stands before the message, for the callback as well, and ends with the function. */
static void errors_begin_with_their_place(void **state)
{
    (void)state;
    heard h = { 0 };
    adz_status status = ADZ_OK;
    adz_on_error(hear, &h);
    assert_int_equal(adz_error_within("net.onnx", read_part, &status), ADZ_ERR_FORMAT);
    adz_on_error(adz_quiet, NULL);
    assert_int_equal(h.calls, 1);
    assert_string_equal(adz_error_operator(), "read");
    expect_error(ADZ_ERR_FORMAT, "net.onnx: read: is cut");
    assert_int_equal(adz_error_within("net.onnx", read_inner, &status), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "net.onnx.part: read: is cut");
    status = ADZ_ERR_IO; /* of a function that records nothing */
    assert_int_equal(adz_error_within("net.onnx", read_part, &status), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "net.onnx: adz_error_within: the function failed");
    adz_error_set("after", ADZ_ERR_FORMAT, "is cut");
    assert_string_equal(adz_error_message(), "after: is cut");
    adz_error_clear();
    assert_int_equal(adz_error_within(NULL, read_part, &status), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "text is NULL");
    assert_int_equal(adz_error_within("net.onnx", NULL, &status), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "f is NULL");
}

/* ---- contexts ------------------------------------------------------------------------------- */

static void a_new_context_begins_like_the_old_one(void **state)
{
    (void)state;
    heard h = { 0 }, w = { 0 };
    adz_set_num_threads(3);
    adz_set_deterministic(true);
    adz_set_matmul_precision(ADZ_MATMUL_MEDIUM);
    const adz_gemm_backend products =
        adz_set_gemm_backend(ADZ_GEMM_BLAS) == ADZ_OK ? ADZ_GEMM_BLAS : ADZ_GEMM_OWN;
    adz_on_error(hear, &h);
    adz_on_warning(hear, &w);
    adz_context *own = adz_context_new();
    adz_context_use(own);
    assert_int_equal(adz_get_num_threads(), 3);
    assert_true(adz_is_deterministic());
    assert_int_equal(adz_get_matmul_precision(), ADZ_MATMUL_HIGHEST);
    assert_int_equal(adz_get_gemm_backend(), products);
    broadcast_target();
    adz_set_num_threads(-1);
    adz_error_clear();
    assert_int_equal(h.calls, 1);
    assert_int_equal(w.calls, 3);
    adz_set_num_threads(2);
    adz_on_error(adz_quiet, NULL);
    adz_context_use(NULL);
    assert_int_equal(adz_get_num_threads(), 3);
    adz_set_num_threads(-1);
    adz_error_clear();
    assert_int_equal(h.calls, 2);
    adz_on_error(adz_quiet, NULL);
    adz_on_warning(NULL, NULL);
    adz_set_num_threads(0);
    adz_set_deterministic(false);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    adz_set_gemm_backend(ADZ_GEMM_OWN);
    adz_context_free(&own);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_error_stays),
        cmocka_unit_test(the_first_error_of_a_user_stays),
        cmocka_unit_test(errors_of_compositions_name_them),
        cmocka_unit_test(a_jump_ends_the_name_of_a_composition),
        cmocka_unit_test(constructors_report_after_cleaning_up),
        cmocka_unit_test(callbacks_may_jump_away),
        cmocka_unit_test(warnings_are_printed_unless_somebody_listens),
        cmocka_unit_test(errors_begin_with_their_place),
        cmocka_unit_test(a_new_context_begins_like_the_old_one),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
