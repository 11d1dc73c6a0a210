#include "base/system_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "base/alloc.h"

/* Note [Pages of one's own]
 *
 * Large blocks are mapped, not taken from malloc. Among its blocks ours would stand between those
 * that others, oneDNN for one, take and free at every call, and keep them from growing together
 * again: a training step held 20 MB more so. And a matrix read by columns meets a page per row,
 * more than the processor's table of pages holds, so blocks of two megabytes and more ask for huge
 * pages as far as these fill, and only so far: the rest of a block stays in small pages, and
 * nothing is resident that the block does not use. Asking can fail, and costs nothing then.
 */
#if defined(MAP_ANONYMOUS) && !defined(ADZI_ASAN)

enum { MAPPED = 128 << 10, HUGE_PAGE = 2 << 20, LARGEST_PAGE = 64 << 10 };

/* Whole pages, of whatever size they are here. */
static size_t in_pages(size_t bytes)
{
    return (bytes + LARGEST_PAGE - 1) & ~(size_t)(LARGEST_PAGE - 1);
}

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

void *adzi_system_allocate(size_t bytes, size_t alignment)
{
    return bytes >= MAPPED ? map(bytes) : aligned_alloc(alignment, bytes);
}

void adzi_system_deallocate(void *block, size_t bytes)
{
    if (bytes >= MAPPED) {
        (void)munmap(block, in_pages(bytes));
    } else {
        free(block);
    }
}

#else

void *adzi_system_allocate(size_t bytes, size_t alignment)
{
    return aligned_alloc(alignment, bytes);
}

void adzi_system_deallocate(void *block, size_t bytes)
{
    (void)bytes;
    free(block);
}

#endif
