/* How a replay runs its launches: which ones need no frame, and that an observer sees all of them.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "plan/replay.h"
#include "tensor/tensor.h"

enum { STEPS = 7, FEW = 8, MANY = 40000 };

/* A step adds, multiplies by a number that is broadcast, and copies. */
static adz_status step(adz_tensor **results, adz_tensor *const *in, void *user)
{
    adz_tensor *const *operands = user;
    adz_tensor *sum = adz_add(in[0], in[1]);
    results[0] = adz_clone(adz_mul(sum, operands[1]));
    results[1] = sum;
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *scanned(void *user)
{
    adz_tensor *const *operands = user;
    adz_tensor *start = adz_zeros(ADZ_SHAPE(FEW), ADZ_F64), *found[2];
    if (adz_scan(step, user, &start, 1, operands, 1, 1, NULL, found) != ADZ_OK) {
        return NULL;
    }
    return adz_add(found[0], adz_sum(found[1], ADZ_DIMS(0), ADZ_DROPDIM));
}

static adz_plan *captured(adz_tensor *(*function)(void *), void *user)
{
    adz_plan *plan = adz_plan_new(function, user, NULL);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(plan->captured);
    return plan;
}

static adz_tensor **operands_of_scan(adz_tensor *operands[2])
{
    operands[0] = adz_randn(ADZ_SHAPE(STEPS, FEW), ADZ_F64);
    operands[1] = adz_randn(ADZ_SHAPE(1), ADZ_F64);
    return operands;
}

/* The ways of all launches of an operator that read flat operands, or of those that do not. */
static void assert_ways(const adz_plan *plan, const char *op, bool flat, adzi_plan_way wanted)
{
    const adzi_captured_call *c = plan->last;
    int found = 0;
    for (size_t i = 0; i < c->n_launches; ++i) {
        const adzi_plan_launch *l = &c->launches[i];
        if (l->op == NULL || strcmp(l->op, op) != 0 || l->items[0] == 0 || l->fills ||
            *(const bool *)(const void *)l->args != flat) {
            continue;
        }
        assert_int_equal(c->calls[i].way[true], wanted);
        assert_int_equal(c->calls[i].way[false], l->loop == 0 ? wanted : ADZI_PLAN_OTHERWISE);
        ++found;
    }
    assert_true(found > 0);
}

static void small_launches_need_no_frame(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *operands[2];
    adz_plan *plan = captured(scanned, operands_of_scan(operands));
    assert_true(plan->last->n_loops > 0);
    assert_ways(plan, "add", true, ADZI_PLAN_BY_LOOP);
    assert_ways(plan, "mul", false, ADZI_PLAN_BY_KERNEL);
    assert_ways(plan, "clone", true, ADZI_PLAN_BY_KERNEL);
    for (int run = 0; run < 3; ++run) {
        adz_copy_(operands[0], adz_randn(ADZ_SHAPE(STEPS, FEW), ADZ_F64));
        adz_tensor *wanted = scanned(operands);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(adz_equal(adz_plan_output(plan), wanted));
    }
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static adz_tensor *doubled(void *user)
{
    adz_tensor *const *operands = user;
    return adz_sum(adz_add(operands[0], operands[0]), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static void large_launches_are_cut_for_threads(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_randn(ADZ_SHAPE(MANY), ADZ_F64);
    adz_plan *plan = captured(doubled, &x);
    assert_ways(plan, "add", true, ADZI_PLAN_OTHERWISE);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static int seen;

static void count(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)size;
    ++seen;
    adzi_launch_unobserved(kernel, args, units, grain);
}

static void an_observer_sees_all_launches(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *operands[2];
    adz_plan *plan = captured(scanned, operands_of_scan(operands));
    const adzi_captured_call *c = plan->last;
    adz_tensor *wanted = adz_clone(adz_plan_output(plan));
    seen = 0;
    atomic_store(&adzi_launch_observer, count);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    atomic_store(&adzi_launch_observer, NULL);
    int64_t expected = (int64_t)c->n_launches;
    for (size_t i = 0; i < c->n_loops; ++i) {
        expected += (c->loops[i].times - 1) * (int64_t)c->loops[i].length;
    }
    assert_int_equal(seen, expected);
    assert_true(adz_equal(adz_plan_output(plan), wanted));
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_launches_need_no_frame),
        cmocka_unit_test(large_launches_are_cut_for_threads),
        cmocka_unit_test(an_observer_sees_all_launches),
    };
    return cmocka_run_group_tests_name("replay", tests, NULL, NULL);
}
