/* What a captured call keeps (src/plan/captured_call.c, blocks.c). The tests call the functions
 * of the capture by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "values.h"

/* ---- launches -------------------------------------------------------------------------------- */

static adz_status of_the_host(const void *args)
{
    (void)args;
    return ADZ_OK;
}

static void arguments_are_copied_and_aligned(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    adzi_capture *capture = &plan.capture;
    uint64_t args[8] = { 1, 2, 3, 4, 5, 6, 7, 8 }, mask[8];
    memset(mask, 0xff, sizeof mask);
    mask[1] = 0;
    const adzi_args_layout *layout = BY_HAND_LAYOUT(mask);
    capture->launched(capture, by_hand_kernel, args, layout, 24, 7, 3);
    capture->op = "second";
    capture->launched(capture, by_hand_kernel, args, layout, sizeof args, 1, 1);
    assert_true(plan.current->masked);
    capture->repeated(capture, of_the_host, args, BY_HAND_LAYOUT(NULL), 1);
    assert_false(plan.current->masked);
    capture->launched(capture, by_hand_kernel, args, layout, 8, 1, 1);
    assert_false(plan.current->masked);
    args[0] = 0;
    adzi_captured_call *c = plan.current;
    assert_true(adzi_captured_call_close(c));
    assert_int_equal(c->n_launches, 4);
    const adzi_plan_launch *l = c->launches;
    assert_true(l[0].args_at == 0 && l[1].args_at == 64 && l[2].args_at == 128);
    assert_true(l[3].args_at == 192 && c->args_bytes == 200);
    assert_true(l[0].kernel == by_hand_kernel && l[0].units == 7 && l[0].grain == 3);
    assert_true(l[2].kernel == NULL && l[2].function == of_the_host && l[2].size == 1);
    assert_string_equal(l[0].op, "begin");
    assert_string_equal(l[1].op, "second");
    const uint64_t expected[] = { 1, 0, 3, 4, 5, 6, 7, 8 };
    assert_memory_equal(l[0].args, expected, 24);
    assert_memory_equal(l[1].args, expected, sizeof expected);
    assert_memory_equal(l[2].args, expected, 1);
    assert_true(l[1].args == c->args + 64 && l[0].size == 24);
    by_hand_end(&plan);
}

static void assert_reference(
    const adzi_captured_call *c, size_t i, size_t block, size_t offset, size_t at)
{
    assert_int_equal(c->references[i].block, block);
    assert_int_equal(c->references[i].offset, offset);
    assert_int_equal(c->references[i].at, at);
}

static void addresses_are_references(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    store_all(&plan);
    adzi_captured_call *c = plan.current;
    BY_HAND_LAUNCH(&plan, 1, 2);
    BY_HAND_LAUNCH(&plan, (uintptr_t)TENSOR + HEADER + 8, 5, (uintptr_t)WORKING);
    BY_HAND_LAUNCH(&plan, (uintptr_t)TENSOR + HEADER - 1, (uintptr_t)TENSOR + HEADER + BYTES,
        (uintptr_t)WORKING + BYTES, (uintptr_t)WORKING + BYTES - 1);
    assert_int_equal(c->n_references, 3);
    assert_reference(c, 0, 2, 8, 0);
    assert_reference(c, 1, 1, 0, 16);
    assert_reference(c, 2, 1, BYTES - 1, 24);
    assert_true(c->launches[0].n_references == 0 && c->launches[1].n_references == 2);
    assert_true(c->launches[1].first_reference == 0 && c->launches[2].first_reference == 2);
    const adzi_plan_block *b = c->blocks.all;
    assert_true(b[2].first == 1 && b[2].last == 1 && b[1].first == 1 && b[1].last == 2);
    assert_true(b[0].first == -1 && b[0].number == -1 && b[1].number == 0 && b[2].number == 1);
    assert_true(b[2].tensor && !b[1].tensor && b[2].begin == TENSOR + HEADER);
    assert_true(b[2].bytes == BYTES && b[0].begin == OBJECT && b[0].bytes == BYTES);
    assert_false(b[0].host_object || b[1].host_object || b[2].host_object);
    by_hand_end(&plan);
}

