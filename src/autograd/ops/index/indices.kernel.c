#include "autograd/ops/index/indices.kernel.h"
#include "base/isa.h"

/* Without a jump or a comparison for each: an index is below 0 or above the last if its sign is
 * set, or that of its distance to the last. */
void KERNEL_OF(indices_within, i64)(const void *block, int64_t begin, int64_t end)
{
    const adzi_within_args *a = block;
    const uint64_t last = (uint64_t)a->size - 1;
    uint64_t signs = 0;
    for (int64_t i = 0; i < a->n; ++i) {
        const uint64_t at = (uint64_t)a->index[i];
        signs |= at | (last - at);
    }
    if (begin < end) {
        *a->within = signs >> 63 == 0;
    }
}
