/* One kernel source, several instruction sets (docs/design.md, "Kernels").
 *
 * A file named *.kernel.c is compiled once per instruction set: src/meson.build defines ADZI_ISA as
 * baseline, avx2 or avx512. Inside such a file, KERNEL_OF(name, type) is the symbol for this
 * instruction set. KERNEL(name) of each_float.h or each_type.h adds the dtype that is compiled.
 * Other files reach kernels through a table that KERNEL_TABLE_FLOAT, _ALL or _SIZES declares. Its
 * index is adzi_cpu_level, which is chosen once.
 */
#ifndef ADZI_BASE_ISA_H
#define ADZI_BASE_ISA_H

#include <stdint.h>

#include "base/threads/kernel.h"
#include "kernels_built.h"

enum { ADZI_CPU_BASELINE = 0, ADZI_CPU_AVX2 = 1, ADZI_CPU_AVX512 = 2, ADZI_CPU_LEVELS = 3 };

/** The level in use: the highest that the processor has, or a lower one that ADZE_CPU names. */
extern int adzi_cpu_level;

#define ADZI_PASTE3_(a, b, c)    a##_##b##_##c
#define ADZI_PASTE3(a, b, c)     ADZI_PASTE3_(a, b, c)
#define ADZI_PASTE4_(a, b, c, d) a##_##b##_##c##_##d
#define ADZI_PASTE4(a, b, c, d)  ADZI_PASTE4_(a, b, c, d)

/* For kernel files: the symbol for one dtype at the level being compiled, adzi_relu_f32_avx2. */
#define KERNEL_OF(name, type) ADZI_PASTE4(adzi, name, type, ADZI_ISA)

/* Declares the kernel of one dtype at all levels. */
#define ADZI_DECLARE_KERNEL(name, type)                                   \
    void adzi_##name##_##type##_baseline(const void *, int64_t, int64_t); \
    void adzi_##name##_##type##_avx2(const void *, int64_t, int64_t);     \
    void adzi_##name##_##type##_avx512(const void *, int64_t, int64_t)

/* One entry of a table: the kernel that serves a level. kernels_built.h, which src/meson.build
 * writes, defines ADZI_BUILT_FOR_baseline, _avx2 and _avx512: the level whose kernels serve each
 * level in this build. That is the level itself on x86-64, and the baseline elsewhere.
 *
 * It also defines ADZI_WITHOUT_AVX512_name for each kernel that gains nothing from AVX-512. The
 * AVX2 kernel of that name serves the level avx512. Such a definition has two elements, so it moves
 * the level that ADZI_SECOND finds to the second position. */
#define ADZI_SECOND_(a, b, ...)    b
#define ADZI_SECOND(...)           ADZI_SECOND_(__VA_ARGS__, ~)
#define ADZI_SERVING_baseline(...) ADZI_BUILT_FOR_baseline
#define ADZI_SERVING_avx2(...)     ADZI_BUILT_FOR_avx2
#define ADZI_SERVING_avx512(name)  ADZI_SECOND(ADZI_WITHOUT_AVX512_##name, ADZI_BUILT_FOR_avx512)
#define ADZI_SERVING_(level, name) ADZI_SERVING_##level(name)
#define ADZI_SERVING(level, name)  ADZI_SERVING_(level, name) /* for a level that is a macro */
#define ADZI_KERNEL_COLUMN(name, type, level) \
    ADZI_PASTE4(adzi, name, type, ADZI_SERVING_##level(name))

#define ADZI_KERNEL_ROW_FLOAT(name, level, of_doubles)                                  \
    {                                                                                   \
        ADZI_KERNEL_COLUMN(name, f32, level), ADZI_KERNEL_COLUMN(name, f64, of_doubles) \
    }
#define ADZI_KERNEL_ROW_ALL(name, level, of_others)                                             \
    {                                                                                           \
        ADZI_KERNEL_COLUMN(name, f32, level), ADZI_KERNEL_COLUMN(name, f64, of_others),         \
            ADZI_KERNEL_COLUMN(name, i32, of_others), ADZI_KERNEL_COLUMN(name, i64, of_others), \
            ADZI_KERNEL_COLUMN(name, u8, of_others), ADZI_KERNEL_COLUMN(name, b8, of_others)    \
    }

/* For files that launch kernels: `KERNEL_TABLE_FLOAT(relu);` declares the kernels for f32 and f64
 * and the table relu_kernels[level][dtype]. KERNEL_TABLE_ALL declares kernels and table for the six
 * dtypes that arithmetic knows.
 *
 * Only f32 has AVX-512 kernels. At level avx512 the AVX2 kernels compute f64, integers and bools,
 * with the same bits. They are at most half as fast, and only on data in the first-level cache;
 * their AVX-512 twins took a sixth of the time that the library takes to compile. Products, tanh
 * and sigmoid are the exception, because they wait for arithmetic and not for memory, and so are
 * small matrices that are computed in lanes. Their files define F64_AT_ALL_LEVELS before they
 * include each_float.h, and KERNEL_TABLE_PRODUCT is their table. */
#define ADZI_TABLE_OF_FLOATS(name, doubles_of_avx512)               \
    ADZI_DECLARE_KERNEL(name, f32);                                 \
    ADZI_DECLARE_KERNEL(name, f64);                                 \
    static const adzi_kernel name##_kernels[ADZI_CPU_LEVELS][2] = { \
        ADZI_KERNEL_ROW_FLOAT(name, baseline, baseline),            \
        ADZI_KERNEL_ROW_FLOAT(name, avx2, avx2),                    \
        ADZI_KERNEL_ROW_FLOAT(name, avx512, doubles_of_avx512),     \
    }
