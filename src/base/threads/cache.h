/* The free memory of one thread, from which alloc.c serves the thread's requests. */
#ifndef ADZI_BASE_THREADS_CACHE_H
#define ADZI_BASE_THREADS_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Sizes of the part that each thread has. Note [Where memory comes from] in blocks.c uses them. */
enum {
    ADZI_SMALL_CLASSES = 144, /* the number of free lists: blocks of up to 144 * 64 bytes */
    ADZI_SMALL_STEP = 64,     /* the blocks of free list i have 64 * i bytes */
    ADZI_FLUSH_BYTES = 65536, /* a thread counts so many bytes itself before the process does */
    ADZI_CHAIN_BYTES = 32768, /* a list is a chain if its blocks have at least so many bytes and */
    ADZI_CHAIN_LEAST = 8,     /* if it has at least so many blocks */
    ADZI_CACHE_BYTES = 262144 /* bytes of free small blocks that a thread may keep */
};

/** A free block. Its first bytes link it to the next block of its list. */
typedef struct adzi_block {
    struct adzi_block *next;
} adzi_block;

/** The free blocks and the counts of one thread; part of adzi_thread. Index `cls` of an array
 * stands for blocks of cls * 64 bytes; index 0 is not used. */
typedef struct adzi_cache {
    adzi_block *free[ADZI_SMALL_CLASSES + 1];
    uint32_t count[ADZI_SMALL_CLASSES + 1];      /* blocks on the list `free` */
    adzi_block *full[ADZI_SMALL_CLASSES + 1];    /* a chain put aside, or NULL */
    char *fresh[ADZI_SMALL_CLASSES + 1];         /* the part of a span that is not yet cut */
    uint32_t fresh_left[ADZI_SMALL_CLASSES + 1]; /* blocks in the part `fresh` */
    uint32_t full_count[ADZI_SMALL_CLASSES + 1]; /* blocks of the chain `full` */
    uint8_t spans[ADZI_SMALL_CLASSES + 1];       /* how many spans the thread has taken */
    int64_t ahead;        /* live_bytes may grow to this before the thread looks at the limit */
    int64_t live_bytes;   /* not yet added to the process's count */
    int64_t live_tensors; /* not yet added to the process's count */
    int64_t fail_in;      /* requests until the one that a test makes fail; 0 for none */
    bool failed;          /* that request was made */
    bool granted;         /* neither the limit nor a test makes a request fail (a frame ends it) */
    uint64_t requests;    /* made by this thread */
} adzi_cache;

#endif
