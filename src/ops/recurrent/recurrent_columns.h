/* Columns of a hidden state, cut into vectors. Included once per element type, inside each_float.h.
 */
#include "tensor/kernel/vector.h"

enum {
    KERNEL(unit_columns) = ADZI_RECURRENT_COLUMNS / sizeof(elem)
}; /* 16 or 8: one or more vectors */

/* The number of valid columns among the VW columns from j0 on. Less than VW in the last vector, if
 * H is no multiple of VW. */
INLINE int KERNEL(lanes_from)(int64_t n, int64_t j0)
{
    return n - j0 < VW ? (int)(n - j0) : VW;
}

/* The length of the block of k that begins at element p of n. */
INLINE int64_t KERNEL(deep_from)(int64_t n, int64_t p)
{
    return n - p < DEPTH ? n - p : DEPTH;
}
