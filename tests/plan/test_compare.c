/* When two captured calls agree (src/plan/compare.c). Each test makes two calls by hand that differ
 * in one thing, and asks for the message.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "by_hand.h"

enum { BYTES = 256 };

#define FIRST  ADDRESS(0)
#define SECOND ADDRESS(0x1000)

typedef struct pair {
    adz_plan plans[2]; /* the call before, and the call now */
    char text[512];
} pair;

static void begin(pair *p)
{
    memset(p, 0, sizeof *p);
    for (int i = 0; i < 2; ++i) {
        by_hand_begin(&p->plans[i]);
    }
}

/* Whether the calls agree. Ends them. */
static bool agree(pair *p)
{
    for (int i = 0; i < 2; ++i) {
        assert_true(adzi_captured_call_close(p->plans[i].current));
    }
    const bool agrees = adzi_captured_calls_agree(
        p->plans[0].current, p->plans[1].current, p->text, sizeof p->text);
    for (int i = 0; i < 2; ++i) {
        by_hand_end(&p->plans[i]);
    }
    return agrees;
}

static void assert_agree(pair *p)
{
    if (!agree(p)) {
        fail_msg("%s", p->text);
    }
    assert_string_equal(p->text, "");
}

static void assert_differ(pair *p, const char *why)
{
    assert_false(agree(p));
    if (strcmp(p->text, why) != 0) {
        fail_msg("\"%s\" instead of \"%s\"", p->text, why);
    }
}

#define ADVICE "put a value that changes into a tensor, and write the tensor before each run"

/* ---- calls that cannot agree ----------------------------------------------------------------- */

