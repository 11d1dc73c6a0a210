/* Memory for valgrind and AddressSanitizer: with ADZE_DEBUG_MEMORY=1 in the environment every block
 * comes from the allocator and goes back to it at once. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/system_memory.h"

/* What an allocator has handed out and not got back. */
typedef struct ledger {
    size_t blocks, bytes, requests;
} ledger;

static ledger counts;

static void *take(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    void *block = aligned_alloc(alignment, (bytes + alignment - 1) / alignment * alignment);
    counts.blocks += block != NULL;
    counts.bytes += block != NULL ? bytes : 0;
    ++counts.requests;
    return block;
}

static void give_back(void *block, size_t bytes, void *user)
{
    (void)user;
    --counts.blocks;
    counts.bytes -= bytes;
    free(block);
}

static size_t cached_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.cached_bytes;
}

/* Every request is a block of its own, of exactly the size that was asked for. */
static void blocks_are_neither_cut_nor_kept(void **state)
{
    (void)state;
    static const size_t sizes[] = { 1, 63, 64, 65, 4096, 9216, 9217, 300000, 3000000 };
    const ledger before = counts;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        void *first = adzi_alloc(sizes[i]), *second = adzi_alloc(sizes[i]);
        assert_true(first != NULL && (uintptr_t)first % ADZI_ALIGNMENT == 0);
        assert_int_equal(counts.blocks, before.blocks + 2);
        assert_int_equal(counts.bytes, before.bytes + 2 * sizes[i]);
        adzi_free(first, sizes[i]);
        assert_int_equal(counts.blocks, before.blocks + 1);
        adzi_free(second, sizes[i]);
        assert_int_equal(counts.bytes, before.bytes);
    }
    assert_int_equal(counts.requests, before.requests + 2 * sizeof sizes / sizeof *sizes);
    assert_int_equal(cached_bytes(), 0);
}

/* A step of training gives everything back; what was kept without a release is still held, where a
 * tool for leaks finds it. */
static void leaks_are_held_blocks(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_linear_new(20, 30, NULL), adz_linear_new(30, 1, NULL));
    adz_tensor *leak = NULL;
    ledger before = counts;
    for (int round = 0; round < 2; ++round) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = adz_ones(ADZ_SHAPE(5, 20), ADZ_F32);
        adz_tensor *loss = adz_mean(adz_module_forward(m, x), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_backward(loss), ADZ_OK);
        adz_module_zero_grad(m);
        leak = round == 1 ? adz_keep(x) : NULL;
        adz_scope_close(scope);
        if (round == 0) {
            before = counts; /* the scope's own lists have grown to their size */
        }
    }
    assert_int_equal(counts.blocks, before.blocks + 1);
    adz_release(&leak);
    assert_int_equal(counts.blocks, before.blocks);
    assert_int_equal(counts.bytes, before.bytes);
    adz_module_release(&m);
    assert_int_equal(cached_bytes(), 0);
}

int main(void)
{
    const char *setting = getenv("ADZE_DEBUG_MEMORY");
    const adz_allocator allocator = { take, give_back, NULL };
    if (setting == NULL || !adzi_plain_memory || adz_set_allocator(&allocator) != ADZ_OK) {
        return 1; /* the test is run with the setting */
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_are_neither_cut_nor_kept),
        cmocka_unit_test(leaks_are_held_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
