/* The blocks of memory that a captured call allocates. They are looked up by address, because the
 * arguments of a launch contain addresses, which may lie anywhere in a block. */
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"

/* Where a living block stands. */
typedef struct {
    size_t leaf, at;
} position;

/* The number of blocks of a leaf that begin at or below an address. */
static size_t count_in(const adzi_plan_leaf *leaf, const char *address)
{
    size_t low = 0, high = leaf->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)leaf->live[middle].begin <= (uintptr_t)address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* The leaf to which a block belongs that begins at an address: the last one that begins at or below
 * it, or the first one. There is at least one. */
static size_t leaf_of(const adzi_plan_blocks *blocks, const char *address)
{
    size_t low = 0, high = blocks->n_leaves;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if ((uintptr_t)blocks->leaves[middle]->live[0].begin <= (uintptr_t)address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low > 0 ? low - 1 : 0;
}

/* The last living block that begins at or below an address; NULL for none. */
static adzi_plan_live *last_at(const adzi_plan_blocks *blocks, const char *address, position *where)
{
    if (blocks->n_leaves == 0) {
        return NULL;
    }
    where->leaf = leaf_of(blocks, address);
    adzi_plan_leaf *leaf = blocks->leaves[where->leaf];
    const size_t count = count_in(leaf, address);
    where->at = count - 1;
    return count > 0 ? &leaf->live[where->at] : NULL;
}

/* Adds an empty leaf at a position among the leaves. */
static adzi_plan_leaf *add_leaf(adzi_plan_blocks *blocks, size_t at)
{
    if (!adzi_grow(&blocks->leaves, &blocks->leaves_capacity, blocks->n_leaves + 1,
            sizeof *blocks->leaves)) {
        return NULL;
    }
    adzi_plan_leaf *leaf = adzi_alloc(sizeof *leaf);
    if (leaf == NULL) {
        return NULL;
    }
    leaf->count = 0;
    memmove(&blocks->leaves[at + 1], &blocks->leaves[at],
        (blocks->n_leaves - at) * sizeof *blocks->leaves);
    blocks->leaves[at] = leaf;
    ++blocks->n_leaves;
    return leaf;
}

/* Moves the upper half of a full leaf to a new one behind it. */
static bool split(adzi_plan_blocks *blocks, size_t at)
{
    adzi_plan_leaf *upper = add_leaf(blocks, at + 1);
    if (upper == NULL) {
        return false;
    }
    adzi_plan_leaf *lower = blocks->leaves[at];
    upper->count = lower->count / 2;
    lower->count -= upper->count;
    memcpy(upper->live, lower->live + lower->count, upper->count * sizeof *upper->live);
    return true;
}

/* Room for one more block in `all`. False if memory was refused. */
static bool make_room(adzi_plan_blocks *blocks)
{
    return blocks->spare != 0 ||
           adzi_grow(&blocks->all, &blocks->capacity, blocks->count + 1, sizeof *blocks->all);
}

/* Adds a block to `all`, in which there is room. Returns its index. */
static size_t enlist(adzi_plan_blocks *blocks, char *begin, size_t bytes)
{
    size_t at = blocks->spare;
    if (at != 0) {
        blocks->spare = blocks->all[--at].offset;
    } else {
        at = blocks->count++;
    }
    blocks->all[at] = (adzi_plan_block){ .begin = begin,
        .bytes = bytes,
        .number = -1,
        .born = -1,
        .first = -1,
        .host = ADZI_PLAN_MEMORY };
    return at;
}

/* The block of a living one in `all`. Those that nobody has asked for are not yet there. NULL if
 * memory was refused. */
static adzi_plan_block *block_of(adzi_plan_blocks *blocks, adzi_plan_live *live)
{
    if (live->block == SIZE_MAX) {
        if (!make_room(blocks)) {
            return NULL;
        }
        live->block = enlist(blocks, live->begin, (size_t)(live->end - live->begin));
    }
    return &blocks->all[live->block];
}

void adzi_plan_blocks_reuse(adzi_plan_blocks *blocks, size_t block)
{
    adzi_plan_block *gone = &blocks->all[block];
    if (blocks->reuses && gone->freed && gone->uses == 0) {
        *gone = (adzi_plan_block){ .freed = true,
            .number = -1,
            .born = -1,
            .first = -1,
            .host = ADZI_PLAN_MEMORY,
            .offset = blocks->spare };
        blocks->spare = block + 1;
    }
}

bool adzi_plan_blocks_add(adzi_plan_blocks *blocks, char *begin, size_t bytes)
{
    if ((!blocks->reuses && !make_room(blocks)) ||
        (blocks->n_leaves == 0 && add_leaf(blocks, 0) == NULL)) {
        return false;
    }
    const bool first = blocks->n_live == 0;
    size_t in = first ? 0 : leaf_of(blocks, begin);
    if (blocks->leaves[in]->count == ADZI_PLAN_LEAF) {
        if (!split(blocks, in)) {
            return false;
        }
        in = leaf_of(blocks, begin);
    }
    adzi_plan_leaf *leaf = blocks->leaves[in];
    const size_t at = count_in(leaf, begin);
    memmove(&leaf->live[at + 1], &leaf->live[at], (leaf->count - at) * sizeof *leaf->live);
    const size_t block = blocks->reuses ? SIZE_MAX : enlist(blocks, begin, bytes);
    leaf->live[at] = (adzi_plan_live){ begin, begin + bytes, block };
    ++leaf->count;
    ++blocks->n_live;
    return true;
}

bool adzi_plan_blocks_store(adzi_plan_blocks *blocks, char *data, size_t bytes)
{
    position where;
    adzi_plan_live *live = last_at(blocks, data, &where);
    adzi_plan_block *block = live != NULL ? block_of(blocks, live) : NULL;
    if (block == NULL) {
        return live == NULL; /* memory for the list of blocks was refused before */
    }
    /* A header and the elements of a tensor may share a block. Kernels do not use the header. */
    live->end = data + bytes;
    block->begin = data;
    block->bytes = bytes;
    block->stored = true;
    block->tensor = data != live->begin;
    block->number = blocks->n_stored++;
    return true;
}

size_t adzi_plan_blocks_remove(adzi_plan_blocks *blocks, const char *begin)
{
    position where;
    const adzi_plan_live *live = last_at(blocks, begin, &where);
    if (live == NULL || live->begin != begin) {
        return SIZE_MAX;
    }
    const size_t block = live->block;
    adzi_plan_leaf *leaf = blocks->leaves[where.leaf];
    if (block != SIZE_MAX) {
        blocks->all[block].freed = true;
    }
    --blocks->n_live;
    --leaf->count;
    memmove(&leaf->live[where.at], &leaf->live[where.at + 1],
        (leaf->count - where.at) * sizeof *leaf->live);
    if (leaf->count == 0) {
        adzi_free(leaf, sizeof *leaf);
        --blocks->n_leaves;
        memmove(&blocks->leaves[where.leaf], &blocks->leaves[where.leaf + 1],
            (blocks->n_leaves - where.leaf) * sizeof(adzi_plan_leaf *));
    }
    return block;
}

size_t adzi_plan_blocks_find(const adzi_plan_blocks *blocks, const char *address)
{
    position where;
    const adzi_plan_live *live = last_at(blocks, address, &where);
    if (live == NULL) {
        return SIZE_MAX;
    }
    const bool within = live->block != SIZE_MAX && blocks->all[live->block].stored &&
                        (uintptr_t)address < (uintptr_t)live->end &&
                        (uintptr_t)address >= (uintptr_t)blocks->all[live->block].begin;
    return within ? live->block : SIZE_MAX;
}

bool adzi_plan_blocks_use_by_host(adzi_plan_blocks *blocks, const char *address)
{
    position where;
    adzi_plan_live *live = last_at(blocks, address, &where);
    if (live == NULL || (uintptr_t)address >= (uintptr_t)live->end) {
        return true;
    }
    adzi_plan_block *block = block_of(blocks, live);
    if (block != NULL) {
        block->host_object = !block->stored;
    }
    return block != NULL;
}

void adzi_plan_blocks_forget_living(adzi_plan_blocks *blocks)
{
    for (size_t i = 0; i < blocks->n_leaves; ++i) {
        adzi_free(blocks->leaves[i], sizeof *blocks->leaves[i]);
    }
    adzi_free(blocks->leaves, blocks->leaves_capacity * sizeof *blocks->leaves);
    blocks->leaves = NULL;
    blocks->n_leaves = blocks->leaves_capacity = blocks->n_live = 0;
}

void adzi_plan_blocks_free(adzi_plan_blocks *blocks)
{
    adzi_plan_blocks_forget_living(blocks);
    adzi_free(blocks->all, blocks->capacity * sizeof *blocks->all);
    *blocks = (adzi_plan_blocks){ 0 };
}
