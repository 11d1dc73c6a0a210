/* Three blocks, tensors and modules for captured calls that a test makes by hand. */
#ifndef ADZE_TESTS_PLAN_VALUES_H
#define ADZE_TESTS_PLAN_VALUES_H

#include "by_hand.h"

enum { HEADER = 64, BYTES = 256 };

/* Three blocks of memory: the elements of a tensor, working memory, and an object of the host. */
#define TENSOR  ADDRESS(0)
#define WORKING ADDRESS(0x1000)
#define OBJECT  ADDRESS(0x2000)

static inline void store_all(adz_plan *plan)
{
    plan->capture.allocated(&plan->capture, OBJECT, BYTES);
    by_hand_store(plan, WORKING, 0, BYTES);
    by_hand_store(plan, TENSOR, HEADER, BYTES);
}

static inline adz_tensor view(void *data, adz_dtype dtype, int rank, int64_t size, int64_t stride)
{
    static adzi_storage storages[16];
    static size_t used;
    adz_tensor t = { .dtype = (uint8_t)dtype, .rank = (uint8_t)rank, .data = data, .numel = 2 };
    t.storage = &storages[used++ % 16];
    t.storage->data = data;
    for (int i = 0; i < rank; ++i) {
        t.sizes[i] = i == 0 ? size : 1;
        t.strides[i] = i == 0 ? stride : 1;
    }
    return t;
}

static inline adz_tensor *nothing(adz_module *self, adz_tensor *x)
{
    (void)self;
    return x;
}

static const adz_module_type with_buffers = {
    .size = sizeof with_buffers, .name = "WithBuffers", .forward = nothing
};

static inline adz_module *module_new(void)
{
    adz_module *m = adz_module_new(&with_buffers, 0);
    for (const char *name = "a\0b\0c\0d\0e\0"; *name != '\0'; name += 2) {
        adz_module_add_buffer(m, name, adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), false);
    }
    return m;
}

#endif
