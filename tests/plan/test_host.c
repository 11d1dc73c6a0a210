/* What the host does in a captured function: numbers and elements that it computes, elements that
 * it reads, objects that it makes. A plan refuses what a replay could not repeat.
 */
#define ADZ_SITES
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "errors.h"

enum { ROWS = 4 };

/* ---- numbers and elements of the host -------------------------------------------------------- */

typedef struct caller {
    adz_tensor *x, *w;
    int calls;
} caller;

static adz_tensor *multiplies(void *user)
{
    caller *c = user;
    return adz_mul_number(c->x, ++c->calls);
}

static adz_tensor *fills(void *user)
{
    caller *c = user;
    return adz_mul(c->x, adz_full(ADZ_SHAPE(1), ++c->calls, ADZ_F32));
}

static adz_tensor *copies(void *user)
{
    caller *c = user;
    const float value = (float)++c->calls;
    return adz_mul(c->x, adz_tensor_from(&value, ADZ_SHAPE(1), ADZ_F32));
}

static adz_tensor *slopes(void *user)
{
    caller *c = user;
    return adz_leaky_relu(c->x, 1.0 / ++c->calls);
}

static adz_tensor *moves(void *user)
{
    caller *c = user;
    const int at = ++c->calls % 3;
    return adz_slice(adz_square(c->x), 0, at, at + 2, 1);
}

static adz_tensor *seeds(void *user)
{
    caller *c = user;
    adz_manual_seed((uint64_t)++c->calls);
    return adz_add(c->x, adz_rand(ADZ_SHAPE(ROWS), ADZ_F32));
}

static adz_tensor *draws_between(void *user)
{
    caller *c = user;
    return adz_add(c->x, adz_randint(0, 10 + ++c->calls, ADZ_SHAPE(ROWS), ADZ_F32));
}

static adz_tensor *changes_a_constant(void *user)
{
    caller *c = user;
    ++c->calls;
    const float values[ROWS] = { 1, 2, 3, 4 };
    return adz_add_(adz_tensor_from(values, ADZ_SHAPE(ROWS), ADZ_F32), c->x);
}

static void values_that_change_are_refused(void **state)
{
    (void)state;
    const struct {
        adz_plan_function function;
        const char *message;
        int calls; /* that are made before the refusal */
    } cases[] = {
        { multiplies, "a number of mul at ", 4 },
        { multiplies, "was 3 and is 4 now; put a value that changes into a tensor", 4 },
        { multiplies, "test_host.c:", 4 },
        { fills, "a number of full", 4 },
        { copies, "the elements of a tensor[1] that the function makes", 4 },
        { slopes, "a number of leaky_relu", 4 },
        { seeds, "a number", 4 },
        { draws_between, "a number of randint", 4 },
        { changes_a_constant, "it changes elements that the host has written", 1 },
    };
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        caller c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
        adz_plan *plan = adz_plan_new(cases[i].function, &c, NULL);
        assert_non_null(plan);
        while (adz_plan_run(plan) == ADZ_OK && c.calls < 10) {
        }
        assert_int_equal(c.calls, cases[i].calls); /* the run that fails calls nothing */
        expect_error(ADZ_ERR_STATE, cases[i].message);
        adz_plan_free(&plan);
    }
    adz_scope_close(scope);
}

