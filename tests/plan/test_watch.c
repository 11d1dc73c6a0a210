/* What a plan watches between two runs (src/plan/watch.c). The tests make captured calls by hand,
 * and tell the watch of memory that ends.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "by_hand.h"

enum { BYTES = 256 };

/* Ends the call, which the plan has captured or not. */
static void watch(adz_plan *plan, bool captured)
{
    assert_true(adzi_captured_call_close(plan->current));
    plan->last = plan->current;
    plan->current = NULL;
    plan->captured = captured;
    plan->stale = true; /* of the captured call before */
    assert_true(adzi_plan_watch(plan));
    assert_false(plan->stale);
}

static void end(adz_plan *plan)
{
    adzi_plan_unwatch(plan);
    assert_true(plan->n_watched == 0 && plan->watched == NULL && plan->watched_capacity == 0);
    adzi_captured_call_free(plan->last);
}

/* Whether the plan becomes stale when memory ends. */
static bool notices(adz_plan *plan, const void *block, size_t bytes)
{
    adzi_leave_memory(block, bytes);
    const bool stale = plan->stale;
    plan->stale = false;
    return stale;
}

static void every_block_around_an_address_is_noticed(void **state)
{
    (void)state;
    enum { COUNT = 9 };
    adz_plan plan;
    by_hand_begin(&plan);
    for (int i = 0; i < COUNT; ++i) { /* in no order, and twice */
        BY_HAND_LAUNCH(
            &plan, (uintptr_t)ADDRESS(5 * i % COUNT * 64), (uintptr_t)ADDRESS(4 * i % COUNT * 64));
    }
    watch(&plan, true);
    assert_int_equal(plan.n_watched, COUNT);
    for (int i = 0; i < COUNT; ++i) {
        const char *at = ADDRESS(i * 64);
        assert_true(notices(&plan, at, 1));
        assert_true(notices(&plan, at, 0)); /* an empty block lies somewhere too */
        assert_true(notices(&plan, at - 8, 9));
        assert_true(notices(&plan, at, 4096));
        assert_false(notices(&plan, at - 8, 8));
        assert_false(notices(&plan, at - 1, 0));
        assert_false(notices(&plan, at + 1, 63));
    }
    assert_false(notices(&plan, ADDRESS(COUNT * 64), 4096));
    end(&plan);
}

static adz_tensor tensor_at(adzi_storage *storage, char *data)
{
    storage->data = data;
    return (adz_tensor){ .storage = storage, .data = data, .numel = 1 };
}

/* What a replay uses matters once there are replays. What is compared before each call matters
 * always. */
static void what_is_watched(void **state)
{
    (void)state;
    for (int captured = 0; captured < 2; ++captured) {
        adz_plan plan;
        by_hand_begin(&plan);
        adzi_capture *capture = &plan.capture;
        static adzi_storage read, written, used;
        static adzi_gradient gradient;
        adz_tensor a = tensor_at(&read, ADDRESS(0x8000)), b = tensor_at(&written, ADDRESS(0x9000)),
                   c = tensor_at(&used, ADDRESS(0xa002)), *in = &c;
        assert_true(capture->host_may_read(capture, &a));
        capture->written(capture, &b);
        capture->entered(capture, "operator", &in, 1);
        capture->gradient(capture, &gradient);
        by_hand_store(&plan, ADDRESS(0), 0, BYTES);
        by_hand_store(&plan, ADDRESS(0x1000), 0, BYTES);
        BY_HAND_LAUNCH(&plan, (uintptr_t)ADDRESS(0), (uintptr_t)ADDRESS(0x1000),
            (uintptr_t)ADDRESS(0x2000), 0);
        in = &(adz_tensor){ .storage = &(adzi_storage){ .data = ADDRESS(0x1000) },
            .data = ADDRESS(0x1000) };
        capture->entered(capture, "operator", &in, 1); /* a number is no address */
        capture->freed(capture, ADDRESS(0x1000), BYTES);
        watch(&plan, captured != 0);
        assert_true(notices(&plan, &read, sizeof read));
        assert_true(notices(&plan, &gradient, sizeof gradient));
        assert_true(notices(&plan, &written, sizeof written) == (captured != 0));
        assert_true(notices(&plan, ADDRESS(0xa002), 8) == (captured != 0));
        assert_true(notices(&plan, ADDRESS(0), 8) == (captured != 0));
        assert_true(notices(&plan, ADDRESS(0x2000), 8) == (captured != 0));
        assert_false(notices(&plan, ADDRESS(0x1000), 8)); /* it belongs to the run */
        assert_int_equal(plan.n_watched, captured != 0 ? 6 : 2);
        end(&plan);
    }
}

