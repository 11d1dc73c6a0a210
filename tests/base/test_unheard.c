/* What is printed of errors that nobody hears of, and who hears of refused calls. Each program is
 * played by a child process, because printing goes on until the process ends. */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "../errors.h"

/* ---- printing ------------------------------------------------------------------------------- */

/* What a program writes on stderr. The program ends by exit(7), or earlier by itself. */
static const char *printed_by(void (*program)(void))
{
    static char text[20000];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fflush(stdout);
    const pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(ends[1], STDERR_FILENO);
        close(ends[0]);
        close(ends[1]);
        adz_on_error(NULL, NULL); /* as in a program that is no test */
        program();
        exit(7);
    }
    close(ends[1]);
    size_t length = 0;
    for (ssize_t n = 1; n > 0 && length<sizeof text - 1; length += n> 0 ? (size_t)n : 0) {
        n = read(ends[0], text + length, sizeof text - 1 - length);
    }
    text[length] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    return text;
}

static int count(const char *text, const char *part)
{
    int n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        ++n;
    }
    return n;
}

static const char mistake[] = "adze: error: matmul: inner sizes differ";

static adz_tensor *fail_once(void)
{
    return adz_matmul(adz_ones(ADZ_SHAPE(4, 3), ADZ_F32), adz_ones(ADZ_SHAPE(2, 4), ADZ_F32));
}

/* A program's end without destructors: what is printed was printed before. */
static void end_at_once(void)
{
    _exit(7);
}

static void train_blindly(void)
{
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(3, 8, NULL), adz_relu_new(), adz_linear_new(8, 1, NULL));
    adz_optimizer *adam = adz_adam_new(adz_module_parameters(net), 0.01, NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(16, 4), ADZ_F32);
    for (int i = 0; i < 3; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_optimizer_zero_grad(adam);
        adz_tensor *loss = adz_mse_loss(
            adz_module_forward(net, x), adz_ones(ADZ_SHAPE(16, 1), ADZ_F32), ADZ_REDUCE_MEAN);
        adz_backward(loss);
        adz_optimizer_step(adam);
        adz_item(loss);
        adz_scope_close(scope);
    }
    adz_module_save(net, "/nowhere/at/all.safetensors");
    adz_optimizer_release(&adam);
    adz_module_release(&net);
}

/* The backward, the step and the item are refused three times, and the saving once. */
static void a_training_that_looks_at_nothing_is_heard_once(void **state)
{
    (void)state;
    const char *text = printed_by(train_blindly);
    assert_int_equal(
        count(text, "adze: error: 0: linear: x[16, 4] and weight[8, 3] do not fit"), 1);
    assert_int_equal(count(text, "(ADZ_ERR_SHAPE)\n"), 1);
    assert_int_equal(count(text, "adz_on_error(adz_die, NULL)"), 1);
    assert_int_equal(
        count(text, "adze: 10 calls were refused because of the error in linear\n"), 1);
}

static void two_steps_and_no_end(void)
{
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        fail_once();
        adz_scope_close(scope);
    }
    end_at_once();
}

static void elements_of_nothing(void)
{
    adz_tensor_data_f32(fail_once());
    end_at_once();
}

static void three_items(void)
{
    adz_tensor *y = fail_once();
    for (int i = 0; i < 3; ++i) {
        adz_item(y);
    }
    end_at_once();
}

static void only_fails(void)
{
    fail_once();
}

static void *fail_on_a_thread(void *unused)
{
    (void)unused;
    fail_once();
    return NULL;
}

static void a_thread_fails(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fail_on_a_thread, NULL);
    pthread_join(thread, NULL);
    end_at_once();
}

/* The next step, a use that would crash, the third refused call, and the end of thread or process
 * show that the program goes on. */
static void an_error_is_printed_when_the_program_goes_on(void **state)
{
    (void)state;
    assert_int_equal(count(printed_by(two_steps_and_no_end), mistake), 1);
    assert_int_equal(count(printed_by(elements_of_nothing), mistake), 1);
    assert_int_equal(count(printed_by(three_items), mistake), 1);
    assert_int_equal(count(printed_by(only_fails), mistake), 1);
    assert_int_equal(count(printed_by(only_fails), "refused"), 0);
    assert_int_equal(count(printed_by(a_thread_fails), mistake), 1);
}

static void take_it(void)
{
    for (int i = 0; i < 5; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *y = adz_relu(adz_add_number(fail_once(), 1));
        adz_scope_close(scope);
        if (y == NULL) {
            adz_error_take(NULL, 0);
        }
    }
}

