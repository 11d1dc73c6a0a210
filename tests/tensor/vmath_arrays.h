/* The list of vmath.h's functions, and the arguments of the loops over arrays in vmath.kernel.c. */
#ifndef ADZE_TESTS_VMATH_ARRAYS_H
#define ADZE_TESTS_VMATH_ARRAYS_H

typedef struct vmath_array {
    const void *x;
    void *y;
} vmath_array;

/* Applies the macro DO to every function of vmath.h with one argument, and to pow with one argument
 * that is a constant. */
#define VMATH_EACH(DO)  \
    DO(exp)             \
    DO(log)             \
    DO(log1p)           \
    DO(expm1)           \
    DO(tanh)            \
    DO(sigmoid)         \
    DO(erf)             \
    DO(sin)             \
    DO(cos)             \
    DO(exp2)            \
    DO(log2)            \
    DO(log10)           \
    DO(sinh)            \
    DO(cosh)            \
    DO(asinh)           \
    DO(acosh)           \
    DO(atanh)           \
    DO(tan)             \
    DO(asin)            \
    DO(acos)            \
    DO(atan)            \
    DO(erfc)            \
    DO(erfinv)          \
    DO(sinc)            \
    DO(pow_of)          \
    DO(pow_by)          \
    DO(lgamma)          \
    DO(digamma)         \
    DO(silu)            \
    DO(silu_derivative) \
    DO(softplus)        \
    DO(logsigmoid)      \
    DO(gelu)            \
    DO(gelu_derivative) \
    DO(gelu_tanh)       \
    DO(gelu_tanh_derivative)

#endif
