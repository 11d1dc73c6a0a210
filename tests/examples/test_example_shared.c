/* Tests of the shared files of the example programs, for facts that a run of a program cannot show.
 */
#define _GNU_SOURCE
/* These headers come before cmocka's, which defines `fail` as a macro. */
#include "../examples/shared/bigram.h"
#include "../examples/shared/command_line.h"
#include "../examples/shared/crew.h"
#include "../examples/shared/files.h"
#include "../examples/shared/plain_text.h"
#include "../examples/shared/program.h"
#include "../examples/shared/steps.h"

static _Noreturn void end_program(const char *text)
{
    fail("%s", text);
}

#include <locale.h>
#include <math.h>
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

const char program_name[] = "test";

/* Runs `program` in a child process. Writes its output on stderr to `text` and returns its exit
 * code. */
static int output_of(void (*program)(void), char *text, size_t size)
{
    int status;
    FILE *errors = tmpfile();
    assert_non_null(errors);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        dup2(fileno(errors), STDERR_FILENO);
        program();
        _exit(finish_output());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    rewind(errors);
    text[fread(text, 1, size - 1, errors)] = '\0';
    fclose(errors);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static size_t count(const char *text, const char *part)
{
    size_t n = 0;
    for (const char *at = text; (at = strstr(at, part)) != NULL; at += strlen(part)) {
        ++n;
    }
    return n;
}

/* ---- warnings ------------------------------------------------------------------------------- */

static void broadcast(int64_t rows)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(rows, 1), ADZ_F32),
               *y = adz_zeros(ADZ_SHAPE(rows), ADZ_F32);
    adz_mse_loss(x, y, ADZ_REDUCE_MEAN);
    adz_scope_close(scope);
}

static void warn_in_a_crew(size_t piece, void *user)
{
    (void)user;
    broadcast(piece % 2 == 0 ? 3 : 5);
}

static void warn_often(void)
{
    report_errors();
    for (int step = 0; step < 10; ++step) {
        broadcast(3);
    }
    run_crew(2, 8, warn_in_a_crew, NULL);
}

static void each_warning_is_printed_once(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(output_of(warn_often, text, sizeof text), 0);
    assert_int_equal(count(text, "test: warning: mse_loss: x[3, 1] and target[3] differ"), 1);
    assert_int_equal(count(text, "test: warning: mse_loss: x[5, 1] and target[5] differ"), 1);
    assert_int_equal(count(text, "\n"), 2);
}

static void warn_of_much(void)
{
    report_errors();
    for (int i = 0; i < 300; ++i) {
        broadcast(2 + i % 150);
    }
}

static void endless_warnings_end(void **state)
{
    static char text[65536];
    (void)state;
    assert_int_equal(output_of(warn_of_much, text, sizeof text), 0);
    assert_int_equal(count(text, "test: warning: "), 100);
    assert_int_equal(count(text, "(and this is the last warning that is shown)\n"), 1);
}

/* ---- messages ------------------------------------------------------------------------------- */

static void fail_with_controls(void)
{
    end_program("a\nb\t\x1b[2J\x7f\xc2\x9b\xe4 \xc3\xa4 %s");
}

static void messages_show_control_characters(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(output_of(fail_with_controls, text, sizeof text), 1);
    assert_string_equal(text, "test: a\\nb\\t\\x1b[2J\\x7f\\xc2\\x9b\\xe4 \xc3\xa4 %s\n");
}

static void complain_and_go_on(void)
{
    complain("no %s", "picture");
    remark("all else is well");
}

static void complaints_are_remembered(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(output_of(complain_and_go_on, text, sizeof text), 1);
    assert_string_equal(text, "test: no picture\ntest: all else is well\n");
}

static void wrong_word(void)
{
    usage_error("--x %d: what is it?", 3);
}

static void wrong_value_of_a_file(void)
{
    values_are_from("m.st");
    whole("x", "many", 1, 3);
}

static void the_command_line_ends_with_2_and_files_with_1(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(output_of(wrong_word, text, sizeof text), 2);
    assert_string_equal(text, "test: --x 3: what is it?\ntest --help lists the options\n");
    assert_int_equal(output_of(wrong_value_of_a_file, text, sizeof text), 1);
    assert_string_equal(text, "test: m.st: --x many: a whole number from 1 to 3 is wanted\n");
}

/* ---- text ----------------------------------------------------------------------------------- */