static void another_slice_is_another_argument(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = { .x = adz_arange(0, ROWS, 1, ADZ_F32) };
    adz_plan *plan = adz_plan_new(moves, &c, NULL);
    for (int k = 2; adz_plan_run(plan) == ADZ_OK; ++k) {
        assert_true(k < 10);
        adz_tensor *expected = adz_slice(adz_square(c.x), 0, k % 3, k % 3 + 2, 1);
        assert_true(adz_equal(adz_plan_output(plan), expected));
    }
    expect_error(ADZ_ERR_STATE, "cannot be captured");
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static adz_tensor *reads_what_it_computes(void *user)
{
    caller *c = user;
    const float *y = adz_tensor_data_constant(adz_relu(c->x));
    return adz_mul_number(c->x, y[0]);
}

static adz_tensor *reads_what_it_writes(void *user)
{
    caller *c = user;
    adz_add_number_(c->w, 1);
    const float *w = adz_tensor_data_constant(c->w);
    return adz_mul_number(c->x, w[0]);
}

static adz_tensor *writes(void *user)
{
    caller *c = user;
    const float values[ROWS] = { 0 };
    return adz_tensor_write(c->w, values, sizeof values) == ADZ_OK ? adz_add(c->x, c->w) : NULL;
}

static adz_tensor *touches(void *user)
{
    caller *c = user;
    adz_tensor_touch(c->w);
    return adz_relu(c->x);
}

static adz_tensor *uses_the_norm(void *user)
{
    caller *c = user;
    return adz_mul_number(c->x, adz_clip_grad_norm(adz_tensor_list_of(&c->w, 1), 1, 2));
}

static adz_tensor *makes_an_optimizer(void *user)
{
    caller *c = user;
    adz_optimizer *sgd = adz_sgd_new(adz_tensor_list_of(&c->w, 1), 0.1, NULL);
    adz_optimizer_release(&sgd);
    return adz_relu(c->x);
}

static void what_the_host_does_is_refused(void **state)
{
    (void)state;
    const struct {
        adz_plan_function function;
        const char *message;
    } cases[] = {
        { reads_what_it_computes, "adz_tensor_data_constant: cannot be captured, because the" },
        { reads_what_it_writes, "adz_tensor_data_constant: cannot be captured, because the" },
        { writes, "tensor_write: cannot be captured" },
        { touches, "adz_tensor_touch: cannot be captured" },
        { uses_the_norm, "call adz_clip_grads" },
        { makes_an_optimizer, "adz_sgd_new: cannot be captured" },
    };
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        caller c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32),
            .w = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
        assert_null(adz_plan_new(cases[i].function, &c, NULL));
        expect_error(ADZ_ERR_STATE, cases[i].message);
    }
    adz_scope_close(scope);
}

/* ---- elements that the program has given ----------------------------------------------------- */

/* Reads and compares elements in every way. Nothing has computed them, so they are constants. */
static adz_tensor *reads_its_own(void *user)
{
    const caller *c = user;
    adz_tensor *three = adz_tensor_from((float[]){ 3 }, ADZ_SHAPE(1), ADZ_F32);
    float value = 0;
    adz_tensor_read(three, &value, sizeof value);
    const bool same = adz_item(three) == 3 && value == 3 &&
                      adz_tensor_at(three, (int64_t[]){ 0 }) == 3 && adz_equal(three, three) &&
                      adz_allclose(three, three, 0, 0, false);
    return same ? adz_mul_number(c->x, value) : adz_relu(c->x);
}

static void constants_may_be_read(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    caller c = { .x = adz_ones(ADZ_SHAPE(ROWS), ADZ_F32) };
    adz_plan *plan = adz_plan_new(reads_its_own, &c, NULL);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(adz_tensor_at(adz_plan_output(plan), (int64_t[]){ 1 }) == 3);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

/* ---- errors that the host finds in a replay -------------------------------------------------- */

static adz_tensor *add_rows(void *user)
{
    adz_tensor **t = user;
    return adz_index_add(adz_zeros(ADZ_SHAPE(5, 2), ADZ_F32), 0, t[0], t[1], 1);
}

/* The error of a replay has the name that the call has recorded it under, and the position in the
 * list that the program gave. */
static void replays_name_compositions(void **state)
{
    (void)state;
    adz_tensor *t[] = { adz_keep(adz_zeros(ADZ_SHAPE(3), ADZ_I64)),
        adz_keep(adz_ones(ADZ_SHAPE(3, 2), ADZ_F32)) };
    adz_plan *plan = adz_plan_new(add_rows, t, NULL);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    adz_tensor_data_i64(t[0])[1] = 5;
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_INDEX);
    assert_string_equal(adz_error_operator(), "index_add");
    expect_error(ADZ_ERR_INDEX, "index_add: index 5 at position [1] is none of the 5 positions");
    adz_plan_free(&plan);
    adz_release(&t[0]);
    adz_release(&t[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_that_change_are_refused),
        cmocka_unit_test(another_slice_is_another_argument),
        cmocka_unit_test(what_the_host_does_is_refused),
        cmocka_unit_test(constants_may_be_read),
        cmocka_unit_test(replays_name_compositions),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
