/* What every target promises: no crash, no leak, and what it reads it writes and reads again. */
#ifndef ADZE_FUZZ_CHECK_H
#define ADZE_FUZZ_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "adze/tensor.h"
#include "base/alloc.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* Stops the fuzzer, and the replay, where a debugger can look. */
#define MUST(condition) ((condition) ? (void)0 : __builtin_trap())

/* A failure must say what it is, and in full. */
static inline void must_have_failed(void)
{
    MUST(adz_error_code() != ADZ_OK);
    MUST(adz_error_message()[0] != '\0');
    adz_error_clear();
}

#endif
