/* Chains of elementwise launches: a replay gives the bits of an ordinary call, and only launches
 * that may run block by block are in one chain.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "plan/plan.h"
#include "tensor/tensor.h"

enum { ROWS = 200, COLUMNS = 50 };

typedef struct {
    adz_tensor *x, *y, *row, *number;
    adz_tensor *(*function)(const void *what);
} operands;

static adz_tensor *call(void *user)
{
    const operands *o = user;
    return o->function(o);
}

/* Flat operands, a row, a column, a number, and a dtype of another size. */
static adz_tensor *of_all_kinds(const void *what)
{
    const operands *o = what;
    adz_tensor *h = adz_add(adz_tanh(adz_mul(o->x, o->y)), o->row);
    adz_tensor *gate = adz_gt(h, o->y);
    adz_tensor *column = adz_slice(o->x, 1, 3, 4, 1);
    return adz_where(gate, adz_sub(h, column), adz_add_number(adz_square(h), 1));
}

/* Writes in place to what earlier launches read. */
static adz_tensor *in_place(const void *what)
{
    const operands *o = what;
    adz_tensor *h = adz_exp(o->x);
    adz_tensor *sum = adz_add(h, o->y);
    adz_mul_(h, o->y);
    adz_sub_(sum, h);
    return adz_mul(sum, h);
}

/* Reads at other elements what the launch before has written. */
static adz_tensor *other_elements(const void *what)
{
    const operands *o = what;
    adz_tensor *h = adz_mul(o->x, o->y);
    adz_tensor *turned = adz_reshape(adz_transpose(h, 0, 1), ADZ_SHAPE(ROWS, COLUMNS));
    adz_tensor *sum = adz_add(turned, o->x);
    adz_tensor *last = adz_slice(sum, 0, ROWS - 1, ROWS, 1);
    return adz_mul(adz_sub(sum, last), adz_select(h, 0, 1));
}

/* Views of one tensor, half a tensor apart. */
static adz_tensor *halves(const void *what)
{
    const operands *o = what;
    adz_tensor *h = adz_cat((adz_tensor *[]){ o->x, o->y }, 2, 0);
    adz_tensor *top = adz_slice(h, 0, 0, ROWS, 1), *middle = adz_slice(h, 0, 1, ROWS + 1, 1);
    adz_neg_(top);
    adz_mul_(middle, o->y);
    return adz_add(top, middle);
}

/* Numbers that are filled in while the memory of an earlier result is free. */
static adz_tensor *numbers(const void *what)
{
    const operands *o = what;
    adz_tensor *h = adz_exp(adz_mul(o->x, o->y));
    for (int i = 0; i < 4; ++i) {
        h = adz_sub(adz_number_sub(i, h), o->x);
    }
    return h;
}

/* Fills the first row of what earlier launches have written and read. The fill has to stay behind
 * them. */
static adz_tensor *filled(const void *what)
{
    const operands *o = what;
    adz_tensor *h = adz_mul(o->x, o->y);
    adz_tensor *e = adz_exp(h);
    adz_fill_(adz_slice(h, 0, 0, 1, 1), 7);
    return adz_sub(adz_mul(e, o->x), h);
}

/* ---- random programs ------------------------------------------------------------------------ */

enum { TENSORS = 5, STEPS = 14, PROGRAMS = 60 };

static uint32_t program; /* the program that `random_steps` runs */

/* A number below n, the next of the program's. */
static int pick(uint32_t *state, int n)
{
    *state = *state * 1664525u + 1013904223u;
    return (int)((*state >> 16) % (uint32_t)n);
}

/* A part of a tensor: some rows, some columns, or one element. */
static adz_tensor *part_of(adz_tensor *t, uint32_t *state)
{
    const int row = pick(state, 2), rows = 1 + pick(state, 2), column = pick(state, 3);
    switch (pick(state, 3)) {
    case 0:
        return adz_slice(t, 0, row, row + rows, 1);
    case 1:
        return adz_slice(t, 1, column, column + rows, 1);
    default:
        t = adz_slice(t, 0, row, row + 1, 1);
        return adz_slice(t, 1, column, column + 1, 1);
    }
}

