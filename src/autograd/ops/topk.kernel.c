#ifndef T
#define THIS_FILE "autograd/ops/topk.kernel.c"
#include "autograd/ops/topk.kernel.h"
#include "tensor/each_type.h"
#else

/* Whether element a at place i comes before b at place j. NaN counts as the largest of all; of
 * equals the first comes first. */
static inline bool K(topk_before)(bool largest, T a, int64_t i, T b, int64_t j)
{
#if T_IS_FLOAT
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
static inline void K(topk_sift)(bool largest, T *v, int64_t *p, int64_t s, int64_t at, int64_t n)
{
    for (int64_t child; (child = 2 * at + 1) < n; at = child) {
        int64_t c = child * s, other = c + s, a = at * s;
        if (child + 1 < n && K(topk_before)(largest, v[c], p[c], v[other], p[other])) {
            ++child;
            c = other;
        }
        if (!K(topk_before)(largest, v[a], p[a], v[c], p[c])) {
            return;
        }
        T value = v[a];
        int64_t place = p[a];
        v[a] = v[c];
        p[a] = p[c];
        v[c] = value;
        p[c] = place;
    }
}

/* The k first are kept in a heap in the result itself, which is sorted at the end. */
void K(topk)(const void *block, int64_t begin, int64_t end);
void K(topk)(const void *block, int64_t begin, int64_t end)
{
    const adzi_topk_args *args = block;
    int64_t n = args->n, k = args->k, s = args->inner;
    bool largest = args->largest;
    for (int64_t lane = begin; lane < end; ++lane) {
        int64_t outer = lane / s, inner = lane % s;
        const T *x = (const T *)args->x + outer * n * s + inner;
        T *v = (T *)args->values + outer * k * s + inner;
        int64_t *p = args->places + outer * k * s + inner;
        for (int64_t i = 0; i < k; ++i) {
            v[i * s] = x[i * s];
            p[i * s] = i;
        }
        for (int64_t i = k / 2 - 1; i >= 0; --i) {
            K(topk_sift)(largest, v, p, s, i, k);
        }
        for (int64_t i = k; i < n; ++i) {
            if (K(topk_before)(largest, x[i * s], i, v[0], p[0])) {
                v[0] = x[i * s];
                p[0] = i;
                K(topk_sift)(largest, v, p, s, 0, k);
            }
        }
        for (int64_t last = k - 1; last > 0; --last) {
            T value = v[last * s];
            int64_t place = p[last * s];
            v[last * s] = v[0];
            p[last * s] = p[0];
            v[0] = value;
            p[0] = place;
            K(topk_sift)(largest, v, p, s, 0, last);
        }
    }
}

#endif
