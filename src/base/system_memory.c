/* Memory from the system: large blocks are mapped, smaller ones come from malloc. */
#include "base/system_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"

bool adzi_plain_memory;

/* Runs before all other constructors, of which some allocate. */
__attribute__((constructor(101))) static void choose_memory(void)
{
    const char *text = getenv("ADZE_DEBUG_MEMORY");
    adzi_plain_memory = text != NULL && strcmp(text, "1") == 0;
}

/* Note [Pages of one's own]
 *
 * Large blocks are mapped and not taken from malloc. Other libraries take and free large blocks of
 * malloc's heap. The library's blocks would lie between them and keep free ones from being joined;
 * a training step held 20 MB more in this way.
 *
 * A matrix that is read by columns touches one page per row. With small pages these are more than
 * the processor's table of pages (TLB) holds. Blocks of 2 MB and more therefore ask for huge pages.
 * They ask only for the huge pages that they fill, so that no memory is resident without being
 * used. If the system refuses huge pages, the block has small ones.
 */

/* A block of malloc. aligned_alloc would demand a size that is a multiple of the alignment. */
static void *take_from_malloc(size_t bytes, size_t alignment)
{
    void *block = NULL;
    return posix_memalign(&block, alignment, bytes) == 0 ? block : NULL;
}

#if defined(MAP_ANONYMOUS) && !defined(ADZI_ASAN)

/* MAPPED: the smallest block that is mapped. LARGEST_PAGE: the largest ordinary page of the systems
 * that adze runs on (arm64). */
enum { MAPPED = 128 << 10, HUGE_PAGE = 2 << 20, LARGEST_PAGE = 64 << 10 };

/* Rounds up to whole pages, whatever the size of the system's pages is. */
static size_t in_pages(size_t bytes)
{
    return (bytes + LARGEST_PAGE - 1) & ~(size_t)(LARGEST_PAGE - 1);
}

/* Maps a block. One of 2 MB or more starts at a multiple of 2 MB: it is mapped with 2 MB more than
 * it needs, and the ends that it does not need are given back. */
static void *map(size_t bytes)
{
    const size_t size = in_pages(bytes), slack = bytes >= HUGE_PAGE ? HUGE_PAGE : 0;
    char *start =
        mmap(NULL, size + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    if (slack == 0) {
        return start;
    }
    const size_t before = -(uintptr_t)start & (HUGE_PAGE - 1);
    char *block = start + before;
    if (before > 0) {
        (void)munmap(start, before);
    }
    (void)munmap(block + size, slack - before);
#ifdef MADV_HUGEPAGE
    (void)madvise(block, bytes & ~(size_t)(HUGE_PAGE - 1), MADV_HUGEPAGE);
#endif
    return block;
}

/* Mapped blocks are invisible to the tools of Note [Memory for debuggers]. */
static bool is_mapped(size_t bytes)
{
    return bytes >= MAPPED && !adzi_plain_memory;
}

void *adzi_system_allocate(size_t bytes, size_t alignment)
{
    return is_mapped(bytes) ? map(bytes) : take_from_malloc(bytes, alignment);
}

void adzi_system_deallocate(void *block, size_t bytes)
{
    if (is_mapped(bytes)) {
        (void)munmap(block, in_pages(bytes));
    } else {
        free(block);
    }
}

#else

void *adzi_system_allocate(size_t bytes, size_t alignment)
{
    return take_from_malloc(bytes, alignment);
}

void adzi_system_deallocate(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

#endif

#if defined(MAP_ANONYMOUS) && defined(MAP_NORESERVE) && defined(MADV_DONTNEED)
void *adzi_system_reserve(size_t bytes)
{
    char *start = mmap(NULL, 2 * bytes, PROT_READ | PROT_WRITE,
        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) {
        return NULL;
    }
    const size_t before = -(uintptr_t)start & (bytes - 1);
    if (before > 0) {
        (void)munmap(start, before);
    }
    (void)munmap(start + before + bytes, bytes - before);
    return start + before;
}

void adzi_system_discard(void *block, size_t bytes)
{
    (void)madvise(block, bytes, MADV_DONTNEED);
}

#else

void *adzi_system_reserve(size_t bytes)
{
    (void)bytes;
    return NULL;
}

void adzi_system_discard(void *block, size_t bytes)
{
    (void)block;
    (void)bytes;
}
#endif
