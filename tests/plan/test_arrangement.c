/* Where the blocks of a run lie (src/plan/memory.c), and where updates move to (updates.c). The
 * tests make captured calls by hand.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "by_hand.h"

/* ---- locations ------------------------------------------------------------------------------- */

enum { MOST_BLOCKS = 40 };

typedef struct memory {
    adzi_plan_block blocks[MOST_BLOCKS];
    adzi_captured_call call;
} memory;

static adzi_plan_block *add(memory *m, size_t bytes, int64_t first, int64_t last)
{
    adzi_plan_block *b = &m->blocks[m->call.blocks.count++];
    *b = (adzi_plan_block){ .bytes = bytes, .first = first, .last = last };
    b->tensor = true;
    b->host = ADZI_PLAN_MEMORY;
    b->offset = 9999;
    return b;
}

/* A block that ends within the call. */
static void add_of_run(memory *m, size_t bytes, int64_t first, int64_t last)
{
    adzi_plan_block *b = add(m, bytes, first, last);
    b->freed = true;
}

static void arrange(memory *m)
{
    m->call.blocks.all = m->blocks;
    assert_true(adzi_plan_arrange(&m->call));
}

static void assert_offsets(const memory *m, const size_t *offsets)
{
    for (size_t i = 0; i < m->call.blocks.count; ++i) {
        if (m->blocks[i].offset != offsets[i]) {
            fail_msg("block %zu lies at %zu", i, m->blocks[i].offset);
        }
    }
}

static void the_largest_block_comes_first(void **state)
{
    (void)state;
    memory m = { .call = { .refused = false } };
    add_of_run(&m, 65, 0, 4);
    add_of_run(&m, 64, 4, 5); /* in use while the launch 4 runs, as the one before is */
    add_of_run(&m, 64, 5, 6);
    add_of_run(&m, 10, 7, 9);
    add_of_run(&m, 200, 6, 8);
    add_of_run(&m, 500, -1, 0); /* of no launch */
    add(&m, 500, 0, 9);         /* lives longer than the call */
    arrange(&m);
    assert_offsets(&m, (size_t[]){ 0, 128, 256, 256, 0, 9999, 9999 });
    assert_int_equal(m.call.memory_bytes, 320);
}

static void of_equal_blocks_the_earlier_comes_first(void **state)
{
    (void)state;
    memory m = { .call = { .refused = false } };
    add_of_run(&m, 64, 2, 3);
    add_of_run(&m, 64, 0, 2);
    add_of_run(&m, 64, 1, 2);
    arrange(&m);
    assert_offsets(&m, (size_t[]){ 128, 0, 64 });
    assert_int_equal(m.call.memory_bytes, 192);
}

static void a_gap_may_be_filled_exactly(void **state)
{
    (void)state;
    memory m = { .call = { .refused = false } };
    add_of_run(&m, 256, 0, 1);
    add_of_run(&m, 192, 1, 3);
    add_of_run(&m, 128, 2, 4);
    add_of_run(&m, 128, 3, 5); /* between the two before */
    add_of_run(&m, 60, 3, 3);  /* behind them */
    arrange(&m);
    assert_offsets(&m, (size_t[]){ 0, 256, 0, 128, 448 });
    assert_int_equal(m.call.memory_bytes, 512);
}

static void blocks_lie_in_tensors_that_are_written_later(void **state)
{
    (void)state;
    memory m = { .call = { .refused = false } };
    add(&m, 128, 5, 9); /* the smaller one is used first */
    add(&m, 256, 5, 9);
    add_of_run(&m, 128, 0, 4);
    add_of_run(&m, 64, 4, 4);
    add_of_run(&m, 64, 0, 5); /* the tensors are in use at the launch 5 */
    add_of_run(&m, 64, 0, 3);
    add_of_run(&m, 300, 0, 3);         /* too large */
    add(&m, 64, 7, 9)->tensor = false; /* constants have their values from the begin */
    add(&m, 64, -1, 9);                /* of no launch */
    arrange(&m);
    const size_t none = ADZI_PLAN_MEMORY;
    assert_offsets(&m, (size_t[]){ 9999, 9999, 0, 0, 320, 0, 0, 9999, 9999 });
    const size_t hosts[] = { none, none, 0, 1, none, 1, none, none, none };
    for (size_t i = 0; i < m.call.blocks.count; ++i) {
        assert_true(m.blocks[i].host == hosts[i]);
    }
    assert_int_equal(m.call.memory_bytes, 384);
}

