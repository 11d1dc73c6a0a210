/* What the processor offers, and which level of instruction set the kernels use. The level itself,
 * adzi_cpu_level, is declared in base/isa.h, because the tables of kernels need it. */
#ifndef ADZI_BASE_CPU_H
#define ADZI_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

#include "base/isa.h"

/** The best level that this processor and its operating system can run and this build has kernels
 * for. If the processor is below all of them, it is the level that the processor has. */
int adzi_cpu_best(void);

/** Defined if the compiler knows AVX512_BF16, as gcc from 10 on and clang from 9 on do, and this
 * build has AVX-512 kernels. */
#if ADZI_HIGHEST_BUILT >= 2 && (defined(__clang__) ? __clang_major__ >= 9 : __GNUC__ >= 10)
#define ADZI_KNOWS_BF16 1
#endif

/** Whether the AVX-512 variants may multiply bf16 (AVX512_BF16) on this processor. */
bool adzi_cpu_has_bf16(void);

/** Whether a product by AVX512_BF16 is faster than one by FMA in f32. It is on AMD's processors
 * and is not on Intel's. */
bool adzi_cpu_has_fast_bf16(void);

/** Writes the name that the processor gives itself (CPUID), without the spaces that pad it. Writes
 * "unknown processor" if there is none. `size` is the size of `out` and at least 1. */
void adzi_processor_model(char *out, size_t size);

/** Why the value of ADZE_CPU was not used, for example "is more than this processor has". NULL if
 * it was used or is not set. */
const char *adzi_cpu_request_ignored(void);

#endif