static void one_call_agrees_with_nothing(void **state)
{
    (void)state;
    pair p;
    begin(&p);
    assert_false(adzi_captured_calls_agree(NULL, p.plans[1].current, p.text, sizeof p.text));
    assert_string_equal(p.text, "there was one call only");
    p.text[0] = '\0';
    assert_agree(&p);
    begin(&p);
    p.plans[1].current->why = "of a reason";
    p.plans[1].current->why_op = "exp";
    assert_differ(&p, "exp: of a reason");
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void number(pair *p, int call, const char *op, double value)
{
    p->plans[call].capture.op = op;
    p->plans[call].capture.number(&p->plans[call].capture, value);
}

static void numbers_are_compared(void **state)
{
    (void)state;
    pair p;
    begin(&p);
    char op[] = "mul"; /* at another address */
    number(&p, 0, "mul", 2);
    number(&p, 1, op, 2);
    assert_agree(&p);
    begin(&p);
    number(&p, 0, "mul", 2);
    number(&p, 1, op, 3);
    assert_differ(&p, "a number of mul was 2 and is 3 now; " ADVICE);
    begin(&p);
    number(&p, 0, "mul", 0.0);
    number(&p, 1, op, -0.0);
    assert_differ(&p, "a number of mul was 0 and is -0 now; " ADVICE);
    begin(&p);
    number(&p, 0, "mul", 1);
    number(&p, 1, op, 1);
    number(&p, 0, "mul", 2);
    BY_HAND_LAUNCH(&p.plans[0], 1);
    BY_HAND_LAUNCH(&p.plans[1], 1);
    number(&p, 1, op, 4);
    assert_differ(&p, "a number of mul was 2 and is 4 now; " ADVICE);
    begin(&p); /* the line is that of the launch behind the number */
    number(&p, 0, "mul", 1);
    number(&p, 1, "mul", 2);
    for (int i = 0; i < 2; ++i) {
        BY_HAND_LAUNCH(&p.plans[i], 1);
        p.plans[i].capture.sited(&p.plans[i].capture, i == 0 ? "before.c" : "now.c", 7 + i);
    }
    assert_differ(&p, "a number of mul at now.c:8 was 1 and is 2 now; " ADVICE);
}

/* Other operators, or another number of them, are left to the comparison of launches. */
static void numbers_of_other_operators_are_not_compared(void **state)
{
    (void)state;
    pair p;
    begin(&p);
    number(&p, 0, "mul", 2);
    number(&p, 1, "add", 3);
    number(&p, 0, "mul", 2);
    number(&p, 1, "mul", 3);
    assert_agree(&p);
    for (int more = 0; more < 2; ++more) {
        begin(&p);
        number(&p, more, "mul", 2);
        assert_agree(&p);
    }
}

/* ---- elements of the host -------------------------------------------------------------------- */

static void constants_are_compared(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *t[] = { adz_zeros(ADZ_SHAPE(3), ADZ_F32), adz_zeros(ADZ_SHAPE(3), ADZ_F32),
        adz_arange(0, 3, 1, ADZ_F32), adz_arange(1, 7, 1, ADZ_F32),
        adz_ones(ADZ_SHAPE(3), ADZ_I32) };
    const struct {
        int before, now;
        bool agree;
    } cases[] = { { 0, 1, true }, { 2, 2, true }, { 0, 2, false },
        /* another shape or dtype is reported by the operator that uses the tensor */
        { 0, 3, true }, { 3, 0, true }, { 0, 4, true } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        pair p;
        begin(&p);
        for (int k = 0; k < 2; ++k) {
            adz_tensor *constant = t[k == 0 ? cases[i].before : cases[i].now];
            p.plans[k].capture.constant(&p.plans[k].capture, t[0]);
            p.plans[k].capture.constant(&p.plans[k].capture, constant);
        }
        if (cases[i].agree) {
            assert_agree(&p);
        } else {
            assert_differ(&p,
                "the elements of a tensor[3] that the function makes (adz_tensor_from, or a pointer to the elements) differ; " ADVICE);
        }
    }
    for (int more = 0; more < 2; ++more) {
        pair p;
        begin(&p);
        p.plans[more].capture.constant(&p.plans[more].capture, t[2]);
        assert_agree(&p);
    }
    adz_scope_close(scope);
}

/* The last element alone differs. */
static void all_elements_of_a_constant_are_compared(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *a = adz_zeros(ADZ_SHAPE(5), ADZ_F64), *b = adz_zeros(ADZ_SHAPE(5), ADZ_F64);
    adz_tensor_data_f64(b)[4] = 1;
    pair p;
    begin(&p);
    p.plans[0].capture.constant(&p.plans[0].capture, a);
    p.plans[1].capture.constant(&p.plans[1].capture, b);
    assert_false(agree(&p));
    adz_scope_close(scope);
}

/* ---- launches -------------------------------------------------------------------------------- */

static void another_kernel(const void *args, int64_t first, int64_t last)
{
    (void)args;
    (void)first;
    (void)last;
    assert_true(false);
}

static adz_status of_the_host(const void *args)
{
    (void)args;
    return ADZ_OK;
}

static adz_status another_of_the_host(const void *args)
{
    (void)args;
    return ADZ_ERR_STATE;
}

/* Launches of the call now differ from the call before in one field. */
static void launches_are_compared(void **state)
{
    (void)state;
    const uint64_t args[2] = { 1, 2 }, mask[2] = { UINT64_MAX, UINT64_MAX };
    const struct {
        adzi_kernel kernel;
        size_t size;
        int64_t units, grain;
        const char *op, *why;
    } cases[] = {
        { by_hand_kernel, 16, 5, 4, "exp", NULL },
        { another_kernel, 16, 5, 4, "exp", "exp computes something else now, such as other sizes" },
        { by_hand_kernel, 8, 5, 4, "exp", "exp computes something else now, such as other sizes" },
        { by_hand_kernel, 16, 6, 4, "exp", "exp computes something else now, such as other sizes" },
        { by_hand_kernel, 16, 5, 8, "exp", "exp computes something else now, such as other sizes" },
        { by_hand_kernel, 16, 5, 4, "log", "it computes log now where it computed exp before" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        pair p;
        begin(&p);
        char op[] = "exp";
        adzi_capture *before = &p.plans[0].capture, *now = &p.plans[1].capture;
        before->op = op;
        before->launched(before, by_hand_kernel, args, BY_HAND_LAYOUT(mask), 16, 5, 4);
        now->op = cases[i].op;
        now->launched(now, cases[i].kernel, args, BY_HAND_LAYOUT(mask), cases[i].size,
            cases[i].units, cases[i].grain);
        if (cases[i].why == NULL) {
            assert_agree(&p);
        } else {
            assert_differ(&p, cases[i].why);
        }
    }
    for (int k = 0; k < 2; ++k) {
        pair p;
        begin(&p);
        adzi_capture *before = &p.plans[0].capture, *now = &p.plans[1].capture;
        before->repeated(before, of_the_host, args, BY_HAND_LAYOUT(mask), 16);
        now->repeated(
            now, k == 0 ? of_the_host : another_of_the_host, args, BY_HAND_LAYOUT(mask), 16);
        assert_true(agree(&p) == (k == 0));
    }
}

/* One call launched more kernels than the other. */
static void numbers_of_launches_are_compared(void **state)
{
    (void)state;
    for (int more = 0; more < 2; ++more) {
        pair p;
        begin(&p);
        BY_HAND_LAUNCH(&p.plans[0], 1);
        BY_HAND_LAUNCH(&p.plans[1], 1);
        BY_HAND_LAUNCH(&p.plans[more], 1);
        assert_differ(&p, more == 0 ? "one call launched 2 kernels, and the next one 1"
                                    : "one call launched 1 kernels, and the next one 2");
    }
}

#define OTHER "a number or an address that exp at here.c:3 uses is another one; " ADVICE

/* A launch of the words in each call, the second of two. A block lies elsewhere in the call now. */
static void launch(pair *p, int call, size_t size, const void *words, const void *mask)
{
    adz_plan *plan = &p->plans[call];
    char *const blocks[2][2] = { { FIRST, SECOND }, { SECOND, FIRST } };
    by_hand_store(plan, blocks[call][0], 0, BYTES);
    by_hand_store(plan, blocks[call][1], 0, BYTES);
    plan->capture.op = "exp";
    BY_HAND_LAUNCH(plan, 1);
    by_hand_launch(plan, words, mask, size);
    plan->capture.sited(&plan->capture, "here.c", 3);
    BY_HAND_LAUNCH(plan, (uintptr_t)blocks[call][0]);
}

static void arguments_are_compared(void **state)
{
    (void)state;
    const uint64_t mask[3] = { UINT64_MAX, UINT64_MAX, UINT64_MAX };
    const uintptr_t first = (uintptr_t)FIRST, second = (uintptr_t)SECOND;
    const struct {
        uintptr_t before[3], now[3];
        size_t size;
        bool agree;
    } cases[] = {
        { { 7, 8, 9 }, { 7, 8, 9 }, 24, true },
        { { 7, 8, 9 }, { 7, 8, 10 }, 24, false },
        { { 7, 8, 9 }, { 7, 8, 10 }, 16, true }, /* behind the arguments */
        { { 7, 8, 9 }, { 7, 8, 9 | 0x100 }, 17, true },
        { { 7, 8, 9 }, { 7, 8, 9 | 0x100 }, 18, false }, /* a part of a word */
        /* the nth block of each call, at any address */
        { { first, 8, second + 16 }, { second, 8, first + 16 }, 24, true },
        { { first, 8, second + 16 }, { second, 8, first + 8 }, 24, false },
        { { first, second, 9 }, { second, second, 9 }, 24, false },
        { { first, 8, 9 }, { second, 9, 9 }, 24, false },
        { { first, 8, second }, { first, 8, second }, 24, false },
        { { first, 8, 9 }, { 7, 8, 9 }, 24, false },
        { { 7, 8, 9 }, { first, 8, 9 }, 24, false },
        { { 7, first, 9 }, { 7, 8, 9 }, 24, false },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        pair p;
        begin(&p);
        launch(&p, 0, cases[i].size, cases[i].before, mask);
        launch(&p, 1, cases[i].size, cases[i].now, mask);
        if (cases[i].agree) {
            assert_agree(&p);
        } else {
            assert_differ(&p, OTHER);
        }
    }
}

/* If padding is not known in one of the calls, addresses are compared, and numbers are not. */
static void numbers_in_doubt_are_not_compared(void **state)
{
    (void)state;
    static const adzi_addresses table[] = { { 0, 1, 8, 0 }, { 0 } };
    const uintptr_t blocks[] = { (uintptr_t)FIRST, (uintptr_t)SECOND };
    const struct {
        uintptr_t words[2][2];
        bool agree;
    } cases[] = {
        { { { 7, 8 }, { 7, 9 } }, true }, { { { 7, 8 }, { 8, 8 } }, false },
        { { { blocks[0], 8 }, { blocks[1], 9 } }, true },  /* the first block of each call */
        { { { blocks[0], 8 }, { blocks[0], 8 } }, false }, /* the first one and the second one */
        { { { blocks[0], 8 }, { blocks[1] + 8, 8 } }, false }, /* at another offset */
    };
    const uint64_t mask[2] = { UINT64_MAX, UINT64_MAX };
    for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; ++i) {
        pair p;
        begin(&p);
        for (int k = 0; k < 2; ++k) {
            adz_plan *plan = &p.plans[k];
            by_hand_store(plan, (char *)blocks[k], 0, BYTES);
            by_hand_store(plan, (char *)blocks[1 - k], 0, BYTES);
            plan->capture.launched(&plan->capture, by_hand_kernel, cases[i / 2].words[k],
                &(adzi_args_layout){ table, (size_t)k == i % 2 ? NULL : mask }, 16, 1, 1);
        }
        assert_true(agree(&p) == cases[i / 2].agree);
    }
}

/* A number is not a reference, even if it is an address in a block. */
static void numbers_are_compared_as_bytes(void **state)
{
    (void)state;
    static const adzi_addresses none[] = { { 0 } };
    const uint64_t mask = UINT64_MAX;
    const uintptr_t word = (uintptr_t)FIRST;
    pair p;
    begin(&p);
    for (int k = 0; k < 2; ++k) {
        adz_plan *plan = &p.plans[k];
        by_hand_store(plan, k == 0 ? FIRST : SECOND, 0, BYTES);
        by_hand_store(plan, k == 0 ? SECOND : FIRST, 0, BYTES);
        plan->capture.launched(
            &plan->capture, by_hand_kernel, &word, &(adzi_args_layout){ none, &mask }, 8, 1, 1);
    }
    assert_agree(&p);
}

/* ---- arguments of operators ------------------------------------------------------------------ */

static void enter(pair *p, int call, adz_tensor *t)
{
    p->plans[call].capture.entered(&p->plans[call].capture, "exp", &t, 1);
}

static void arguments_of_operators_are_compared(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *a = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), *b = adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32),
               *c = adz_reshape(a, ADZ_SHAPE(3, 2));
    adz_tensor *const now[] = { a, b, c };
    const char *const why[] = { NULL, "an argument of exp is another tensor each time",
        "an argument of exp has another shape or layout each time" };
    for (int i = 0; i < 3; ++i) {
        pair p;
        begin(&p);
        enter(&p, 0, b);
        enter(&p, 1, b);
        enter(&p, 0, a);
        enter(&p, 1, now[i]);
        if (why[i] == NULL) {
            assert_agree(&p);
        } else {
            assert_differ(&p, why[i]);
        }
    }
    for (int more = 0; more < 2; ++more) {
        pair p;
        begin(&p);
        enter(&p, more, a);
        assert_agree(&p); /* the launches of one more call are compared */
    }
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_call_agrees_with_nothing),
        cmocka_unit_test(numbers_are_compared),
        cmocka_unit_test(numbers_of_other_operators_are_not_compared),
        cmocka_unit_test(constants_are_compared),
        cmocka_unit_test(all_elements_of_a_constant_are_compared),
        cmocka_unit_test(launches_are_compared),
        cmocka_unit_test(numbers_of_launches_are_compared),
        cmocka_unit_test(arguments_are_compared),
        cmocka_unit_test(numbers_in_doubt_are_not_compared),
        cmocka_unit_test(numbers_are_compared_as_bytes),
        cmocka_unit_test(arguments_of_operators_are_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