/* The fill of a number may then run earlier, and no other block lies where it writes. */
static void numbers_keep_their_location(void **state)
{
    (void)state;
    memory m = { .call = { .n_launches = 9 } };
    add(&m, 256, 5, 9); /* lives longer than the call */
    add_of_run(&m, 128, 0, 2);
    add_of_run(&m, 8, 3, 3);
    add_of_run(&m, 4, 4, 4);
    add_of_run(&m, 9, 3, 3); /* more than a number */
    arrange(&m);
    assert_offsets(&m, (size_t[]){ 9999, 0, 0, 64, 0 });
    const size_t none = ADZI_PLAN_MEMORY;
    const size_t hosts[] = { none, 0, none, none, 0 };
    for (size_t i = 0; i < m.call.blocks.count; ++i) {
        assert_true(m.blocks[i].host == hosts[i]);
    }
    assert_int_equal(m.call.memory_bytes, 128);
}

/* Two blocks of one location that are in use at the same time. */
static bool clash(const adzi_plan_block *a, const adzi_plan_block *b)
{
    return a->freed && b->freed && a->host == b->host && a->first <= b->last &&
           b->first <= a->last && a->offset < b->offset + b->bytes &&
           b->offset < a->offset + a->bytes;
}

static void no_two_blocks_clash(void **state)
{
    (void)state;
    uint32_t seed = 1;
    for (int round = 0; round < 200; ++round) {
        memory m = { .call = { .refused = false } };
        for (int i = 0; i < MOST_BLOCKS; ++i) {
            seed = seed * 1664525 + 1013904223;
            const int64_t first = seed >> 27;
            adzi_plan_block *b = add(&m, (seed >> 8) % 500, first, first + (seed >> 20) % 8);
            b->freed = i % 5 != 0;
        }
        arrange(&m);
        for (size_t i = 0; i < MOST_BLOCKS; ++i) {
            const adzi_plan_block *b = &m.blocks[i];
            const adzi_plan_block *host = b->host != ADZI_PLAN_MEMORY ? &m.blocks[b->host] : NULL;
            for (size_t k = 0; k < i; ++k) {
                assert_false(clash(b, &m.blocks[k]));
            }
            assert_true(!b->freed || b->offset % 64 == 0);
            assert_true(host == NULL || b->last < host->first);
            assert_true(!b->freed ||
                        b->offset + b->bytes <= (host != NULL ? host->bytes : m.call.memory_bytes));
        }
    }
}

static void refused_memory_is_noted(void **state)
{
    (void)state;
    memory m = { .call = { .refused = false } };
    add_of_run(&m, 64, 0, 1);
    m.call.blocks.all = m.blocks;
    adzi_alloc_fail_at(1);
    assert_false(adzi_plan_arrange(&m.call));
    adzi_alloc_fail_at(0);
}

/* The words of launches that refer to blocks of the run, and no others, are changed. */
static void references_follow_their_blocks(void **state)
{
    (void)state;
    adz_plan plan;
    by_hand_begin(&plan);
    char *const run = ADDRESS(0), *const guest = ADDRESS(0x1000), *const host = ADDRESS(0x2000);
    by_hand_store(&plan, run, 0, 128);
    by_hand_store(&plan, guest, 0, 100);
    BY_HAND_LAUNCH(&plan, 1);
    BY_HAND_LAUNCH(&plan, (uintptr_t)guest + 16);
    BY_HAND_LAUNCH(&plan, (uintptr_t)run + 8, 7, (uintptr_t)run);
    by_hand_store(&plan, host, 64, 128);
    BY_HAND_LAUNCH(&plan, (uintptr_t)host + 64 + 24, (uintptr_t)run);
    plan.capture.freed(&plan.capture, run, 128);
    plan.capture.freed(&plan.capture, guest, 100);
    adzi_captured_call *c = plan.current;
    assert_true(adzi_captured_call_close(c));
    assert_true(c->memory_bytes == 128 && c->blocks.all[1].host == 2);
    c->blocks.all[0].offset = 512; /* as if there were other blocks */
    c->blocks.all[1].offset = 32;
    char *const to = ADDRESS(0x10000);
    adzi_captured_call_move_to(c, to);
    const uintptr_t expected[][3] = { { 1 }, { (uintptr_t)host + 64 + 32 + 16 },
        { (uintptr_t)to + 512 + 8, 7, (uintptr_t)to + 512 },
        { (uintptr_t)host + 64 + 24, (uintptr_t)to + 512 } };
    for (int i = 0; i < 4; ++i) {
        assert_memory_equal(c->launches[i].args, expected[i], c->launches[i].size);
    }
    by_hand_end(&plan);
}

/* ---- updates --------------------------------------------------------------------------------- */