#define KERNEL_TABLE_FLOAT(name)   ADZI_TABLE_OF_FLOATS(name, avx2)
#define KERNEL_TABLE_PRODUCT(name) ADZI_TABLE_OF_FLOATS(name, avx512)
#define KERNEL_TABLE_ALL(name)                                      \
    ADZI_DECLARE_KERNEL(name, f32);                                 \
    ADZI_DECLARE_KERNEL(name, f64);                                 \
    ADZI_DECLARE_KERNEL(name, i32);                                 \
    ADZI_DECLARE_KERNEL(name, i64);                                 \
    ADZI_DECLARE_KERNEL(name, u8);                                  \
    ADZI_DECLARE_KERNEL(name, b8);                                  \
    static const adzi_kernel name##_kernels[ADZI_CPU_LEVELS][6] = { \
        ADZI_KERNEL_ROW_ALL(name, baseline, baseline),              \
        ADZI_KERNEL_ROW_ALL(name, avx2, avx2),                      \
        ADZI_KERNEL_ROW_ALL(name, avx512, avx2),                    \
    }
/* For kernels that copy elements as bits: one kernel per size of an element. b1, b2, b4 and b8 are
 * elements of 1, 2, 4 and 8 bytes. */
#define ADZI_KERNEL_ROW_SIZES(name, level)                                           \
    {                                                                                \
        ADZI_KERNEL_COLUMN(name, b1, level), ADZI_KERNEL_COLUMN(name, b2, level),    \
            ADZI_KERNEL_COLUMN(name, b4, level), ADZI_KERNEL_COLUMN(name, b8, level) \
    }
#define KERNEL_TABLE_SIZES(name)                                    \
    ADZI_DECLARE_KERNEL(name, b1);                                  \
    ADZI_DECLARE_KERNEL(name, b2);                                  \
    ADZI_DECLARE_KERNEL(name, b4);                                  \
    ADZI_DECLARE_KERNEL(name, b8);                                  \
    static const adzi_kernel name##_kernels[ADZI_CPU_LEVELS][4] = { \
        ADZI_KERNEL_ROW_SIZES(name, baseline),                      \
        ADZI_KERNEL_ROW_SIZES(name, avx2),                          \
        ADZI_KERNEL_ROW_SIZES(name, avx512),                        \
    }

/** The kernel for elements of so many bytes, from a table of KERNEL_TABLE_SIZES. */
#define KERNEL_FOR_SIZE(name, bytes) \
    (name##_kernels[adzi_cpu_level][(bytes) == 1 ? 0 : (bytes) == 2 ? 1 : (bytes) == 4 ? 2 : 3])

/** The kernel for a dtype at the level in use, from a table of KERNEL_TABLE_FLOAT or _ALL. */
#define KERNEL_FOR(name, dtype) (name##_kernels[adzi_cpu_level][dtype])

#endif
