/* The memory of a plan: a location for each block that belongs to a run.
 *
 * Blocks whose launches do not overlap may share a location. Blocks are arranged by size, the
 * largest first, each at the lowest offset that is free for as long as the block is used. This is
 * the greedy method by size of Pisarchyk and Lee, "Efficient Memory Management for Deep Neural Net
 * Inference" (2020). */
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "plan/plan.h"

static size_t rounded(size_t bytes)
{
    return (bytes + ADZI_ALIGNMENT - 1) / ADZI_ALIGNMENT * ADZI_ALIGNMENT;
}

/* The larger block comes first, and of two equal ones that which is used first. Blocks that are
 * equal in both keep their order, since qsort need not be stable. */
static int compare_sizes(const void *a, const void *b)
{
    const adzi_plan_block *x = *(adzi_plan_block *const *)a, *y = *(adzi_plan_block *const *)b;
    if (x->bytes != y->bytes) {
        return x->bytes < y->bytes ? 1 : -1;
    }
    return x->first != y->first ? (x->first > y->first) - (x->first < y->first) : (x > y) - (x < y);
}

/* The blocks of a captured call while they are arranged: those of the run, hosts, and those that
 * have a location, in the order of offsets. */
typedef struct arrangement {
    adzi_plan_block *all;
    adzi_plan_block **sorted, **hosts, **arranged;
    size_t n_sorted, n_hosts, n_arranged;
} arrangement;

/* The lowest offset in a host, or in the plan's memory, at which a block overlaps none of those
 * that are there already and used at the same time. */
static size_t lowest(const arrangement *p, const adzi_plan_block *block, size_t host)
{
    size_t offset = 0;
    for (size_t i = 0; i < p->n_arranged; ++i) {
        const adzi_plan_block *other = p->arranged[i];
        if (other->host != host || other->last < block->first || other->first > block->last) {
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

/* Finds the smallest host that is not yet in use while the block is, and has room for it. Hosts are
 * sorted with the largest first. */
static bool put_in_host(const arrangement *p, adzi_plan_block *block)
{
    for (size_t i = p->n_hosts; i-- > 0;) {
        const adzi_plan_block *host = p->hosts[i];
        const size_t index = (size_t)(host - p->all);
        if (host->first <= block->last) {
            continue;
        }
        const size_t offset = lowest(p, block, index);
        if (offset + block->bytes <= host->bytes) {
            block->host = index;
            block->offset = offset;
            return true;
        }
    }
    return false;
}

/* Inserts a block into `arranged`, behind all that do not begin at a higher offset. */
static void insert(arrangement *p, adzi_plan_block *block)
{
    size_t at = p->n_arranged++;
    while (at > 0 && p->arranged[at - 1]->offset > block->offset) {
        p->arranged[at] = p->arranged[at - 1];
        --at;
    }
    p->arranged[at] = block;
}

/* Whether a block of one number has ended within the call. */
static bool is_number(const adzi_plan_block *block)
{
    return block->freed && block->bytes <= sizeof(double);
}

/* Reserves a location for the whole run. The fill that writes a number may then run before the
 * launches around it, which form a chain. */
static void keep_location(adzi_plan_block *block, const adzi_captured_call *call)
{
    block->first = 0;
    block->last = (int64_t)call->n_launches;
}

/* Locations all blocks of the run. Returns the bytes of the plan's memory. */
static size_t arrange_all(arrangement *p)
{
    size_t bytes = 0;
    for (size_t i = 0; i < p->n_sorted; ++i) {
        adzi_plan_block *block = p->sorted[i];
        if (!put_in_host(p, block)) {
            block->offset = lowest(p, block, ADZI_PLAN_MEMORY);
            const size_t end = block->offset + rounded(block->bytes);
            bytes = end > bytes ? end : bytes;
        }
        insert(p, block);
    }
    return bytes;
}

bool adzi_plan_arrange(adzi_captured_call *call)
{
    const size_t count = call->blocks.count;
    const size_t bytes = (3 * count + 1) * sizeof(adzi_plan_block *);
    adzi_plan_block **lists = adzi_alloc(bytes);
    if (lists == NULL) {
        return false;
    }
    arrangement p = {
        .all = call->blocks.all,
        .sorted = lists,
        .hosts = lists + count,
        .arranged = lists + 2 * count,
    };
    for (size_t i = 0; i < count; ++i) {
        adzi_plan_block *block = &p.all[i];
        if (block->first >= 0 && is_number(block)) {
            keep_location(block, call);
            p.sorted[p.n_sorted++] = block;
        } else if (block->first >= 0 && block->freed) {
            p.sorted[p.n_sorted++] = block;
        } else if (block->tensor) {
            p.hosts[p.n_hosts++] = block;
        }
    }
    qsort(p.sorted, p.n_sorted, sizeof *p.sorted, compare_sizes);
    qsort(p.hosts, p.n_hosts, sizeof *p.hosts, compare_sizes);
    call->memory_bytes = arrange_all(&p);
    adzi_free(lists, bytes);
    return true;
}

void adzi_captured_call_move_to(adzi_captured_call *c, char *memory)
{
    for (size_t i = 0; i < c->n_launches; ++i) {
        const adzi_plan_launch *launch = &c->launches[i];
        for (size_t k = 0; k < launch->n_references; ++k) {
            const adzi_plan_reference *reference = &c->references[launch->first_reference + k];
            const adzi_plan_block *block = &c->blocks.all[reference->block];
            if (block->freed) {
                const char *begin =
                    block->host == ADZI_PLAN_MEMORY ? memory : c->blocks.all[block->host].begin;
                const uintptr_t word = (uintptr_t)begin + block->offset + reference->offset;
                memcpy(launch->args + reference->at, &word, sizeof word);
            }
        }
    }
}