enum { BYTES = 64 };

#define GRADIENT ADDRESS(0)
#define OTHER    ADDRESS(0x1000)
#define VALUES   ADDRESS(0x9000) /* of the parameter, outside */

typedef struct updated {
    adz_plan plan;
    adzi_storage storages[10];
    adz_tensor tensors[10]; /* the parameter, the gradient, states */
    int64_t launches;
} updated;

static void begin(updated *u)
{
    memset(u, 0, sizeof *u);
    by_hand_begin(&u->plan);
    for (int i = 0; i < 10; ++i) {
        u->storages[i] = (adzi_storage){ .data = ADDRESS(0x9000 + i * 0x100), .bytes = BYTES };
        u->tensors[i].storage = &u->storages[i];
    }
    u->storages[1].data = GRADIENT;
    by_hand_store(&u->plan, GRADIENT, 0, BYTES);
    by_hand_store(&u->plan, OTHER, 0, BYTES);
}

/* Launches are numbered by their units. */
static void launch(updated *u, uintptr_t a, uintptr_t b)
{
    const uintptr_t words[] = { a, b }, mask[] = { UINTPTR_MAX, UINTPTR_MAX };
    u->plan.capture.launched(&u->plan.capture, by_hand_kernel, words, BY_HAND_LAYOUT(mask),
        sizeof words, u->launches++, 1);
}

static void update(updated *u, int tensors, int launches)
{
    adz_tensor *list[10];
    for (int i = 0; i < 10; ++i) {
        list[i] = &u->tensors[i];
    }
    u->plan.capture.updates(&u->plan.capture, list, tensors);
    for (int i = 0; i < launches; ++i) {
        launch(u, (uintptr_t)u->storages[1].data, (uintptr_t)VALUES);
    }
    u->plan.capture.updates(&u->plan.capture, NULL, 0);
}

static void assert_order(updated *u, const char *digits)
{
    adzi_capture *capture = &u->plan.capture;
    capture->freed(capture, GRADIENT, BYTES);
    capture->freed(capture, OTHER, BYTES);
    adzi_captured_call *c = u->plan.current;
    assert_true(adzi_captured_call_close(c));
    char order[32] = "";
    for (size_t i = 0; i < c->n_launches; ++i) {
        order[i] = (char)('0' + c->launches[i].units);
    }
    assert_string_equal(order, digits);
    by_hand_end(&u->plan);
}

/* The update follows the last launch that uses one of its tensors. */
static void an_update_follows_what_uses_its_tensors(void **state)
{
    (void)state;
    const uintptr_t other = (uintptr_t)OTHER, gradient = (uintptr_t)GRADIENT,
                    values = (uintptr_t)VALUES;
    const struct {
        uintptr_t a, b;
        const char *order;
    } cases[] = {
        { 7, 8, "021" },
        { other, 8, "021" },
        { other, other + 8, "021" },
        { values, 8, "012" },
        { 8, values, "012" },
        { other, values + BYTES - 1, "012" },
        { other, values + BYTES, "021" },
        { values - 1, 8, "021" },
        { gradient, 8, "012" },
        { other, gradient + 8, "012" },
        { 7, gradient + BYTES - 1, "012" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        updated u;
        begin(&u);
        launch(&u, (uintptr_t)GRADIENT, (uintptr_t)VALUES);
        launch(&u, cases[i].a, cases[i].b);
        update(&u, 2, 1);
        assert_order(&u, cases[i].order);
    }
}

static void an_update_may_come_first(void **state)
{
    (void)state;
    updated u;
    begin(&u);
    launch(&u, 7, 8);
    launch(&u, 7, 8);
    update(&u, 2, 2);
    launch(&u, 7, 8);
    assert_order(&u, "23014");
}

/* An earlier block of the call had the address of the gradient. */
static void blocks_are_told_apart(void **state)
{
    (void)state;
    updated u;
    begin(&u);
    launch(&u, (uintptr_t)GRADIENT, 8);
    u.plan.capture.freed(&u.plan.capture, GRADIENT, BYTES);
    by_hand_store(&u.plan, GRADIENT, 0, BYTES);
    update(&u, 2, 1);
    assert_int_equal(u.plan.current->n_updates, 1);
    assert_order(&u, "10");
}

/* The lifetimes of blocks follow the new order. */
static void a_gradient_ends_with_its_update(void **state)
{
    (void)state;
    updated u;
    begin(&u);
    by_hand_store(&u.plan, ADDRESS(0x2000), 0, BYTES); /* of no launch */
    launch(&u, (uintptr_t)GRADIENT, (uintptr_t)VALUES);
    launch(&u, (uintptr_t)OTHER, 8);
    update(&u, 2, 1);
    launch(&u, (uintptr_t)OTHER, 8);
    adzi_captured_call *c = u.plan.current;
    u.plan.capture.freed(&u.plan.capture, GRADIENT, BYTES);
    u.plan.capture.freed(&u.plan.capture, OTHER, BYTES);
    assert_true(adzi_captured_call_close(c));
    assert_true(c->blocks.all[0].first == 0 && c->blocks.all[0].last == 1);
    assert_true(c->blocks.all[1].first == 2 && c->blocks.all[1].last == 3);
    assert_true(c->blocks.all[2].first == -1);
    by_hand_end(&u.plan);
}

static void only_small_updates_move(void **state)
{
    (void)state;
    const struct {
        int tensors, launches;
        const char *order;
    } cases[] = { { 8, 1, "10" }, { 9, 1, "01" }, { 2, 8, "123456780" }, { 2, 9, "0123456789" } };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        updated u;
        begin(&u);
        launch(&u, 7, 8);
        update(&u, cases[i].tensors, cases[i].launches);
        assert_order(&u, cases[i].order);
    }
}

