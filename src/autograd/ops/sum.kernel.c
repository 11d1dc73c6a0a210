#ifndef T
#define THIS_FILE "autograd/ops/sum.kernel.c"
#include "autograd/ops/sum.h"
#include "tensor/each_type.h"
#else

/* f32 is summed in f64, integers in 64 bits (unsigned: overflow wraps). */
#undef SUM
#undef OUT
#if T_IS_FLOAT
#define SUM double
#define OUT T
#else
#define SUM uint64_t
#define OUT int64_t
#endif

enum { K(lanes) = 8, K(block) = 512, K(columns) = 64 };

/* The sum of n elements at a stride. The order depends on n alone: eight lanes over blocks, blocks
 * added one after the other, which bounds the f64 error by n / 512 + 64 roundings. */
static inline SUM K(run)(const T *x, int64_t n, int64_t stride)
{
    SUM total = 0;
    for (int64_t start = 0; start < n; start += K(block)) {
        int64_t length = n - start < K(block) ? n - start : K(block);
        const T *b = x + start * stride;
        SUM lane[K(lanes)] = { 0 };
        int64_t i = 0;
        if (stride == 1) {
            for (; i + K(lanes) <= length; i += K(lanes)) {
                for (int j = 0; j < K(lanes); ++j) {
                    lane[j] += (SUM)b[i + j];
                }
            }
        } else {
            for (; i + K(lanes) <= length; i += K(lanes)) {
                for (int j = 0; j < K(lanes); ++j) {
                    lane[j] += (SUM)b[(i + j) * stride];
                }
            }
        }
        for (int j = 0; i < length; ++i, ++j) {
            lane[j] += (SUM)b[i * stride];
        }
        total += ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
                 ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    }
    return total;
}

/* Writes result r, or the partial sum that it is. */
static inline void K(finish)(const adzi_reduce_args *a, int64_t r, SUM sum)
{
    if (a->partial != NULL) {
        ((SUM *)(void *)a->partial)[r] = sum;
        return;
    }
#if T_IS_FLOAT
    sum *= a->scale;
#endif
    ((OUT *)(void *)a->out)[r] = (OUT)sum;
}

/* Steps an odometer over the outer `n` dimensions; returns false after the last place. */
static inline int K(step)(
    int n, const int64_t *sizes, const int64_t *strides, int64_t *index, int64_t *offset)
{
    for (int d = n - 1; d >= 0; --d) {
        *offset += strides[d];
        if (++index[d] < sizes[d]) {
            return 1;
        }
        *offset -= strides[d] * sizes[d];
        index[d] = 0;
    }
    return 0;
}

static inline int64_t K(offset_of)(const adzi_reduce_args *a, int64_t at, int n)
{
    int64_t offset = 0;
    for (int d = n - 1; d >= 0; --d) {
        offset += at % a->kept[d] * a->kept_strides[d];
        at /= a->kept[d];
    }
    return offset;
}

/* One result after the other. */
static void K(by_result)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    int inner = a->n_reduced - 1;
    for (int64_t r = begin; r < end; ++r) {
        const T *x = (const T *)(const void *)a->in + K(offset_of)(a, r, a->n_kept);
        SUM total = 0;
        if (a->n > 0) {
            int64_t index[ADZ_MAX_RANK] = { 0 }, offset = 0;
            int64_t length = inner >= 0 ? a->reduced[inner] : 1;
            int64_t stride = inner >= 0 ? a->reduced_strides[inner] : 1;
            do {
                total += K(run)(x + offset, length, stride);
            } while (K(step)(inner, a->reduced, a->reduced_strides, index, &offset));
        }
        K(finish)(a, r, total);
    }
}

/* Results that lie side by side are summed together, row by row, in blocks of rows. */
static void K(by_column)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    int last = a->n_kept - 1, inner = a->n_reduced - 1;
    int64_t width = a->kept[last];
    while (begin < end) {
        int64_t column = begin % width;
        int64_t n = width - column < end - begin ? width - column : end - begin;
        n = n < K(columns) ? n : K(columns);
        const T *x = (const T *)(const void *)a->in + K(offset_of)(a, begin, a->n_kept);
        SUM total[K(columns)] = { 0 }, part[K(columns)];
        int64_t index[ADZ_MAX_RANK] = { 0 }, offset = 0;
        int64_t length = a->reduced[inner], stride = a->reduced_strides[inner];
        do {
            for (int64_t start = 0; start < length; start += K(block)) {
                int64_t stop = start + K(block) < length ? start + K(block) : length;
                for (int64_t j = 0; j < n; ++j) {
                    part[j] = 0;
                }
                for (int64_t i = start; i < stop; ++i) {
                    const T *row = x + offset + i * stride;
                    for (int64_t j = 0; j < n; ++j) {
                        part[j] += (SUM)row[j];
                    }
                }
                for (int64_t j = 0; j < n; ++j) {
                    total[j] += part[j];
                }
            }
        } while (K(step)(inner, a->reduced, a->reduced_strides, index, &offset));
        for (int64_t j = 0; j < n; ++j) {
            K(finish)(a, begin + j, total[j]);
        }
        begin += n;
    }
}

void K(sum)(const void *block, int64_t begin, int64_t end);
void K(sum)(const void *block, int64_t begin, int64_t end)
{
    const adzi_reduce_args *a = block;
    if (a->n > 0 && a->n_kept > 0 && a->n_reduced > 0 && a->kept_strides[a->n_kept - 1] == 1) {
        K(by_column)(a, begin, end);
    } else {
        K(by_result)(a, begin, end);
    }
}

/* Adds up the blocks of each result, in order. */
void K(sum_join)(const void *block, int64_t begin, int64_t end);
void K(sum_join)(const void *block, int64_t begin, int64_t end)
{
    adzi_reduce_args a = *(const adzi_reduce_args *)block;
    const SUM *partial = (const SUM *)(const void *)a.partial;
    int64_t results = 1;
    for (int d = 0; d < a.n_kept; ++d) {
        results *= a.kept[d];
    }
    a.partial = NULL;
    for (int64_t r = begin; r < end; ++r) {
        SUM total = 0;
        for (int64_t b = 0; b < a.blocks; ++b) {
            total += partial[b * results + r];
        }
        K(finish)(&a, r, total);
    }
}

#endif
