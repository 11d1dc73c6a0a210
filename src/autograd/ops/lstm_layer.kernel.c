#ifndef T
#define THIS_FILE "autograd/ops/lstm_layer.kernel.c"
#include "autograd/ops/lstm_layer.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

void K(lstm_cell)(const void *block, int64_t begin, int64_t end);
void K(lstm_cell)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lstm_cell_args *a = block;
    int64_t n = a->hidden;
    const T *bias = a->bias;
    for (int64_t row = begin; row < end; ++row) {
        T *restrict gates = (T *)a->gates + row * 4 * n;
        T *restrict c = (T *)a->c + row * n, *restrict h = (T *)a->h + row * n;
        const T *before = (const T *)a->c_before + row * n;
        for (int64_t j = 0; j < 4 * n && bias != NULL; ++j) {
            gates[j] += bias[j];
        }
        for (int64_t j = 0; j < 2 * n; ++j) {
            gates[j] = VM(sigmoid)(gates[j]);
        }
        for (int64_t j = 2 * n; j < 3 * n; ++j) {
            gates[j] = VM(tanh)(gates[j]);
        }
        for (int64_t j = 3 * n; j < 4 * n; ++j) {
            gates[j] = VM(sigmoid)(gates[j]);
        }
        for (int64_t j = 0; j < n; ++j) {
            c[j] = gates[n + j] * before[j] + gates[j] * gates[2 * n + j];
            h[j] = gates[3 * n + j] * VM(tanh)(c[j]);
        }
    }
}

void K(lstm_cell_backward)(const void *block, int64_t begin, int64_t end);
void K(lstm_cell_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lstm_cell_args *a = block;
    int64_t n = a->hidden;
    for (int64_t row = begin; row < end; ++row) {
        const T *gates = (const T *)a->gates + row * 4 * n, *c = (const T *)a->c + row * n;
        const T *before = (const T *)a->c_before + row * n;
        const T *dy = a->dy != NULL ? (const T *)a->dy + row * n : NULL;
        const T *dh = (const T *)a->dh + row * n;
        T *restrict dc = (T *)a->dc + row * n, *restrict dgates = (T *)a->dgates + row * 4 * n;
        for (int64_t j = 0; j < n; ++j) {
            const T i = gates[j], f = gates[n + j], g = gates[2 * n + j], o = gates[3 * n + j];
            const T out = VM(tanh)(c[j]);
            const T whole = dy != NULL ? dh[j] + dy[j] : dh[j];
            const T cell = dc[j] + whole * o * (R(1) - out * out);
            dgates[j] = cell * g * i * (R(1) - i);
            dgates[n + j] = cell * before[j] * f * (R(1) - f);
            dgates[2 * n + j] = cell * i * (R(1) - g * g);
            dgates[3 * n + j] = whole * out * o * (R(1) - o);
            dc[j] = cell * f;
        }
    }
}

#endif