/* Numbers are not watched, whatever they look like, and neither is NULL. */
static void numbers_are_not_watched(void **state)
{
    (void)state;
    static const adzi_addresses table[] = { { 8, 2, 16, 0 }, { 32, 1, 8, 0 }, { 0 } };
    const uintptr_t words[] = { (uintptr_t)ADDRESS(0), (uintptr_t)ADDRESS(0x1000),
        (uintptr_t)ADDRESS(0x2000), 1, 0 };
    for (int known = 0; known < 2; ++known) {
        uintptr_t mask[5];
        memset(mask, 0xff, sizeof mask);
        adz_plan plan;
        by_hand_begin(&plan);
        plan.capture.launched(&plan.capture, by_hand_kernel, words,
            &(adzi_args_layout){ table, known != 0 ? mask : NULL }, sizeof words, 1, 1);
        watch(&plan, true);
        assert_int_equal(plan.n_watched, 2);
        assert_true(notices(&plan, ADDRESS(0x1000), 1) && notices(&plan, (char *)1, 1));
        assert_false(notices(&plan, ADDRESS(0), 1) || notices(&plan, ADDRESS(0x2000), 1));
        end(&plan);
    }
}

/* Words behind the arguments of a launch belong to no launch. */
static void arguments_end_with_their_last_word(void **state)
{
    (void)state;
    const uintptr_t words[2] = { (uintptr_t)ADDRESS(0), (uintptr_t)ADDRESS(0x1000) };
    const uint64_t mask[2] = { UINT64_MAX, UINT64_MAX };
    adz_plan plan;
    by_hand_begin(&plan);
    by_hand_launch(&plan, words, mask, 8);
    watch(&plan, true);
    assert_true(notices(&plan, ADDRESS(0), 1) && plan.n_watched == 1);
    end(&plan);
}

/* Each launch has references of its own. */
static void references_belong_to_their_launch(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    by_hand_store(&plan, ADDRESS(0), 0, BYTES);      /* ends */
    by_hand_store(&plan, ADDRESS(0x1000), 0, BYTES); /* lives on */
    BY_HAND_LAUNCH(&plan, (uintptr_t)ADDRESS(0x3000), (uintptr_t)ADDRESS(0));
    BY_HAND_LAUNCH(&plan, (uintptr_t)ADDRESS(0x4000));
    BY_HAND_LAUNCH(
        &plan, (uintptr_t)ADDRESS(0), (uintptr_t)ADDRESS(0x1000) + 8, (uintptr_t)ADDRESS(0x5000));
    plan.capture.freed(&plan.capture, ADDRESS(0), BYTES);
    watch(&plan, true);
    const ptrdiff_t expected[] = { 0x1008, 0x3000, 0x4000, 0x5000 };
    assert_int_equal(plan.n_watched, 4);
    for (int i = 0; i < 4; ++i) {
        assert_true(plan.watched[i] == ADDRESS(expected[i]));
    }
    end(&plan);
}

/* ---- several plans --------------------------------------------------------------------------- */

static void plans_are_watched_by_themselves(void **state)
{
    (void)state;
    enum { COUNT = 3 };
    static const int orders[][COUNT] = { { 0, 1, 2 }, { 1, 0, 2 }, { 2, 1, 0 } };
    for (int order = 0; order < 3; ++order) {
        adz_plan plans[COUNT];
        for (int i = 0; i < COUNT; ++i) {
            by_hand_begin(&plans[i]);
            BY_HAND_LAUNCH(&plans[i], (uintptr_t)ADDRESS(i * 64), (uintptr_t)ADDRESS(0x1000));
            watch(&plans[i], true);
        }
        assert_non_null(adzi_free_watcher);
        for (int i = 0; i < COUNT; ++i) {
            adzi_leave_memory(ADDRESS(i * 64), 64);
            for (int k = 0; k < COUNT; ++k) {
                assert_true(plans[k].stale == (k == i));
            }
            plans[i].stale = false;
        }
        adzi_leave_memory(ADDRESS(0x1000), 64);
        assert_true(plans[0].stale && plans[1].stale && plans[2].stale);
        for (int i = 0; i < COUNT; ++i) {
            adz_plan *gone = &plans[orders[order][i]];
            end(gone);
            adzi_plan_unwatch(gone); /* which changes nothing */
            for (int k = 0; k < COUNT; ++k) {
                plans[k].stale = false;
            }
            adzi_leave_memory(ADDRESS(0x1000), 64);
            for (int k = i + 1; k < COUNT; ++k) {
                assert_true(plans[orders[order][k]].stale);
            }
            assert_false(gone->stale);
            assert_true((adzi_free_watcher != NULL) == (i + 1 < COUNT));
        }
    }
}

