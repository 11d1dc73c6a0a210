/* A dataset whose rows can be told apart. */
#ifndef ADZE_TESTS_DATA_DATA_NUMBERED_H
#define ADZE_TESTS_DATA_DATA_NUMBERED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "adze/data.h"
#include "tensor/tensor.h"

/* A dataset of x[rows, 2], where x[i, j] = 10 i + j, and the i64 tensor y[rows], where y[i] = i. */
static inline adz_dataset *numbered(int64_t rows)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *both[] = { adz_empty(ADZ_SHAPE(rows, 2), ADZ_F32),
        adz_arange(0, (double)rows, 1, ADZ_I64) };
    for (int64_t i = 0; i < 2 * rows; ++i) {
        adz_tensor_data_f32(both[0])[i] = (float)(10 * (i / 2) + i % 2);
    }
    adz_dataset *dataset = adz_dataset_new(both, 2);
    adz_scope_close(scope);
    assert_non_null(dataset);
    return dataset;
}

/* Writes the row numbers of a batch of that dataset, read from y, and checks that x agrees. */
static inline int64_t rows_of(adz_tensor *x, adz_tensor *y, int64_t *rows)
{
    int64_t n = adz_tensor_size(y, 0);
    for (int64_t i = 0; i < n; ++i) {
        rows[i] = adz_tensor_data_i64(y)[i];
        assert_true(adz_tensor_data_f32(x)[2 * i] == (float)(10 * rows[i]));
        assert_true(adz_tensor_data_f32(x)[2 * i + 1] == (float)(10 * rows[i] + 1));
    }
    return n;
}

static inline int64_t rows_of_dataset(adz_dataset *dataset, int64_t *rows)
{
    adz_scope *scope = adz_scope_open();
    int64_t n = rows_of(adz_dataset_at(dataset, 0), adz_dataset_at(dataset, 1), rows);
    adz_scope_close(scope);
    return n;
}

#endif