static void never_called(void *data, void *user)
{
    (void)data;
    (void)user;
    assert_true(false);
}

/* A state in foreign memory, after which no tensor counts. */
static void updates_in_foreign_memory_stay(void **state)
{
    (void)state;
    for (int i = 0; i < 3; ++i) {
        updated u;
        begin(&u);
        u.storages[i].deleter = never_called;
        launch(&u, 7, 8);
        update(&u, 3, 1);
        assert_int_equal(u.plan.current->n_updates, 0);
        assert_order(&u, "01");
    }
}

static void updates_of_gradients_that_live_on_stay(void **state)
{
    (void)state;
    for (int outside = 0; outside < 2; ++outside) {
        updated u;
        begin(&u);
        by_hand_store(&u.plan, ADDRESS(0x2000), 0, BYTES); /* is not freed */
        u.storages[1].data = outside != 0 ? ADDRESS(0x3000) : ADDRESS(0x2000);
        launch(&u, 7, 8);
        update(&u, 2, 1);
        assert_order(&u, "01");
    }
}

static adz_status of_the_host(const void *args)
{
    (void)args;
    return ADZ_OK;
}

static void no_update_passes_the_host(void **state)
{
    (void)state;
    updated u;
    begin(&u);
    const uintptr_t args[1] = { 1 }, mask[1] = { UINTPTR_MAX };
    launch(&u, 7, 8);
    u.plan.capture.repeated(&u.plan.capture, of_the_host, args, BY_HAND_LAYOUT(mask), sizeof args);
    launch(&u, 7, 8);
    update(&u, 2, 1);
    assert_order(&u, "0021");
}

/* The second word of the first launch looks like the parameter's address. */
static void updates_move_before_numbers(void **state)
{
    (void)state;
    static const adzi_addresses table[] = { { 0, 1, 8, 0 }, { 0 } };
    for (int known = 0; known < 2; ++known) {
        updated u;
        begin(&u);
        const uintptr_t args[2] = { 7, (uintptr_t)VALUES }, mask[] = { UINTPTR_MAX, UINTPTR_MAX };
        adzi_capture *capture = &u.plan.capture;
        capture->launched(capture, by_hand_kernel, args,
            &(adzi_args_layout){ table, known != 0 ? mask : NULL }, sizeof args, u.launches++, 1);
        update(&u, 2, 1);
        assert_order(&u, "10");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_largest_block_comes_first),
        cmocka_unit_test(of_equal_blocks_the_earlier_comes_first),
        cmocka_unit_test(a_gap_may_be_filled_exactly),
        cmocka_unit_test(blocks_lie_in_tensors_that_are_written_later),
        cmocka_unit_test(numbers_keep_their_location),
        cmocka_unit_test(no_two_blocks_clash),
        cmocka_unit_test(refused_memory_is_noted),
        cmocka_unit_test(references_follow_their_blocks),
        cmocka_unit_test(an_update_follows_what_uses_its_tensors),
        cmocka_unit_test(an_update_may_come_first),
        cmocka_unit_test(blocks_are_told_apart),
        cmocka_unit_test(a_gradient_ends_with_its_update),
        cmocka_unit_test(only_small_updates_move),
        cmocka_unit_test(updates_in_foreign_memory_stay),
        cmocka_unit_test(updates_of_gradients_that_live_on_stay),
        cmocka_unit_test(no_update_passes_the_host),
        cmocka_unit_test(updates_move_before_numbers),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