/* ---- what is compared ------------------------------------------------------------------------ */

static void versions_and_gradients_are_compared(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    static adzi_storage storages[2];
    static adzi_gradient gradients[2];
    for (int i = 0; i < 2; ++i) {
        adz_tensor t = tensor_at(&storages[i], ADDRESS(0x8000));
        storages[i].version = 3;
        assert_true(plan.capture.host_may_read(&plan.capture, &t));
        plan.capture.gradient(&plan.capture, &gradients[i]);
    }
    adzi_captured_call *call = plan.current;
    assert_true(adzi_captured_call_close(call));
    assert_false(adzi_captured_call_is_old(call));
    for (int i = 0; i < 2; ++i) {
        ++storages[i].version;
        assert_true(adzi_captured_call_is_old(call));
        --storages[i].version;
        gradients[i].grad = (adz_tensor *)(void *)ADDRESS(0);
        assert_true(adzi_captured_call_is_old(call));
        gradients[i].grad = NULL;
        gradients[i].spoiled = true;
        assert_true(adzi_captured_call_is_old(call));
        gradients[i].spoiled = false;
    }
    assert_false(adzi_captured_call_is_old(call));
    by_hand_end(&plan);
}

/* ---- refused memory -------------------------------------------------------------------------- */

/* Each list is long enough that watching it needs more memory. */
static void a_watch_with_a_gap_is_none(void **state)
{
    (void)state;
    enum { COUNT = 9 };
    static adzi_storage storages[COUNT];
    static adzi_gradient gradients[COUNT];
    for (int part = 0; part < 6; ++part) {
        adz_plan plan;
        by_hand_begin(&plan);
        adzi_capture *capture = &plan.capture;
        by_hand_store(&plan, ADDRESS(0), 0, BYTES);
        for (int i = 0; i < COUNT; ++i) {
            adz_tensor t = tensor_at(&storages[i], ADDRESS(0x8000 + i * 64)), *in = &t;
            switch (part) {
            case 0:
                capture->host_may_read(capture, &t);
                break;
            case 1:
                capture->gradient(capture, &gradients[i]);
                break;
            case 2:
                BY_HAND_LAUNCH(&plan, (uintptr_t)ADDRESS(0x4000));
                break;
            case 3:
                BY_HAND_LAUNCH(&plan, (uintptr_t)ADDRESS(0));
                break;
            case 4:
                capture->written(capture, &t);
                break;
            default:
                capture->entered(capture, "operator", &in, 1);
                break;
            }
        }
        for (int n = 1; n < 3; ++n) { /* the first growth is for 8 */
            if (n == 1) {
                assert_true(adzi_captured_call_close(plan.current));
                plan.last = plan.current;
                plan.captured = true;
            }
            adzi_alloc_fail_at(n);
            assert_false(adzi_plan_watch(&plan));
            assert_true(adzi_alloc_failed());
            adzi_alloc_fail_at(0);
            assert_true(adzi_free_watcher == NULL);
        }
        assert_true(adzi_plan_watch(&plan));
        end(&plan);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_block_around_an_address_is_noticed),
        cmocka_unit_test(what_is_watched),
        cmocka_unit_test(numbers_are_not_watched),
        cmocka_unit_test(arguments_end_with_their_last_word),
        cmocka_unit_test(references_belong_to_their_launch),
        cmocka_unit_test(plans_are_watched_by_themselves),
        cmocka_unit_test(versions_and_gradients_are_compared),
        cmocka_unit_test(a_watch_with_a_gap_is_none),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
