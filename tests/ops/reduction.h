/* The tests that reductions over several dimensions have in common. Each file defines `tested`. */
#ifndef ADZE_TESTS_OPS_REDUCTION_H
#define ADZE_TESTS_OPS_REDUCTION_H

#include <math.h>

#include "ops/case.h"

static adz_tensor *(*const tested)(adz_tensor *, adz_dims, bool);

/* p[0] = keepdim, p[1 ..] = dimensions */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(tested(a->in[0], case_dims(a, 1), a->p[0] != 0), out);
}

static bool config(const json_t *config, op_args *a)
{
    a->p[0] = config_flag(config, "keepdim", false);
    config_dims(config, "dim", a, 1);
    return true;
}

/* clang-format off */
#define REDUCTION_SAMPLES \
    { .in = { IN(3, 4, 2) }, .p = { 0, -1 } }, \
    { .in = { IN(3, 4, 2) }, .p = { 1, 2, 0, 2 } }, \
    { .in = { IN_T(3, 4) }, .p = { 0, 1, 0 } }, \
    { .in = { IN_T(3, 4) }, .p = { 1, 1, -1 } }, \
    { .in = { IN(2, 1, 3) }, .p = { 0, 1, 1 } }, \
    { .in = { IN_0 }, .p = { 0, -1 } }, \
    { .in = { IN(5, 70) }, .p = { 0, 1, 0 } }
/* clang-format on */

#endif
