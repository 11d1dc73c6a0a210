/* Which kernel variants this processor can run, asked of the processor itself. */
#ifndef ADZE_TESTS_CPU_LEVELS_H
#define ADZE_TESTS_CPU_LEVELS_H

#include <stdbool.h>

#include "base/isa.h"

static const char *const cpu_level_names[ADZI_CPU_LEVELS] = { "baseline", "avx2", "avx512" };

static inline bool cpu_has_level(int level)
{
#ifdef ADZI_X86
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");
    bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    return level == ADZI_CPU_BASELINE || (level == ADZI_CPU_AVX2 ? avx2 : avx512);
#else
    return level == ADZI_CPU_BASELINE;
#endif
}

#endif
