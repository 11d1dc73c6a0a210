/* The blocks of memory that a captured call allocates. They are looked up by address, because the
 * arguments of a launch contain addresses, which may lie anywhere in a block. */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"

/* The number of living blocks that begin at or below an address. */
static size_t index_of(const adzi_plan_blocks *blocks, const char *address)
{
    size_t low = 0, high = blocks->n_live;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if ((uintptr_t)blocks->live[middle].begin <= (uintptr_t)address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

bool adzi_plan_blocks_add(adzi_plan_blocks *blocks, char *begin, size_t bytes)
{
    if (!adzi_grow(&blocks->all, &blocks->capacity, blocks->count + 1, sizeof *blocks->all) ||
        !adzi_grow(
            &blocks->live, &blocks->live_capacity, blocks->n_live + 1, sizeof *blocks->live)) {
        return false;
    }
    const size_t at = index_of(blocks, begin);
    memmove(&blocks->live[at + 1], &blocks->live[at], (blocks->n_live - at) * sizeof *blocks->live);
    blocks->live[at] = (struct adzi_plan_live){ begin, begin + bytes, blocks->count };
    ++blocks->n_live;
    blocks->all[blocks->count++] = (adzi_plan_block){
        .begin = begin, .bytes = bytes, .number = -1, .first = -1, .host = ADZI_PLAN_MEMORY
    };
    return true;
}

void adzi_plan_blocks_store(adzi_plan_blocks *blocks, char *data, size_t bytes)
{
    const size_t at = index_of(blocks, data);
    if (at == 0) {
        return; /* memory for the list of blocks was refused */
    }
    struct adzi_plan_live *live = &blocks->live[at - 1];
    adzi_plan_block *block = &blocks->all[live->block];
    /* A header and the elements of a tensor may share a block. Kernels do not use the header. */
    live->end = data + bytes;
    block->begin = data;
    block->bytes = bytes;
    block->stored = true;
    block->tensor = data != live->begin;
    block->number = blocks->n_stored++;
}

size_t adzi_plan_blocks_remove(adzi_plan_blocks *blocks, const char *begin)
{
    const size_t at = index_of(blocks, begin);
    if (at == 0 || blocks->live[at - 1].begin != begin) {
        return SIZE_MAX;
    }
    const size_t block = blocks->live[at - 1].block;
    blocks->all[block].freed = true;
    --blocks->n_live;
    memmove(
        &blocks->live[at - 1], &blocks->live[at], (blocks->n_live + 1 - at) * sizeof *blocks->live);
    return block;
}

size_t adzi_plan_blocks_find(const adzi_plan_blocks *blocks, const char *address)
{
    const size_t at = index_of(blocks, address);
    if (at == 0) {
        return SIZE_MAX;
    }
    const struct adzi_plan_live *live = &blocks->live[at - 1];
    const bool within = blocks->all[live->block].stored &&
                        (uintptr_t)address < (uintptr_t)live->end &&
                        (uintptr_t)address >= (uintptr_t)blocks->all[live->block].begin;
    return within ? live->block : SIZE_MAX;
}

void adzi_plan_blocks_use_by_host(adzi_plan_blocks *blocks, const char *address)
{
    const size_t at = index_of(blocks, address);
    if (at > 0 && (uintptr_t)address < (uintptr_t)blocks->live[at - 1].end) {
        adzi_plan_block *block = &blocks->all[blocks->live[at - 1].block];
        block->host_object = !block->stored;
    }
}

void adzi_plan_blocks_free(adzi_plan_blocks *blocks)
{
    adzi_free(blocks->all, blocks->capacity * sizeof *blocks->all);
    adzi_free(blocks->live, blocks->live_capacity * sizeof *blocks->live);
    *blocks = (adzi_plan_blocks){ 0 };
}
