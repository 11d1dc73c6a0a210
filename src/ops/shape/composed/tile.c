#include "ops/op.h"

/* Repeats a tensor along its dimensions, torch.tile: repeat with 1 for numbers that are missing in
 * front. A composition. */
adz_tensor *adz_tile(adz_tensor *x, adz_shape dims)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("tile", "x", x)) {
        return NULL;
    }
    if (dims.rank < 0 || dims.rank >= x->rank) {
        return adz_repeat(x, dims); /* which refuses a rank that is none */
    }
    const int missing = x->rank - dims.rank;
    adz_shape repeats = { .rank = dims.rank + missing };
    for (int d = 0; d < repeats.rank; ++d) {
        repeats.sizes[d] = d < missing ? 1 : dims.sizes[d - missing];
    }
    return adz_repeat(x, repeats);
}