static void faults_of_text(void **state)
{
    static const char *const plain[] = { "", "a b", "\xc3\xa4", "\xe2\x82\xac", "\xf0\x9f\x8e\x89",
        "\xf4\x8f\xbf\xbf", "`|<>'\"\\", "\xc2\xa0" };
    static const char *const other[] = { "\xe4", "a\xc3", "\xc0\xaf", "\xe0\x80\xaf",
        "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xf8\x88\x80\x80\x80", "\x80" };
    static const char *const control[] = { "\n", "a\rb", "\t", "\x1b[0m", "\x7f", "\xc2\x80",
        "\xc2\x9f" };
    (void)state;
    for (size_t i = 0; i < sizeof plain / sizeof *plain; ++i) {
        assert_null(text_fault(plain[i]));
        assert_false(has_control(plain[i]));
    }
    for (size_t i = 0; i < sizeof other / sizeof *other; ++i) {
        assert_string_equal(text_fault(other[i]), "is not UTF-8");
    }
    for (size_t i = 0; i < sizeof control / sizeof *control; ++i) {
        assert_string_equal(text_fault(control[i]), "contains a control character");
        assert_true(has_control(control[i]));
    }
    assert_true(has_control("\xe4\n")); /* a path need not be UTF-8 */
}

/* ---- several processes ---------------------------------------------------------------------- */

static void end_all(int code, const char *message)
{
    fprintf(stderr, "all end with %d: %s\n", code, message != NULL ? message : "printed");
    _exit(code);
}

static void leave(void)
{
    fprintf(stderr, "left\n");
}

static void fail_quietly(void)
{
    set_processes(&(processes){ false, end_all, leave });
    remark("a remark");
    end_program("lost\n");
}

static void misuse_first(void)
{
    set_processes(&(processes){ true, end_all, leave });
    usage_error("wrong");
}

static void misuse_other(void)
{
    set_processes(&(processes){ false, end_all, leave });
    usage_error("wrong");
}

static void say_and_leave(void)
{
    set_processes(&(processes){ true, NULL, leave });
    remark("a remark");
}

static void one_process_speaks_and_each_ends_all(void **state)
{
    char text[4096];
    (void)state;
    assert_int_equal(output_of(fail_quietly, text, sizeof text), 1);
    assert_string_equal(text, "all end with 1: lost\\n\n");
    assert_int_equal(output_of(misuse_first, text, sizeof text), 2);
    assert_string_equal(
        text, "test: wrong\ntest --help lists the options\nall end with 2: printed\n");
    assert_int_equal(output_of(misuse_other, text, sizeof text), 2);
    assert_string_equal(text, "all end with 2: wrong\n");
    assert_int_equal(output_of(say_and_leave, text, sizeof text), 0);
    assert_string_equal(text, "test: a remark\nleft\n");
}

/* Numbers of tables keep all that a reader needs and no digit more. */
static void numbers_are_read_back(void **state)
{
    static const double numbers[] = { 0, -0.5, 0.1, 1.0 / 3, 1e12 + 3.25, 1000000000009.9677,
        5e-324, 1.7976931348623157e308, -123456.5, 2 };
    char text[64];
    (void)state;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; ++i) {
        FILE *file = fmemopen(text, sizeof text, "w");
        write_number(file, numbers[i]);
        fclose(file);
        assert_true(strtod(text, NULL) == numbers[i]);
    }
    FILE *file = fmemopen(text, sizeof text, "w");
    write_row(file, 7, (const double[]){ 0.1, NAN, 1e12 + 3.25 }, 3);
    fclose(file);
    assert_string_equal(text, "7,0.1,,1000000000003.25\n");
}