/* One step: makes all[i], or writes to it or to a part of it. */
static void random_step(adz_tensor **all, const operands *o, uint32_t *state)
{
    const int i = pick(state, TENSORS), j = pick(state, TENSORS), k = pick(state, TENSORS);
    adz_tensor *a = all[j], *b = all[k];
    switch (pick(state, 14)) {
    case 0:
        all[i] = adz_mul(a, b);
        return;
    case 1:
        all[i] = adz_tanh(a);
        return;
    case 2:
        all[i] = adz_where(adz_gt(a, b), b, adz_neg(a));
        return;
    case 3:
        all[i] = adz_add(a, o->row);
        return;
    case 4:
        all[i] = adz_sub(a, adz_slice(b, 1, 1, 2, 1));
        return;
    case 5:
        all[i] = adz_to(adz_square(adz_to(a, ADZ_F64)), ADZ_F32);
        return;
    case 6:
        all[i] = adz_add(a, adz_reshape(adz_transpose(b, 0, 1), ADZ_SHAPE(ROWS, COLUMNS)));
        return;
    case 7:
        adz_add_(all[i], i == j ? o->x : a);
        return;
    case 8:
        adz_fill_(part_of(all[i], state), 0.5 * pick(state, 5));
        return;
    case 9:
        adz_fill_(all[i], 0.5 * pick(state, 5));
        return;
    case 10:
        adz_copy_(part_of(all[i], state), o->number);
        return;
    default:
        adz_mul_(adz_slice(all[i], 0, 0, ROWS - 1, 1), adz_slice(i == j ? o->y : a, 0, 1, ROWS, 1));
    }
}

static adz_tensor *random_steps(const void *what)
{
    const operands *o = what;
    uint32_t state = program;
    adz_tensor *all[TENSORS] = { adz_clone(o->x), adz_clone(o->y), adz_neg(o->x), adz_tanh(o->y),
        adz_mul(o->x, o->y) };
    for (int step = 0; step < STEPS; ++step) {
        random_step(all, o, &state);
    }
    return adz_cat(all, TENSORS, 0);
}

/* The longest chain of a captured call. */
static size_t longest(const adz_plan *plan)
{
    size_t most = 0;
    for (size_t i = 0; i < plan->last->n_launches; i += plan->last->launches[i].chain) {
        const size_t chain = plan->last->launches[i].chain;
        most = chain > most ? chain : most;
    }
    return most;
}

/* Replays with several contents and numbers of threads have the bits of ordinary calls. */
static size_t compare(adz_tensor *(*function)(const void *), adz_dtype dtype)
{
    size_t chain = 0;
    for (int threads = 1; threads <= 2; ++threads) {
        adz_scope *scope = adz_scope_open();
        adz_set_num_threads(threads);
        operands o = { adz_randn(ADZ_SHAPE(ROWS, COLUMNS), dtype),
            adz_randn(ADZ_SHAPE(ROWS, COLUMNS), dtype), adz_randn(ADZ_SHAPE(COLUMNS), dtype),
            adz_scalar(3, dtype), function };
        adz_plan *plan = adz_plan_new(call, &o, NULL);
        for (int run = 0; run < 4; ++run) {
            adz_copy_(o.x, adz_randn(ADZ_SHAPE(ROWS, COLUMNS), dtype));
            adz_copy_(o.y, adz_randn(ADZ_SHAPE(ROWS, COLUMNS), dtype));
            adz_tensor *wanted = adz_clone(function(&o));
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_true(adz_equal(adz_plan_output(plan), wanted));
        }
        assert_true(plan->captured);
        chain = longest(plan);
        adz_plan_free(&plan);
        adz_scope_close(scope);
    }
    adz_set_num_threads(1);
    return chain;
}

static void launches_of_all_kinds(void **state)
{
    (void)state;
    assert_true(compare(of_all_kinds, ADZ_F32) >= 4);
    assert_true(compare(of_all_kinds, ADZ_F64) >= 4);
    assert_true(compare(numbers, ADZ_F32) >= 10);
}

static void changes_in_place(void **state)
{
    (void)state;
    assert_true(compare(in_place, ADZ_F32) >= 4);
}

static void elements_of_others_end_a_chain(void **state)
{
    (void)state;
    compare(other_elements, ADZ_F32);
    compare(other_elements, ADZ_F64);
    compare(halves, ADZ_F32);
    compare(filled, ADZ_F32);
}

static void random_programs(void **state)
{
    (void)state;
    size_t most = 0;
    for (program = 1; program <= PROGRAMS; ++program) {
        const size_t chain = compare(random_steps, ADZ_F32);
        most = chain > most ? chain : most;
    }
    assert_true(most >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(launches_of_all_kinds),
        cmocka_unit_test(changes_in_place),
        cmocka_unit_test(elements_of_others_end_a_chain),
        cmocka_unit_test(random_programs),
    };
    return cmocka_run_group_tests_name("chains", tests, NULL, NULL);
}