static void look_at_the_last_result(void)
{
    adz_tensor *w = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_optimizer *sgd = adz_sgd_new((adz_tensor_list){ &w, 1 }, 0.1, NULL);
    for (int i = 0; i < 5; ++i) {
        adz_backward(fail_once());
        if (adz_optimizer_step(sgd) != ADZ_OK) {
            adz_error_clear();
        }
    }
    fail_once();
    adz_error_message(); /* and goes on without clearing it */
    adz_scope_open();
    adz_optimizer_release(&sgd);
}

static void ignore(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)message;
    (void)user;
}

static void listen(void)
{
    adz_on_error(ignore, NULL);
    train_blindly();
}

static void say_so(void)
{
    adz_on_error(adz_quiet, NULL);
    train_blindly();
}

static void nothing_is_printed_of_an_error_that_somebody_hears(void **state)
{
    (void)state;
    assert_string_equal(printed_by(take_it), "");
    assert_string_equal(printed_by(look_at_the_last_result), "");
    assert_string_equal(printed_by(listen), "");
    assert_string_equal(printed_by(say_so), "");
}

static void die_of_it(void)
{
    adz_on_error(adz_die, NULL);
    train_blindly();
    fprintf(stderr, "went on");
}

static void a_program_may_die_of_its_first_error(void **state)
{
    (void)state;
    assert_string_equal(printed_by(die_of_it),
        "0: linear: x[16, 4] and weight[8, 3] do not fit: weight is [out, in] and x's last size is in (ADZ_ERR_SHAPE)\n");
}

/* ---- refused calls -------------------------------------------------------------------------- */

typedef struct heard {
    int calls;
    adz_status status;
    char message[400];
    bool saves;
    jmp_buf landing;
    bool jumps;
} heard;

static void hear(adz_status status, const char *message, void *user)
{
    heard *h = user;
    ++h->calls;
    h->status = status;
    snprintf(h->message, sizeof h->message, "%s", message);
    if (h->saves) {
        adz_backward(NULL);
        adz_optimizer_step(NULL);
    }
    if (h->jumps) {
        longjmp(h->landing, 1);
    }
}

static void a_callback_hears_of_refused_calls(void **state)
{
    (void)state;
    heard h = { .calls = 0 };
    adz_on_error(hear, &h);
    adz_tensor *y = adz_relu(fail_once()); /* a NULL that is handed on is no refused call */
    assert_int_equal(h.calls, 1);
    assert_int_equal(adz_backward(y), ADZ_ERR_SHAPE);
    assert_int_equal(h.calls, 2);
    assert_int_equal(h.status, ADZ_ERR_SHAPE);
    assert_non_null(
        strstr(h.message, "backward: refused, because an earlier error was not cleared"));
    assert_non_null(strstr(h.message, "matmul: inner sizes differ"));
    expect_error(ADZ_ERR_SHAPE, "matmul: inner sizes differ");
    adz_on_error(adz_quiet, NULL);
}

/* Otherwise the callback would be called for ever. */
static void a_callback_does_not_hear_of_its_own_refused_calls(void **state)
{
    (void)state;
    heard h = { .saves = true };
    adz_on_error(hear, &h);
    fail_once();
    assert_int_equal(h.calls, 1);
    adz_backward(NULL);
    assert_int_equal(h.calls, 2);
    adz_on_error(adz_quiet, NULL);
    adz_error_clear();
}

/* As a C++ program does that catches an exception and does not clear the error. */
static void a_callback_that_jumps_hears_of_every_refused_call(void **state)
{
    (void)state;
    static heard h;
    h = (heard){ .jumps = true };
    adz_on_error(hear, &h);
    for (volatile int i = 0; i < 4; ++i) {
        if (setjmp(h.landing) == 0) {
            if (i == 0) {
                fail_once();
            }
            adz_backward(adz_ones(ADZ_SHAPE(1), ADZ_F32));
            fail();
        }
        assert_int_equal(h.calls, i + 1);
    }
    assert_non_null(strstr(h.message, "backward: refused"));
    adz_on_error(adz_quiet, NULL);
    adz_error_clear();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_training_that_looks_at_nothing_is_heard_once),
        cmocka_unit_test(an_error_is_printed_when_the_program_goes_on),
        cmocka_unit_test(nothing_is_printed_of_an_error_that_somebody_hears),
        cmocka_unit_test(a_program_may_die_of_its_first_error),
        cmocka_unit_test(a_callback_hears_of_refused_calls),
        cmocka_unit_test(a_callback_does_not_hear_of_its_own_refused_calls),
        cmocka_unit_test(a_callback_that_jumps_hears_of_every_refused_call),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
