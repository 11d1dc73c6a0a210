/* Objects to which a program holds a pointer: their memory and their marks. */
#include "base/handle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/system_memory.h"
#include "base/threads/fork.h"

/* ---- addresses that are used once ------------------------------------------------------------ */

/* REGION: bytes of address space that are reserved at a time, at a multiple of themselves. UNIT:
 * bytes that are given back together. The first unit of a region has the counters of all. */
enum { REGION = 1 << 30, UNIT = 1 << 16, UNITS = REGION / UNIT, MOST_REGIONS = 4096 };

typedef struct region {
    uint32_t living[UNITS]; /* objects that live in each unit */
} region;

_Static_assert(sizeof(region) <= UNIT, "the counters fit into the first unit");

atomic_bool adzi_handles_kept;

static bool wanted; /* by the build or the environment */

static struct {
    pthread_mutex_t lock;
    region *all[MOST_REGIONS];
    atomic_int count;
    size_t used; /* bytes of the newest region */
} regions = { .lock = PTHREAD_MUTEX_INITIALIZER };

ADZI_FORK_TAKES(regions.lock, ADZI_LOCK_HANDLES)

__attribute__((constructor(102))) static void choose_handles(void)
{
    const char *text = getenv("ADZE_DEBUG_HANDLES");
#if defined(ADZI_DEBUG_BUILD) && !defined(ADZI_ASAN)
    wanted = text == NULL || strcmp(text, "0") != 0;
#else
    wanted = text != NULL && strcmp(text, "1") == 0;
#endif
    wanted = wanted && !adzi_plain_memory;
    adzi_keep_handles(false);
}

void adzi_keep_handles(bool on)
{
    atomic_store(&adzi_handles_kept, (on && !adzi_plain_memory) || wanted);
}

static region *region_of(const void *object)
{
    const uintptr_t start = (uintptr_t)object & ~(uintptr_t)(REGION - 1);
    const int count = atomic_load_explicit(&regions.count, memory_order_acquire);
    for (int i = count - 1; i >= 0; --i) {
        if ((uintptr_t)regions.all[i] == start) {
            return regions.all[i];
        }
    }
    return NULL;
}

static size_t unit_of(const region *r, const void *object)
{
    return (size_t)((const char *)object - (const char *)r) / UNIT;
}

/* Reserves a region if the newest one has no room for an object. The caller has the lock. */
static region *region_with_room(size_t bytes)
{
    const int count = atomic_load(&regions.count);
    if (count > 0 && regions.used + bytes <= REGION) {
        return regions.all[count - 1];
    }
    region *r = count < MOST_REGIONS ? adzi_system_reserve(REGION) : NULL;
    if (r != NULL) {
        regions.all[count] = r;
        regions.used = UNIT;
        atomic_store_explicit(&regions.count, count + 1, memory_order_release);
    }
    return r;
}

/* NULL if no address space is left; the object then gets ordinary memory. An object lies in one
 * unit, so that each unit has its own count. */
static void *take_once(size_t bytes)
{
    bytes = (bytes + ADZI_ALIGNMENT - 1) & ~(size_t)(ADZI_ALIGNMENT - 1);
    void *object = NULL;
    pthread_mutex_lock(&regions.lock);
    const size_t left = UNIT - regions.used % UNIT;
    region *r = region_with_room(left >= bytes ? bytes : left + bytes);
    if (r != NULL) {
        const size_t full = (regions.used - 1) / UNIT; /* unless the object still fits into it */
        regions.used += regions.used % UNIT != 0 && left < bytes ? left : 0;
        object = (char *)r + regions.used;
        regions.used += bytes;
        if (full > 0 && full < unit_of(r, object) && r->living[full] == 0) {
            adzi_system_discard((char *)r + full * UNIT, UNIT);
        }
        ++r->living[unit_of(r, object)];
    }
    pthread_mutex_unlock(&regions.lock);
    return object;
}

/* Gives the unit's pages back if its last object has ended and it gets no new ones. */
static void give_once(region *r, const void *object)
{
    const size_t unit = unit_of(r, object);
    pthread_mutex_lock(&regions.lock);
    const bool filling =
        r == regions.all[atomic_load(&regions.count) - 1] && unit >= regions.used / UNIT;
    if (--r->living[unit] == 0 && !filling) {
        adzi_system_discard((char *)r + unit * UNIT, UNIT);
    }
    pthread_mutex_unlock(&regions.lock);
}

void *adzi_handle_alloc(size_t bytes)
{
    void *object = NULL;
    if (atomic_load_explicit(&adzi_handles_kept, memory_order_relaxed) && bytes <= UNIT) {
        object = take_once(bytes);
    }
    return object != NULL ? object : adzi_alloc(bytes);
}

void adzi_handle_free(void *object, size_t bytes)
{
    region *r = region_of(object);
    if (r != NULL) {
        adzi_leave_memory(object, bytes); /* as adzi_free does */
        give_once(r, object);
    } else {
        adzi_free(object, bytes);
    }
}

/* ---- marks ----------------------------------------------------------------------------------- */

void *adzi_handle_new(size_t bytes)
{
    adzi_handle *object = adzi_handle_alloc(bytes);
    if (object != NULL) {
        memset(object, 0, bytes);
        object->mark = ADZI_HANDLE_ALIVE;
    }
    return object;
}

void adzi_handle_end(void *object, size_t bytes)
{
    if (object != NULL) {
        ((adzi_handle *)object)->mark = 0;
        adzi_handle_free(object, bytes);
    }
}

bool adzi_refuse_handle(const char *op, const char *argument, const void *object)
{
    if (object == NULL) {
        adzi_error_null(op, argument);
    } else if (((const adzi_handle *)object)->mark == ADZI_HANDLE_PART) {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "%s belongs to another object, which ends it; free what you have made yourself",
            argument);
    } else {
        adzi_error(op, ADZ_ERR_OWNERSHIP, "%s is a stale pointer: it was freed before", argument);
    }
    return false;
}

void *adzi_handle_take(const char *op, const char *argument, void *pointer)
{
    void **at = pointer;
    if (at == NULL || *at == NULL) {
        return NULL;
    }
    void *object = *at;
    *at = NULL;
    return adzi_check_handle(op, argument, object) ? object : NULL;
}
