/* What a program asks about memory, and what it sets: allocator, limit, cache, counts. */
#include <string.h>

#include "adze/base.h"
#include "base/alloc.h"
#include "base/error.h"
#include "base/capture.h"
#include "base/threads/thread.h"

void adz_empty_cache(void)
{
    adzi_cache_empty(&adzi_self()->cache);
    adzi_release_unused();
}

adz_status adz_set_allocator(const adz_allocator *allocator)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    if (allocator != NULL && (allocator->allocate == NULL || allocator->deallocate == NULL)) {
        return adzi_error("adz_set_allocator", ADZ_ERR_NULL,
            "a function of the allocator is NULL; give both, or NULL for the system's memory");
    }
    adzi_thread_trim(adzi_self());
    adz_empty_cache();
    const size_t held = adzi_use_allocator(allocator);
    if (held != 0) {
        return adzi_error("adz_set_allocator", ADZ_ERR_STATE,
            "%zu bytes of the present allocator are still held, by tensors, models, generators or other threads; end them first, or set the allocator before anything is made",
            held);
    }
    return ADZ_OK;
}

bool adz_get_allocator(adz_allocator *allocator)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, false);
    if (allocator == NULL) {
        adzi_error_null("adz_get_allocator", "allocator");
        return false;
    }
    return adzi_get_allocator(allocator);
}

adz_status adz_set_memory_limit(size_t bytes)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    adzi_limit_memory(bytes);
    if (bytes != 0 && adzi_held_bytes() > bytes) {
        adz_empty_cache();
    }
    return ADZ_OK;
}

size_t adz_get_memory_limit(void)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, 0);
    return adzi_memory_limit();
}

void adz_get_memory_info(adz_memory_info *info, size_t size)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    if (info == NULL) {
        adzi_error_null("adz_get_memory_info", "info");
        return;
    }
    const adz_memory_info all = adzi_measure_memory();
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
}

void adz_reset_peak_memory(void)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    adzi_reset_peak();
}