/* The second word is a number that happens to be an address in a block, and so is the fourth one,
 * which lies behind the arguments. */
static void numbers_are_no_references(void **state)
{
    (void)state;
    static const adzi_addresses table[] = { { 0, 1, 8, 0 }, { 16, 2, 8, 0 }, { 0 } };
    const uintptr_t words[] = { (uintptr_t)WORKING, (uintptr_t)WORKING, (uintptr_t)OBJECT,
        (uintptr_t)TENSOR + HEADER };
    for (int known = 0; known < 2; ++known) {
        adz_plan plan;
        by_hand_begin(&plan);
        store_all(&plan);
        const uint64_t mask[] = { UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX };
        const adzi_args_layout layout = { table, known != 0 ? mask : NULL };
        adzi_capture *capture = &plan.capture;
        capture->launched(capture, by_hand_kernel, words, &layout, 24, 1, 1);
        capture->repeated(capture, of_the_host, words + 1, &layout, 8);
        adzi_captured_call *c = plan.current;
        assert_int_equal(c->n_references, 2);
        assert_reference(c, 0, 1, 0, 0);
        assert_reference(c, 1, 1, 0, 0);
        assert_true(c->launches[0].n_references == 1 && c->launches[1].n_references == 1);
        assert_true(c->launches[0].addresses == table && c->launches[1].addresses == table);
        assert_true(c->blocks.all[0].host_object && c->blocks.all[2].first == -1);
        by_hand_end(&plan);
    }
}

