#include <math.h>

#include "export/c99/printer.h"

adzi_c99_text_function adzi_c99_clamp_text;

/* The expression of a clamp: min(max(x, min), max), so that max wins where min is above it. A NaN
 * among the bounds makes everything NaN. Bounds that no element can pass are left out, because
 * compilers warn of them. */
const char *adzi_c99_clamp_text(
    const adzi_c99 *c, const adzi_c99_call *call, double bounds[2], char room[ADZI_C99_ROOM])
{
    const adz_dtype dtype = adzi_c99_out(c, call, 0)->dtype;
    (void)room;
    const double infinity = (double)INFINITY;
    const bool whole = !adzi_is_float(dtype), byte = dtype == ADZ_U8;
    const double least = !whole ? -infinity : byte ? 0 : INT32_MIN;
    const double most = !whole ? infinity : byte ? UINT8_MAX : INT32_MAX;
    if (isnan(bounds[0]) || isnan(bounds[1])) {
        bounds[0] = (double)NAN;
        return "$0";
    }
    bounds[0] = bounds[0] > bounds[1] ? bounds[1] : bounds[0];
    const bool low = bounds[0] > least, high = bounds[1] < most;
    return low && high ? "$a < $0 ? $0 : $a > $1 ? $1 : $a"
           : low       ? "$a < $0 ? $0 : $a"
           : high      ? "$a > $1 ? $1 : $a"
                       : "$a";
}
