/* Kernels of topk: the k largest or smallest elements of each slice, sorted, and their indices.
 *
 * A unit is one slice of x[outer, n, inner]. NaN counts as the largest element, as in PyTorch. Of
 * equal elements the one with the lower index comes first, so the result is unique.
 *
 * General case: the k best elements so far form a heap in the result itself, whose root is the
 * worst of them. An element that comes before the root replaces it. At the end the heap is sorted
 * in place. This takes O(n log k) steps and no memory.
 *
 * Short rows (n <= 512, k <= 16) of elements of 32 bits or fewer, with AVX2: value and index become
 * one 64-bit key per element. Each of k rounds finds the largest key below the last one, without a
 * branch per element. Four rows are selected together, because a round waits for the one before.
 *
 * Only comparisons decide, so every way gives the same result.
 */
#ifndef elem
#include <string.h>

#include "ops/order/topk.kernel.h"
#include "base/isa.h"

enum {
    KEYS = 512,        /* the longest row of the way by keys: 4 KiB of keys */
    SMALL_K = 16,      /* the largest k of the way by keys */
    KEYS_AT_ONCE = 16, /* keys are padded to a multiple of this: two AVX-512 registers */
    ROWS_AT_ONCE = 4   /* rows selected together */
};

/* The index 0 as the lower half of a key. It leaves INT64_MAX and INT64_MIN unused: they stand for
 * "no limit yet" and for padding. */
#define LAST_PLACE 0xfffffffeu

#ifdef __AVX2__
#define elem         int64_t
#define ELEM_NAME    key
#define KERNEL(name) KERNEL_OF(name, ELEM_NAME)
#include "tensor/kernel/fold.kernel.h"

/* The largest of n keys that is less than `below`. n is a multiple of KEYS_AT_ONCE. Keys that are
 * not below the limit are replaced by INT64_MIN; two maxima a and b break the chain of
 * dependencies. */
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
        a = KERNEL(winners)(a, c, LARGER);
        b = KERNEL(winners)(b, d, LARGER);
    }
    const KERNEL(vector_16) last = KERNEL(winners_of_parts)(KERNEL(winners)(a, b, LARGER), LARGER);
    return last[0] > last[1] ? last[0] : last[1];
}
#undef elem
#undef ELEM_NAME
#undef KERNEL
#endif

#define THIS_FILE "ops/order/topk.kernel.c"
#include "tensor/kernel/each_type.h"
#else

/* True if element a at index i comes before element b at index j in the sorted result. NaN is the
 * largest element: first for the largest k, last for the smallest k. Of two equal elements, or two
 * NaN, the one with the lower index comes first. So no two elements of a slice tie. */
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

/* Moves element `at` of the heap (v, p) of n elements down, until it comes after both its children
 * in the sorted result. The children of element i are 2 i + 1 and 2 i + 2. The root of the heap is
 * the element that comes last. s is the stride of v and of p. The heap lies in the result, whose
 * slices are strided unless dim is the last one. */
static inline void KERNEL(topk_sift)(
    bool largest, elem *v, int64_t *p, int64_t s, int64_t at, int64_t n)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        /* Of two children the one that comes later moves up. */
        int64_t c = child * s, other = c + s, a = at * s;
        if (child + 1 < n && KERNEL(topk_before)(largest, v[c], p[c], v[other], p[other])) {
            ++child;
            c = other;
        }
        if (!KERNEL(topk_before)(largest, v[a], p[a], v[c], p[c])) {
            return;
        }
        elem value = v[a];
        int64_t found = p[a];
        v[a] = v[c];
        p[a] = p[c];
        v[c] = value;
        p[c] = found;
    }
}

#undef HAS_KEYS
#if defined(__AVX2__) && (ELEM_IS_F32 || !ELEM_IS_FLOAT)
#define HAS_KEYS 1
/* The key of element x at index i: the earlier an element comes in the result, the larger its key.
 * The upper 32 bits are an integer that is ordered as the values are: -0 equals 0, NaN is above
 * all. The lower 32 bits fall with the index, so no two keys of a row are equal. */
