#ifndef elem
#include <string.h>

#include "autograd/ops/index/topk.kernel.h"
#include "base/isa.h"

/* Rows that keys are made of, where registers compare integers of 64 bits, and how many of their
 * elements are taken at most. */
enum { KEYS = 512, FEW_KEYS = 16, KEYS_AT_ONCE = 16, ROWS_AT_ONCE = 4 };

#define LAST_PLACE 0xfffffffeu /* so that no key is INT64_MAX, or as small as INT64_MIN */

#ifdef __AVX2__
#define elem         int64_t
#define ELEM_NAME    key
#define KERNEL(name) KERNEL_OF(name, ELEM_NAME)
#include "tensor/kernel/fold.kernel.h"
#define IS_LARGER(x, y) ((x) > (y))

/* The largest key below `below`. Of the keys, whole registers are filled. */
static inline int64_t largest_below(const int64_t *keys, int64_t n, int64_t below)
{
    const KERNEL(vector) none = (KERNEL(vector)){ 0 } + INT64_MIN,
                         limit = (KERNEL(vector)){ 0 } + below;
    KERNEL(vector) a = none, b = none, c, d;
    for (int64_t i = 0; i < n; i += 2 * KERNEL(register)) {
        memcpy(&c, keys + i, sizeof c);
        memcpy(&d, keys + i + KERNEL(register), sizeof d);
        c = (c & (c < limit)) | (none & ~(c < limit));
        d = (d & (d < limit)) | (none & ~(d < limit));
        PICK_INTO(IS_LARGER, a, c)
        PICK_INTO(IS_LARGER, b, d)
    }
    PICK_INTO(IS_LARGER, a, b)
    PICK_DOWN(IS_LARGER, last, a)
    return last[0] > last[1] ? last[0] : last[1];
}
#undef elem
#undef ELEM_NAME
#undef KERNEL
#endif

#define THIS_FILE "autograd/ops/index/topk.kernel.c"
#include "tensor/kernel/each_type.h"
#else

/* Whether element a at place i comes before b at place j. NaN counts as the largest of all; of
 * equals the first comes first. */
static inline bool KERNEL(topk_before)(bool largest, elem a, int64_t i, elem b, int64_t j)
{
#if ELEM_IS_FLOAT
    bool nan_a = a != a, nan_b = b != b;
#else
    bool nan_a = false, nan_b = false;
#endif
    if (nan_a != nan_b) {
        return nan_a == largest;
    }
    if (nan_a || a == b) {
        return i < j;
    }
    return largest ? a > b : a < b;
}

/* Moves element `at` down a heap whose root comes last of all; s is the stride of both arrays. */
static inline void KERNEL(topk_sift)(
    bool largest, elem *v, int64_t *p, int64_t s, int64_t at, int64_t n)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        int64_t c = child * s, other = c + s, a = at * s;
        if (child + 1 < n && KERNEL(topk_before)(largest, v[c], p[c], v[other], p[other])) {
            ++child;
            c = other;
        }
        if (!KERNEL(topk_before)(largest, v[a], p[a], v[c], p[c])) {
            return;
        }
        elem value = v[a];
        int64_t place = p[a];
        v[a] = v[c];
        p[a] = p[c];
        v[c] = value;
        p[c] = place;
    }
}

#undef HAS_KEYS
#if defined(__AVX2__) && (ELEM_IS_F32 || !ELEM_IS_FLOAT)
#define HAS_KEYS 1
/* A key for element i: larger for one that comes before. Values of 32 bits stand above, as integers
 * that order as they do (-0 as 0, NaN above all), places below, so that no two keys are alike. */
static inline int64_t KERNEL(topk_key)(bool largest, elem x, int64_t i)
{
#if ELEM_IS_FLOAT
    const elem value = x + 0;
    int32_t order;
    memcpy(&order, &value, sizeof order);
    order ^= (order >> 31) & 0x7fffffff;
    order = x != x ? 0x7fffffff : order;
#else
    int32_t order = (int32_t)x;
#endif
    order = largest ? order : ~order;
    return (int64_t)((uint64_t)(uint32_t)order << 32 | (LAST_PLACE - (uint32_t)i));
}

/* Few of not many, of some rows together: each time the largest of the keys below the one before,
 * for which the next one of the same row has to wait. */
static void KERNEL(topk_few)(
    const adzi_topk_args *args, const elem *x, elem *v, int64_t *p, int64_t rows)
{
    int64_t keys[ROWS_AT_ONCE][KEYS + KEYS_AT_ONCE], below[ROWS_AT_ONCE];
    const int64_t n = args->n, k = args->k;
    const int64_t padded = (n + KEYS_AT_ONCE - 1) / KEYS_AT_ONCE * KEYS_AT_ONCE;
    const bool largest = args->largest;
    for (int64_t r = 0; r < rows; ++r) {
        for (int64_t i = 0; i < n; ++i) {
            keys[r][i] = KERNEL(topk_key)(largest, x[r * n + i], i);
        }
        for (int64_t i = n; i < padded; ++i) {
            keys[r][i] = INT64_MIN;
        }
        below[r] = INT64_MAX;
    }
    for (int64_t j = 0; j < k; ++j) {
        for (int64_t r = 0; r < rows; ++r) {
            below[r] = largest_below(keys[r], padded, below[r]);
            const int64_t place = (int64_t)(LAST_PLACE - (uint32_t)below[r]);
            p[r * k + j] = place;
            v[r * k + j] = x[r * n + place];
        }
    }
}
#else
#define HAS_KEYS 0
#endif

/* The k first are kept in a heap in the result itself, which is sorted at the end. */
void KERNEL(topk)(const void *block, int64_t begin, int64_t end);
void KERNEL(topk)(const void *block, int64_t begin, int64_t end)
{
    const adzi_topk_args *args = block;
    int64_t n = args->n, k = args->k, s = args->inner;
    bool largest = args->largest;
#if HAS_KEYS
    if (sizeof(elem) <= sizeof(int32_t) && s == 1 && n <= KEYS && k <= FEW_KEYS) {
        for (int64_t rows; begin < end; begin += rows) {
            rows = end - begin < ROWS_AT_ONCE ? end - begin : ROWS_AT_ONCE;
            KERNEL(topk_few)
            (args, (const elem *)args->x + begin * n, (elem *)args->values + begin * k,
                args->places + begin * k, rows);
        }
        return;
    }
#endif
    for (int64_t lane = begin; lane < end; ++lane) {
        int64_t outer = lane / s, inner = lane % s;
        const elem *x = (const elem *)args->x + outer * n * s + inner;
        elem *v = (elem *)args->values + outer * k * s + inner;
        int64_t *p = args->places + outer * k * s + inner;
        for (int64_t i = 0; i < k; ++i) {
            v[i * s] = x[i * s];
            p[i * s] = i;
        }
        for (int64_t i = k / 2 - 1; i >= 0; --i) {
            KERNEL(topk_sift)(largest, v, p, s, i, k);
        }
        for (int64_t i = k; i < n; ++i) {
            if (KERNEL(topk_before)(largest, x[i * s], i, v[0], p[0])) {
                v[0] = x[i * s];
                p[0] = i;
                KERNEL(topk_sift)(largest, v, p, s, 0, k);
            }
        }
        for (int64_t last = k - 1; last > 0; --last) {
            elem value = v[last * s];
            int64_t place = p[last * s];
            v[last * s] = v[0];
            p[last * s] = p[0];
            v[0] = value;
            p[0] = place;
            KERNEL(topk_sift)(largest, v, p, s, 0, last);
        }
    }
}

#endif
