/* Finds out what the processor can do and chooses the level of the kernels, when the library is
 * loaded. */
#include "base/cpu.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef ADZI_X86
#include <cpuid.h>
#endif

#include "adze/base.h"

static const char *const level_names[ADZI_CPU_LEVELS] = { "baseline", "avx2", "avx512" };

/* Written once, by the constructor below, before any user's code runs. */
int adzi_cpu_level = ADZI_LOWEST_BUILT;

/* Why the value of ADZE_CPU was not used; NULL if it was used or is not set. */
static const char *request_ignored;

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* The best level that the processor and its operating system can run. */
static int level_of_processor(void)
{
#ifdef ADZI_X86
    /* The compiler's functions also check by XGETBV that the operating system saves the wide
     * registers. */
    __builtin_cpu_init();
    bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                __builtin_cpu_supports("bmi2");
    bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
                  __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl");
    /* Older compilers do not know the name f16c, so the bit is read from leaf 1 of CPUID. */
    unsigned a = 0, b = 0, c = 0, d = 0;
    bool f16c = __get_cpuid(1, &a, &b, &c, &d) != 0 && (c & bit_F16C) != 0;
    if (avx2 && f16c) {
        return avx512 ? ADZI_CPU_AVX512 : ADZI_CPU_AVX2;
    }
#endif
    return ADZI_CPU_BASELINE;
}

int adzi_cpu_best(void)
{
    const int best = level_of_processor();
    return best > ADZI_HIGHEST_BUILT ? ADZI_HIGHEST_BUILT : best;
}

bool adzi_cpu_has_bf16(void)
{
#ifdef ADZI_KNOWS_BF16
    __builtin_cpu_init();
    return adzi_cpu_level == ADZI_CPU_AVX512 && __builtin_cpu_supports("avx512bf16");
#else
    return false;
#endif
}

bool adzi_cpu_has_fast_bf16(void)
{
#ifdef ADZI_KNOWS_BF16
    return adzi_cpu_has_bf16() && __builtin_cpu_is("amd");
#else
    return false;
#endif
}

#if ADZI_LOWEST_BUILT > 0
/* A library configured with -Dkernels=native may meet a lesser processor, on which it would die at
 * the first instruction that the processor does not know. This says why instead. */
static void require_lowest_built(int best)
{
    if (best < ADZI_LOWEST_BUILT) {
        fprintf(stderr,
            "adze: this library was built for processors with %s alone, which this one does not have. Configure the build with -Dkernels=all.\n",
            level_names[ADZI_LOWEST_BUILT]);
        abort();
    }
}
#endif

/* Chooses the best level, or the lower one that ADZE_CPU names. */
static void choose_level(void)
{
    int best = adzi_cpu_best();
    const char *wanted = getenv("ADZE_CPU");
#if ADZI_LOWEST_BUILT > 0
    require_lowest_built(best);
#endif
    adzi_cpu_level = best;
    if (wanted == NULL || wanted[0] == '\0') {
        return;
    }
    request_ignored = "is not one of baseline, avx2, avx512";
    for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
        if (strcmp(wanted, level_names[level]) != 0) {
            continue;
        }
        request_ignored = level > best ? "is more than this processor and this build have"
                          : level < ADZI_LOWEST_BUILT ? "is less than this build has kernels for"
                                                      : NULL;
        adzi_cpu_level = request_ignored == NULL ? level : best;
    }
}

/* Chooses adzi_cpu_level. A constructor calls it; calling it again changes nothing. */
static void cpu_init(void)
{
    pthread_once(&once, choose_level);
}

__attribute__((constructor)) static void init_at_load(void)
{
    cpu_init();
}

const char *adz_cpu_name(void)
{
    return level_names[adzi_cpu_level];
}

void adzi_processor_model(char *out, size_t size)
{
    snprintf(out, size, "unknown processor");
#ifdef ADZI_X86
    unsigned words[13] = { 0 }; /* three leaves of CPUID, four registers each, and a 0 to end it */
    unsigned max = __get_cpuid_max(0x80000000u, NULL);
    if (max < 0x80000004u) {
        return;
    }
    for (unsigned leaf = 0; leaf < 3; ++leaf) {
        unsigned *w = words + 4 * leaf;
        __get_cpuid(0x80000002u + leaf, &w[0], &w[1], &w[2], &w[3]);
    }
    char raw[sizeof words];
    memcpy(raw, words, sizeof raw);
    size_t used = 0; /* runs of spaces become one space, those at both ends are left out */
    for (size_t i = 0; raw[i] != '\0' && used + 1 < size; ++i) {
        if (raw[i] != ' ' || (used > 0 && out[used - 1] != ' ')) {
            out[used++] = raw[i];
        }
    }
    while (used > 0 && out[used - 1] == ' ') {
        --used;
    }
    out[used] = '\0';
#endif
}

const char *adzi_cpu_request_ignored(void)
{
    return request_ignored;
}
