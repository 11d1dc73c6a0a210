/* What the cases of pooling share: the numbers of a sample as options, and the configs of reference
 * vectors. */
#ifndef ADZE_TESTS_OPS_POOL_H
#define ADZE_TESTS_OPS_POOL_H

#include "ops/facts.h"

/* p[0 ..] = kernel_size, stride (0: the default), padding and dilation, each for `n` dimensions;
 * then ceil_mode and, for a mean, count_include_pad instead of the dilation */
static inline adz_shape pool_pair(const double *p, int n)
{
    return n == 1 ? ADZ_SHAPE((int64_t)p[0]) : ADZ_SHAPE((int64_t)p[0], (int64_t)p[1]);
}

static inline adz_max_pool_options max_pool_options_of(const op_args *a, int n)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    if (a->p[n] != 0) {
        o.stride = pool_pair(a->p + n, n);
    }
    o.padding = pool_pair(a->p + 2 * n, n);
    o.dilation = pool_pair(a->p + 3 * n, n);
    o.ceil_mode = a->p[4 * n] != 0;
    return o;
}

/* p[3 n] = count_include_pad, p[3 n + 1] = ceil_mode, p[3 n + 2] = divisor_override */
static inline adz_avg_pool_options avg_pool_options_of(const op_args *a, int n)
{
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    if (a->p[n] != 0) {
        o.stride = pool_pair(a->p + n, n);
    }
    o.padding = pool_pair(a->p + 2 * n, n);
    o.count_include_pad = a->p[3 * n] != 0;
    o.ceil_mode = a->p[3 * n + 1] != 0;
    o.divisor_override = (int64_t)a->p[3 * n + 2];
    return o;
}

/* Reads kernel_size, stride and padding, n numbers each. */
static inline void config_windows(const json_t *config, op_args *a, int n)
{
    static const char *const names[] = { "kernel_size", "stride", "padding" };
    for (int i = 0; i < 3; ++i) {
        config_list(config, names[i], a->p + i * n, n);
    }
}

static inline void config_max_pool(const json_t *config, op_args *a, int n)
{
    config_windows(config, a, n);
    if (config_list(config, "dilation", a->p + 3 * n, n) < n) {
        a->p[3 * n] = a->p[4 * n - 1] = 1;
    }
    a->p[4 * n] = config_flag(config, "ceil_mode", false);
}

static inline void config_avg_pool(const json_t *config, op_args *a, int n)
{
    config_windows(config, a, n);
    a->p[3 * n] = config_flag(config, "count_include_pad", true);
    a->p[3 * n + 1] = config_flag(config, "ceil_mode", false);
    a->p[3 * n + 2] = config_number(config, "divisor_override", 0);
}

/** Distinct numbers: a maximum then has a derivative. */
#define D(...)   IN_OF(FILL_DISTINCT, __VA_ARGS__)
#define D_T(...) IN_T_OF(FILL_DISTINCT, __VA_ARGS__)

#endif
