/* The ranges of the integer dtypes. */
#ifndef ADZI_TENSOR_RANGE_H
#define ADZI_TENSOR_RANGE_H

#include "adze/base.h"

static inline bool adzi_is_integer(adz_dtype dtype)
{
    return dtype == ADZ_U8 || dtype == ADZ_I32 || dtype == ADZ_I64;
}

/* Whether a whole number lies in the range of an integer dtype; NaN lies in none. */
static inline bool adzi_in_range(double number, adz_dtype dtype)
{
    double low = dtype == ADZ_U8 ? 0 : dtype == ADZ_I32 ? -0x1p31 : -0x1p63;
    double beyond = dtype == ADZ_U8 ? 0x1p8 : dtype == ADZ_I32 ? 0x1p31 : 0x1p63;
    return number >= low && number < beyond;
}

#endif
