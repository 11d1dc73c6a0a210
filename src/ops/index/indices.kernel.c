/* Check of indices before gather, scatter_add and others read memory with them.
 *
 *     within = 0 <= index[i] < size for all i
 */
#include "ops/index/indices.kernel.h"
#include "base/isa.h"

/* One unit, since the whole loop takes less time than starting a thread. An index is negative if
 * its sign bit is set, and too large if size - 1 - index has its sign bit set. The bits of all
 * indices are combined with "or", so the loop has no branch and vectorises. */
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
