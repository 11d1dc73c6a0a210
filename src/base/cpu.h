/* What the processor offers and which variant of every kernel runs; the level itself,
 * adzi_cpu_level, is declared in base/isa.h, where kernels find it. */
#ifndef ADZI_BASE_CPU_H
#define ADZI_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

/** The best level that this processor and its operating system can run. */
int adzi_cpu_best(void);

/** Whether the compiler knows AVX512_BF16: gcc 10, clang 9. */
#if defined(ADZI_X86) && (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 10)
#define ADZI_KNOWS_BF16 1
#endif

/** Whether the AVX-512 variants may multiply bf16 (AVX512_BF16) on this processor. */
bool adzi_cpu_has_bf16(void);

/** Whether that takes less time than f32's FMA: as on AMD's processors, and not on Intel's. */
bool adzi_cpu_has_fast_bf16(void);

/** Chooses adzi_cpu_level. A constructor calls it; calling it again changes nothing. */
void adzi_cpu_init(void);

/** Writes the processor's own name, without the padding that it comes with. */
void adzi_processor_model(char *out, size_t size);

/** Why ADZE_CPU was not followed, "is more than this processor has" for one; NULL if it was, or is
 * not set. */
const char *adzi_cpu_request_ignored(void);

#endif
