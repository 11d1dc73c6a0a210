/* What the instruction set of a compilation has, for kernels that keep vectors in registers. */
#ifndef ADZI_TENSOR_KERNEL_REGISTERS_H
#define ADZI_TENSOR_KERNEL_REGISTERS_H

#include <stdbool.h>

#include "base/isa.h"

/* aarch64: NEON and fused multiply-adds are in its baseline. */
#if defined(__aarch64__) && defined(__ARM_NEON)
#define ADZI_NEON
#include <arm_neon.h>
#endif

/* INLINE functions get constant arguments that have to vanish, so they are always inlined. NOINLINE
 * functions have all registers for themselves, and there is one copy of each. */
#define INLINE static inline __attribute__((always_inline))
#if defined(__GNUC__) && !defined(__clang__)
#define NOINLINE static __attribute__((noinline, noclone))
#else
#define NOINLINE static __attribute__((noinline))
#endif

/* The bytes of a vector register. gcc keeps a wider vector in memory. */
#if defined(__AVX512F__)
#define ADZI_REGISTER_BYTES 64
#elif defined(__AVX2__)
#define ADZI_REGISTER_BYTES 32
#else
#define ADZI_REGISTER_BYTES 16
#endif

/* The instruction set has 32 vector registers; others have 16. */
#if defined(__AVX512F__) || defined(ADZI_NEON)
#define ADZI_32_REGISTERS
#endif

/* A loop of at most 16 turns over an array of registers, which is in memory if the loop remains. */
#ifdef __OPTIMIZE__
#define ADZI_UNROLLED_FOR _Pragma("GCC unroll 16") for
#else /* without optimisation gcc ignores the pragma and warns */
#define ADZI_UNROLLED_FOR for
#endif

/** Whether the kernels in use have fused multiply-adds. With them every processor has the same bits
 * (docs/reproducibility.md), and matrix products are adze's own. */
static inline bool adzi_has_fused(void)
{
#ifdef ADZI_NEON
    return true;
#else
    return adzi_cpu_level >= ADZI_CPU_AVX2;
#endif
}

#endif
