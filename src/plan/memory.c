/* The memory of a plan: a place for each block that belongs to a run.
 *
 * Blocks whose launches do not overlap may share a place. Blocks are placed by size, the largest
 * first, each at the lowest offset that is free for as long as the block is used. This is the
 * greedy method by size of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
 * Inference" (2020). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"

static size_t rounded(size_t bytes)
{
    return (bytes + ADZI_ALIGNMENT - 1) / ADZI_ALIGNMENT * ADZI_ALIGNMENT;
}

/* The larger block comes first, and of two equal ones that which is used first. */
static int compare_sizes(const void *a, const void *b)
{
    const adzi_plan_block *x = *(adzi_plan_block *const *)a, *y = *(adzi_plan_block *const *)b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return (x->first > y->first) - (x->first < y->first);
}

/* The lowest offset at which a block overlaps none of those that are placed already and used at the
 * same time. `placed` is in the order of offsets. */
static size_t lowest(const adzi_plan_block *block, adzi_plan_block *const *placed, size_t n)
{
    size_t offset = 0;
    for (size_t i = 0; i < n; ++i) {
        const adzi_plan_block *other = placed[i];
        if (other->last < block->first || other->first > block->last) {
            continue;
        }
        if (other->offset >= offset + rounded(block->bytes)) {
            break;
        }
        const size_t end = other->offset + rounded(other->bytes);
        offset = end > offset ? end : offset;
    }
    return offset;
}

/* Inserts a block into `placed`, behind all that do not begin at a higher offset. */
static void insert(adzi_plan_block *block, adzi_plan_block **placed, size_t n)
{
    size_t at = n;
    while (at > 0 && placed[at - 1]->offset > block->offset) {
        placed[at] = placed[at - 1];
        --at;
    }
    placed[at] = block;
}

bool adzi_plan_place(adzi_recording *recording)
{
    adzi_plan_blocks *blocks = &recording->blocks;
    const size_t bytes = (2 * blocks->count + 1) * sizeof(adzi_plan_block *);
    adzi_plan_block **sorted = adzi_alloc(bytes), **placed = sorted + blocks->count;
    if (sorted == NULL) {
        return false;
    }
    size_t n = 0;
    for (size_t i = 0; i < blocks->count; ++i) {
        if (blocks->all[i].freed && blocks->all[i].first >= 0) {
            sorted[n++] = &blocks->all[i];
        }
    }
    qsort(sorted, n, sizeof *sorted, compare_sizes);
    recording->memory_bytes = 0;
    for (size_t i = 0; i < n; ++i) {
        sorted[i]->offset = lowest(sorted[i], placed, i);
        insert(sorted[i], placed, i);
        const size_t end = sorted[i]->offset + rounded(sorted[i]->bytes);
        recording->memory_bytes = end > recording->memory_bytes ? end : recording->memory_bytes;
    }
    adzi_free(sorted, bytes);
    return true;
}
