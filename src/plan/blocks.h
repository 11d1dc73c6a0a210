/* The blocks of memory that a captured call allocates. */
#ifndef ADZI_PLAN_BLOCKS_H
#define ADZI_PLAN_BLOCKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** A block that was allocated while the function ran. */
typedef struct adzi_plan_block {
    char *begin;
    size_t bytes;
    bool stored;         /* kernels use it: a tensor's elements, or working memory */
    bool tensor;         /* they are a tensor's elements, which only kernels write */
    bool freed;          /* its owner gave it back before the function returned */
    bool returned;       /* a result of the function lies in it */
    bool host_object;    /* not for kernels alone, but a kernel refers to it */
    bool within_step;    /* a step of a loop writes and reads it, and nothing else does */
    int64_t number;      /* counts the blocks that kernels use */
    int64_t born;        /* the ordinal of the first launch that refers to it; -1 for none */
    size_t uses;         /* how often launches that are held refer to it */
    size_t slot;         /* where a stretch has made it, counted from 1; 0 for none (stretch.h) */
    int64_t member;      /* of the blocks that were made there */
    int64_t first, last; /* the launches that refer to it; first is -1 if none does */
    size_t host;         /* the block in which it lies, an index in `all`; else ADZI_PLAN_MEMORY */
    size_t offset;       /* its location there, or in the plan's memory */
} adzi_plan_block;

/** Says that a block lies in the plan's own memory and in no other block. */
#define ADZI_PLAN_MEMORY SIZE_MAX

/** A block that is alive. */
typedef struct adzi_plan_live {
    char *begin, *end; /* what an address is compared with */
    size_t block;      /* an index in `all` of the blocks; SIZE_MAX if it is in none */
} adzi_plan_live;

enum { ADZI_PLAN_LEAF = 256 };

/** Living blocks that are neighbours, in the order of their addresses. */
typedef struct adzi_plan_leaf {
    size_t count;
    adzi_plan_live live[ADZI_PLAN_LEAF];
} adzi_plan_leaf;

/** The blocks of a captured call, and those alive at the moment. They stand in leaves, because a
 * loop of many steps has so many of them that a single list would be slow. */
typedef struct adzi_plan_blocks {
    adzi_plan_block *all;
    size_t count, capacity;
    adzi_plan_leaf **leaves; /* in order; none is empty */
    size_t n_leaves, leaves_capacity;
    size_t n_live;
    int64_t n_stored;
    bool reuses;  /* a block that has ended and to which no launch refers leaves `all` */
    size_t spare; /* an index in `all` that is free, counted from 1, and so on by `offset` */
} adzi_plan_blocks;

/** Forgets which blocks are alive. */
void adzi_plan_blocks_forget_living(adzi_plan_blocks *blocks);

/** Adds a block to the living ones. False if memory was refused. */
bool adzi_plan_blocks_add(adzi_plan_blocks *blocks, char *begin, size_t bytes);

/** Makes a part of the block that contains it the elements of a tensor. False if memory was
 * refused. */
bool adzi_plan_blocks_store(adzi_plan_blocks *blocks, char *data, size_t bytes);

/** Removes a block from the living ones and returns its index in `all`; SIZE_MAX if it is none of
 * them, or has none. The block counts as freed. */
size_t adzi_plan_blocks_remove(adzi_plan_blocks *blocks, const char *begin);

/** The living block that kernels use and that contains an address, as an index in `all`; SIZE_MAX
 * for none. */
size_t adzi_plan_blocks_find(const adzi_plan_blocks *blocks, const char *address);

/** Marks the living block in which an address lies and which is not for kernels alone. False if
 * memory was refused. */
bool adzi_plan_blocks_use_by_host(adzi_plan_blocks *blocks, const char *address);

/** Takes a block out of `all` that has ended, if no launch refers to it any more and the blocks are
 * reused. */
void adzi_plan_blocks_reuse(adzi_plan_blocks *blocks, size_t block);

void adzi_plan_blocks_free(adzi_plan_blocks *blocks);

/** Notes that launch `i`, which follows those noted before, refers to a block. */
static inline void adzi_plan_use(adzi_plan_block *block, int64_t i)
{
    if (block->first < 0) {
        block->first = i;
    }
    block->last = i;
}

#endif
