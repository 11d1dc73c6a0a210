/* log(sum(e^x)), in passes over each lane. The expression would take a buffer of the size of x. */
#include "export/c99/printer.h"

ADZI_C99_PRINTER(logsumexp)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, (unsigned)adzi_c99_attr(call, "dim", 0));
    const int from = adzi_c99_lanes_add(&lanes, x), to = adzi_c99_lanes_add_reduced(&lanes, y);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_print_exponentials(c, &lanes, from, -1, true);
    adzi_c99_line(c, "%s = most + @log(total);", adzi_c99_lane_element(c, &lanes, to));
    adzi_c99_lanes_close(c, &lanes);
}
