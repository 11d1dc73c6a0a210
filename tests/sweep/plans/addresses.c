#include "addresses.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/capture.h"
#include "plan/plan.h"

enum { MOST_BLOCKS = 1 << 16, MOST_TABLES = 256 };

static void (*report)(const char *what);

/* ---- memory of the library ------------------------------------------------------------------- */

/* The blocks that are in use, in the order of their addresses. */
static struct block {
    uintptr_t begin, end;
} blocks[MOST_BLOCKS];
static size_t n_blocks;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The number of blocks that begin at or below an address. */
static size_t index_of(uintptr_t address)
{
    size_t low = 0, high = n_blocks;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (blocks[middle].begin <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

static void *allocate(size_t bytes, size_t alignment, void *user)
{
    (void)user;
    void *block = NULL;
    if (posix_memalign(&block, alignment, bytes) != 0) {
        return NULL;
    }
    pthread_mutex_lock(&lock);
    if (n_blocks == MOST_BLOCKS) {
        fprintf(stderr, "addresses: too many blocks\n");
        abort();
    }
    const size_t at = index_of((uintptr_t)block);
    memmove(&blocks[at + 1], &blocks[at], (n_blocks++ - at) * sizeof *blocks);
    blocks[at] = (struct block){ (uintptr_t)block, (uintptr_t)block + bytes };
    pthread_mutex_unlock(&lock);
    return block;
}

static void deallocate(void *block, size_t bytes, void *user)
{
    (void)bytes;
    (void)user;
    pthread_mutex_lock(&lock);
    const size_t at = index_of((uintptr_t)block) - 1;
    memmove(&blocks[at], &blocks[at + 1], (--n_blocks - at) * sizeof *blocks);
    pthread_mutex_unlock(&lock);
    free(block);
}

static bool is_ours(uintptr_t word)
{
    pthread_mutex_lock(&lock);
    const size_t at = index_of(word);
    const bool within = at > 0 && word < blocks[at - 1].end;
    pthread_mutex_unlock(&lock);
    return within;
}

/* ---- launches -------------------------------------------------------------------------------- */

static const adzi_addresses *tables[MOST_TABLES];
static size_t n_tables;
static adzi_capture theirs; /* the functions that are called besides */

static void note(const adzi_addresses *table)
{
    for (size_t i = 0; i < n_tables; ++i) {
        if (tables[i] == table) {
            return;
        }
    }
    if (n_tables < MOST_TABLES) {
        tables[n_tables++] = table;
    }
}

static bool is_named(const adzi_args_layout *layout, size_t size, size_t where)
{
    adzi_address_cursor all = { layout->addresses, size, 0 };
    for (size_t at; adzi_next_address(&all, &at);) {
        if (at == where) {
            return true;
        }
    }
    return false;
}

static void look(
    const adzi_capture *capture, const void *args, const adzi_args_layout *layout, size_t size)
{
    note(layout->addresses);
    for (size_t at = 0; layout->mask != NULL && at + sizeof(uintptr_t) <= size;
         at += sizeof(uintptr_t)) {
        uintptr_t word, mask;
        memcpy(&word, (const char *)args + at, sizeof word);
        memcpy(&mask, (const char *)layout->mask + at, sizeof mask);
        if (is_ours(word & mask) && !is_named(layout, size, at)) {
            char text[200];
            snprintf(text, sizeof text,
                "a launch in %s or after it has an address at byte %zu of its %zu that ADZI_ADDRESSES does not name",
                capture->op, at, size);
            report(text);
        }
    }
}

static void launched(adzi_capture *capture, adzi_kernel kernel, const void *args,
    const adzi_args_layout *layout, size_t size, int64_t units, int64_t grain)
{
    look(capture, args, layout, size);
    theirs.launched(capture, kernel, args, layout, size, units, grain);
}

static void repeated(adzi_capture *capture, adzi_host_function function, const void *args,
    const adzi_args_layout *layout, size_t size)
{
    look(capture, args, layout, size);
    theirs.repeated(capture, function, args, layout, size);
}

/* ---- the interface --------------------------------------------------------------------------- */

void addresses_begin(void (*complain)(const char *what))
{
    report = complain;
    if (adz_set_allocator(&(adz_allocator){ allocate, deallocate, NULL }) != ADZ_OK) {
        report(adz_error_message());
    }
}

void addresses_look(void)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL && capture->launched != launched) {
        theirs = *capture;
        capture->launched = launched;
        capture->repeated = repeated;
    }
}

size_t addresses_tables(void)
{
    return n_tables;
}
