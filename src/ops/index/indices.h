/* Index tensors: their dtype, and whether every index names something. */
#ifndef ADZI_OPS_INDEX_INDICES_H
#define ADZI_OPS_INDEX_INDICES_H

#include "ops/op.h"

/** Replaces input i by contiguous i64; fails with ADZ_ERR_DTYPE unless it is i64 or i32. */
bool adzi_want_indices(adzi_call *call, int i);

/**
 * Fails with ADZ_ERR_INDEX, naming index, position and size, unless all of `index` (contiguous i64)
 * are in 0 .. size-1. `of` says what they count: "rows of weight", with t's shape behind it.
 */
bool adzi_indices_within(
    const char *op, const adz_tensor *index, int64_t size, const char *of, const adz_tensor *t);

/** For compositions: a list of the program's as contiguous i64, after the same check, so that the
 * message has the position in that list. NULL with the error recorded. `index` is i64 or i32. */
adz_tensor *adzi_indices_of(
    const char *op, adz_tensor *index, int64_t size, const char *of, const adz_tensor *t);

/**
 * adzi_want_indices and adzi_indices_within for input i of a call whose kernel takes an index with
 * strides. An index that was expanded stays so, and each of its numbers is checked once.
 */
bool adzi_want_strided_indices(
    adzi_call *call, int i, int64_t size, const char *of, const adz_tensor *t);

/** The elements of a contiguous i64 tensor. */
static inline int64_t *adzi_index_data(const adz_tensor *t)
{
    return (int64_t *)(void *)t->data;
}

#endif