static void a_kernel_uses_no_object_that_ends(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    store_all(&plan);
    adzi_capture *capture = &plan.capture;
    capture->allocated(capture, ADDRESS(0x3000), BYTES);
    BY_HAND_LAUNCH(&plan, (uintptr_t)OBJECT + BYTES - 1, (uintptr_t)TENSOR + 1,
        (uintptr_t)ADDRESS(0x3000) + BYTES);
    adzi_captured_call *c = plan.current;
    assert_true(c->blocks.all[0].host_object && !c->blocks.all[2].host_object);
    assert_false(c->blocks.all[3].host_object); /* its end is not in it */
    capture->freed(capture, ADDRESS(0x3000), BYTES);
    capture->freed(capture, TENSOR, HEADER + BYTES);
    assert_null(c->why);
    capture->op = "first";
    capture->freed(capture, OBJECT, BYTES);
    assert_non_null(strstr(c->why, "an object that the function makes and ends"));
    assert_string_equal(c->why_op, "first");
    capture->allocated(capture, OBJECT, BYTES);
    BY_HAND_LAUNCH(&plan, (uintptr_t)OBJECT);
    capture->op = "second";
    capture->freed(capture, OBJECT, BYTES);
    assert_string_equal(c->why_op, "first");
    by_hand_end(&plan);
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* Blocks are found by address, in whatever order they come and go. */
static void blocks_are_found_by_address(void **state)
{
    (void)state;
    enum { COUNT = 12 };
    adz_plan plan;
    by_hand_begin(&plan);
    adzi_capture *capture = &plan.capture;
    adzi_plan_blocks *blocks = &plan.current->blocks;
    assert_true(adzi_plan_blocks_find(blocks, ADDRESS(0)) == SIZE_MAX);
    assert_true(adzi_plan_blocks_remove(blocks, ADDRESS(0)) == SIZE_MAX);
    assert_true(adzi_plan_blocks_use_by_host(blocks, ADDRESS(0)));
    for (int i = 0; i < COUNT; ++i) { /* block i lies at position 5 * i % COUNT */
        by_hand_store(&plan, ADDRESS(5 * i % COUNT * 0x100), 0x20, 0x80);
    }
    for (int removed = 0; removed < COUNT; ++removed) {
        for (size_t i = 0; i < COUNT; ++i) {
            const size_t found = i < (size_t)removed ? SIZE_MAX : i;
            const char *begin = ADDRESS(5 * i % COUNT * 0x100);
            assert_true(adzi_plan_blocks_find(blocks, begin + 0x20) == found);
            assert_true(adzi_plan_blocks_find(blocks, begin + 0x9f) == found);
            assert_true(adzi_plan_blocks_find(blocks, begin + 0x1f) == SIZE_MAX);
            assert_true(adzi_plan_blocks_find(blocks, begin + 0xa0) == SIZE_MAX);
        }
        char *next = ADDRESS(5 * removed % COUNT * 0x100);
        capture->freed(capture, next + 8, 8); /* of another list */
        assert_int_equal(blocks->n_live, COUNT - removed);
        capture->freed(capture, next, 0xa0);
        assert_true(blocks->all[removed].freed && blocks->all[removed].number == removed);
    }
    assert_int_equal(blocks->n_live, 0);
    capture->stored(capture, ADDRESS(0), 8); /* of no block */
    adzi_plan_blocks_free(blocks);
    assert_true(blocks->all == NULL && blocks->count == 0 && blocks->capacity == 0);
    by_hand_end(&plan);
}

/* The memory of the captured call itself is no part of it. */
static void the_capture_does_not_capture_itself(void **state)
{
    (void)state;
    enum { COUNT = 200 };
    static char *blocks[COUNT];
    adz_plan plan;
    by_hand_begin(&plan);
    adzi_capture_begin(&plan.capture);
    adz_tensor *t = adz_keep(adz_ones(ADZ_SHAPE(3), ADZ_F32));
    const size_t before = plan.current->blocks.count;
    for (size_t i = 0; i < COUNT; ++i) {
        blocks[i] = adzi_alloc(64);
        plan.capture.number(&plan.capture, 1);
        plan.capture.constant(&plan.capture, t);
        BY_HAND_LAUNCH(&plan, i);
    }
    assert_int_equal(plan.current->blocks.count, before + COUNT);
    assert_int_equal(plan.current->blocks.n_live, before + COUNT);
    for (size_t i = 0; i < COUNT; ++i) {
        assert_true(plan.current->blocks.all[before + i].begin == blocks[i]);
        adzi_free(blocks[i], 64);
    }
    adzi_capture_end();
    adz_release(&t);
    by_hand_end(&plan);
}

/* ---- refused memory -------------------------------------------------------------------------- */

static void capture_everything(adz_plan *plan, adz_module *m, adz_tensor *t)
{
    adzi_capture *capture = &plan->capture;
    capture->number(capture, 1);
    store_all(plan);
    by_hand_store(plan, t->storage->data, 0, 24);
    capture->updates(capture, (adz_tensor *[]){ t, t }, 2);
    BY_HAND_LAUNCH(plan, (uintptr_t)TENSOR + HEADER, (uintptr_t)WORKING);
    capture->updates(capture, NULL, 0);
    const uintptr_t unknown[] = { (uintptr_t)ADDRESS(0x5000) };
    by_hand_store(plan, ADDRESS(0x5000), 0, 8);
    by_hand_launch(plan, unknown, NULL, sizeof unknown);
    capture->constant(capture, t);
    capture->entered(capture, "operator", &t, 1);
    adz_tensor outside = view(ADDRESS(0x8000), ADZ_F32, 1, 2, 1);
    capture->host_may_read(capture, &outside);
    capture->written(capture, &outside);
    static adzi_gradient gradient;
    capture->gradient(capture, &gradient);
    capture->replaced(capture, m, "a", t);
}

/* A captured call without some part must not be replayed. */
static void every_refusal_is_noted(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = module_new();
    adz_tensor *t = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    const int64_t live = adzi_live_bytes();
    for (int n = 1;; ++n) {
        adz_plan plan;
        by_hand_begin(&plan);
        adzi_captured_call *c = plan.current;
        adzi_alloc_fail_at(n);
        capture_everything(&plan, m, t);
        const bool closed = adzi_captured_call_close(c), failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true(closed == !failed);
        by_hand_end(&plan);
        assert_int_equal(adzi_live_bytes(), live);
        if (!failed) {
            assert_true(n > 12);
            break;
        }
    }
    adz_module_release(&m);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(arguments_are_copied_and_aligned),
        cmocka_unit_test(addresses_are_references),
        cmocka_unit_test(numbers_are_no_references),
        cmocka_unit_test(a_kernel_uses_no_object_that_ends),
        cmocka_unit_test(blocks_are_found_by_address),
        cmocka_unit_test(the_capture_does_not_capture_itself),
        cmocka_unit_test(every_refusal_is_noted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