static inline int64_t KERNEL(topk_key)(bool largest, elem x, int64_t i)
{
#if ELEM_IS_FLOAT
    /* Adding 0 turns -0 into 0. The bits of a negative float fall as the float rises, so all but
     * the sign are inverted. */
    const elem value = x + 0;
    int32_t order;
    memcpy(&order, &value, sizeof order);
    order ^= (order >> 31) & 0x7fffffff;
    order = x != x ? 0x7fffffff : order;
#else
    int32_t order = (int32_t)x;
#endif
    /* Inverted bits reverse the order of the values. Lower indices still come first. */
    order = largest ? order : ~order;
    return (int64_t)((uint64_t)(uint32_t)order << 32 | (LAST_PLACE - (uint32_t)i));
}

/* Top-k of up to four short contiguous rows. Each of the k rounds selects the largest remaining key
 * of every row, so that independent rows hide the latency of one selection. A round reads all keys
 * of a row again from the L1 cache: four rows of 512 keys take 16 KiB. Keys are not removed. A
 * round ignores those that are not below the key of the round before, which works because keys are
 * distinct. */
static void KERNEL(topk_by_keys)(
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
        /* Padding is below every key, so it is not selected while k <= n. */
        for (int64_t i = n; i < padded; ++i) {
            keys[r][i] = INT64_MIN;
        }
        below[r] = INT64_MAX;
    }
    for (int64_t j = 0; j < k; ++j) {
        for (int64_t r = 0; r < rows; ++r) {
            below[r] = largest_below(keys[r], padded, below[r]);
            /* The index is in the key. The value is read from x, so a selected -0 stays -0. */
            const int64_t found = (int64_t)(LAST_PLACE - (uint32_t)below[r]);
            p[r * k + j] = found;
            v[r * k + j] = x[r * n + found];
        }
    }
}
#else
#define HAS_KEYS 0
#endif

/* The entry point, and the general case: a heap of the k best elements in the result itself.
 * Elements of 64 bits, long rows, a larger k, strided slices and instruction sets without AVX2 take
 * it. */
void KERNEL(topk)(const void *block, int64_t begin, int64_t end);
void KERNEL(topk)(const void *block, int64_t begin, int64_t end)
{
    const adzi_topk_args *args = block;
    int64_t n = args->n, k = args->k, s = args->inner;
    bool largest = args->largest;
#if HAS_KEYS
    if (sizeof(elem) <= sizeof(int32_t) && s == 1 && n <= KEYS && k <= SMALL_K) {
        for (int64_t rows; begin < end; begin += rows) {
            rows = end - begin < ROWS_AT_ONCE ? end - begin : ROWS_AT_ONCE;
            KERNEL(topk_by_keys)
            (args, (const elem *)args->x + begin * n, (elem *)args->values + begin * k,
                args->indices + begin * k, rows);
        }
        return;
    }
#endif
    for (int64_t slice = begin; slice < end; ++slice) {
        int64_t outer = slice / s, inner = slice % s;
        const elem *x = (const elem *)args->x + outer * n * s + inner;
        elem *v = (elem *)args->values + outer * k * s + inner;
        int64_t *p = args->indices + outer * k * s + inner;
        /* The first k elements become a heap, from the last parent up to the root. */
        for (int64_t i = 0; i < k; ++i) {
            v[i * s] = x[i * s];
            p[i * s] = i;
        }
        for (int64_t i = k / 2 - 1; i >= 0; --i) {
            KERNEL(topk_sift)(largest, v, p, s, i, k);
        }
        /* For random data few later elements come before the root, so most cost one comparison. */
        for (int64_t i = k; i < n; ++i) {
            if (KERNEL(topk_before)(largest, x[i * s], i, v[0], p[0])) {
                v[0] = x[i * s];
                p[0] = i;
                KERNEL(topk_sift)(largest, v, p, s, 0, k);
            }
        }
        /* Sorting: the root comes last, so it goes to the end and the heap shrinks by one. */
        for (int64_t last = k - 1; last > 0; --last) {
            elem value = v[last * s];
            int64_t found = p[last * s];
            v[last * s] = v[0];
            p[last * s] = p[0];
            v[0] = value;
            p[0] = found;
            KERNEL(topk_sift)(largest, v, p, s, 0, last);
        }
    }
}

#endif
