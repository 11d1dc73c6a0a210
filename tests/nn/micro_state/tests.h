/* The groups of tests of test_micro_state, and what they share. Each group runs its tests and
 * returns how many failed. */
#ifndef ADZE_TESTS_NN_MICRO_STATE_TESTS_H
#define ADZE_TESTS_NN_MICRO_STATE_TESTS_H

#include <math.h>

#include "../../nn.h"
#include "nn/micro_state.h"

int batch_norm_tests(void);
int batch_norm_change_tests(void);
int carried_tests(void);
int carried_reset_tests(void);

/** The name under which errors are recorded. */
static const char OP[] = "test";

/** Whether element i of two f32 or f64 tensors is a NaN in both. */
static inline bool both_nan(const adz_tensor *a, const adz_tensor *b, int64_t i)
{
    if (a->dtype == ADZ_F32) {
        return isnan(((const float *)(const void *)a->data)[i]) &&
               isnan(((const float *)(const void *)b->data)[i]);
    }
    return a->dtype == ADZ_F64 && isnan(((const double *)(const void *)a->data)[i]) &&
           isnan(((const double *)(const void *)b->data)[i]);
}

/** Whether two tensors have the same dtype, shape and bits. NaNs are equal to each other: their
 * bits depend on how the compiler has arranged an expression. */
static inline bool same_bits(adz_tensor *a, adz_tensor *b)
{
    if ((a == ADZ_NONE) != (b == ADZ_NONE)) {
        return false;
    }
    if (a == ADZ_NONE) {
        return true;
    }
    a = adz_contiguous(adz_detach(a));
    b = adz_contiguous(adz_detach(b));
    adz_shape sa = adz_tensor_shape(a), sb = adz_tensor_shape(b);
    bool good = adz_tensor_dtype(a) == adz_tensor_dtype(b) && sa.rank == sb.rank;
    for (int i = 0; i < sa.rank && good; ++i) {
        good = sa.sizes[i] == sb.sizes[i];
    }
    const int64_t item = (int64_t)adzi_item_size(a);
    for (int64_t i = 0; i < a->numel && good; ++i) {
        good =
            memcmp(a->data + i * item, b->data + i * item, (size_t)item) == 0 || both_nan(a, b, i);
    }
    return good;
}

/** Whether all buffers of two modules of one structure have the same bits. */
static inline bool same_buffers(adz_module *a, adz_module *b)
{
    adz_named_list x = adz_module_named_buffers(a), y = adz_module_named_buffers(b);
    bool good = x.count == y.count;
    for (size_t i = 0; i < x.count && good; ++i) {
        good = strcmp(x.items[i].name, y.items[i].name) == 0 &&
               same_bits(x.items[i].tensor, y.items[i].tensor);
        if (!good) {
            printf("%s differs\n", x.items[i].name);
        }
    }
    return good;
}

/** Enters a micro-batch, which has to succeed. */
static inline void enter(adzi_micro_state *state, int micro)
{
    assert_int_equal(adzi_micro_state_enter(OP, state, micro), ADZ_OK);
}

#endif