/* Lines end at spaces after at most 80 characters, which are not bytes. */
static void lines_are_wrapped(void **state)
{
    char text[1024], wide[256] = "";
    (void)state;
    for (int i = 0; i < 100; ++i) {
        strcat(wide, "\u00e4");
    }
#define SIX  "0123456789 0123456789 0123456789 0123456789 0123456789 0123456789 "
#define NINE "\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4\u00e4 "
    const struct {
        const char *words, *lines;
    } cases[] = { { "", "\n" }, { "one", "one\n" }, { "a  b c", "a  b c\n" },
        { SIX "0123456789 01 3456789 x", SIX "0123456789 01\n  3456789 x\n" },
        { NINE SIX "01 9", NINE SIX "01 9\n" }, /* 80 characters */
        { NINE SIX "012 9", NINE SIX "012\n  9\n" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        FILE *file = fmemopen(text, sizeof text, "w");
        print_wrapped(file, cases[i].words);
        fclose(file);
        assert_string_equal(text, cases[i].lines);
    }
    FILE *file = fmemopen(text, sizeof text, "w");
    print_wrapped(file, wide);
    fclose(file);
    assert_int_equal(count(text, "\n"), 1); /* nothing breaks a word */
    assert_int_equal(strlen(text), strlen(wide) + 1);
}

/* The formula of the header, by hand: "abab" is learnt, "aba" and "bb" are predicted. */
static void bigrams_are_counted(void **state)
{
    static const int64_t train[] = { 0, 1, 0, 1 }, known[] = { 0, 1, 0 }, unknown[] = { 1, 1 };
    (void)state;
    const double half = (2.0 + 1) / (4 + 2); /* the frequency of each of the two tokens */
    const double ab = (2 + 2 * half) / (2 + 2), ba = (1 + 2 * half) / (1 + 2);
    const double bb = (0 + 2 * half) / (1 + 2);
    assert_true(fabs(bigram_loss(train, 4, known, 3, 2) + (log(ab) + log(ba)) / 2) < 1e-15);
    assert_true(fabs(bigram_loss(train, 4, unknown, 2, 2) + log(bb)) < 1e-15);
    assert_true(fabs(bigram_loss(train, 1, unknown, 2, 2) + log(1.0 / 3)) < 1e-15);
}

/* ---- steps ----------------------------------------------------------------------------------- */

typedef struct training {
    adz_module *net;
    adz_optimizer *adam;
    int calls;
} training;

static adz_tensor *train(adz_tensor *const *batch, void *user)
{
    training *t = user;
    ++t->calls;
    adz_tensor *loss =
        adz_mse_loss(adz_module_forward(t->net, batch[0]), batch[1], ADZ_REDUCE_MEAN);
    adz_backward(loss);
    adz_optimizer_step(t->adam);
    adz_optimizer_zero_grad(t->adam);
    return loss;
}

/* Twelve epochs with batches of 4, 4 and 3 rows, one with 2 rows among them, and a validation after
 * each epoch. Returns the sum of the losses, and how often `train` was called. */
static double losses_of(bool capture, int *calls)
{
    static const int64_t rows[] = { 4, 4, 3 };
    double sum = 0;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(7);
    training t = { .net = ADZ_SEQUENTIAL(adz_linear_new(2, 5, NULL), adz_relu_new(),
                       adz_dropout_new(0.5, NULL), adz_linear_new(5, 1, NULL)) };
    t.adam = adz_adam_new(adz_module_parameters(t.net), 0.1, NULL);
    steps *all = new_steps(train, &t, 2, capture);
    for (int i = 0; i < 36; ++i) {
        const int64_t n = i == 7 ? 2 : rows[i % 3];
        adz_tensor *batch[] = { adz_randn(ADZ_SHAPE(n, 2), ADZ_F32),
            adz_randn(ADZ_SHAPE(n, 1), ADZ_F32) };
        adz_optimizer_set(t.adam, 0, "lr", 0.1 / (1 + i));
        sum += adz_item(make_step(all, batch));
        if (i % 3 == 2) {
            adz_module_eval(t.net);
            sum +=
                adz_item(adz_sum(adz_module_forward(t.net, batch[0]), ADZ_ALL_DIMS, ADZ_DROPDIM));
            adz_module_train(t.net, true);
        }
    }
    *calls = t.calls;
    free_steps(all);
    free_steps(NULL);
    adz_optimizer_release(&t.adam);
    adz_module_release(&t.net);
    adz_scope_close(scope);
    return sum;
}

static void captured_steps_have_the_bits_of_ordinary_ones(void **state)
{
    int ordinary, captured;
    (void)state;
    const double sum = losses_of(false, &ordinary);
    assert_true(losses_of(true, &captured) == sum);
    assert_int_equal(ordinary, 36);
    assert_int_equal(captured, 2 + 2 + 1); /* two calls for each of two shapes, and the third one */
}

int main(void)
{
    setlocale(LC_NUMERIC, "C"); /* as every program does */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bigrams_are_counted),
        cmocka_unit_test(captured_steps_have_the_bits_of_ordinary_ones),
        cmocka_unit_test(numbers_are_read_back),
        cmocka_unit_test(lines_are_wrapped),
        cmocka_unit_test(each_warning_is_printed_once),
        cmocka_unit_test(endless_warnings_end),
        cmocka_unit_test(messages_show_control_characters),
        cmocka_unit_test(complaints_are_remembered),
        cmocka_unit_test(the_command_line_ends_with_2_and_files_with_1),
        cmocka_unit_test(faults_of_text),
        cmocka_unit_test(one_process_speaks_and_each_ends_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
