/* log(sum(e^x)), in passes over each slice. The expression would take a buffer of the size of x. */
#include "export/c99/printer.h"

ADZI_C99_PRINTER(logsumexp)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_slices slices = adzi_c99_slices_of(x, (unsigned)adzi_c99_attr(call, "dim", 0));
    const int from = adzi_c99_slices_add(&slices, x), to = adzi_c99_slices_add_reduced(&slices, y);
    adzi_c99_slices_open(c, &slices);
    adzi_c99_print_exponentials(c, &slices, from, -1, true);
    adzi_c99_line(c, "%s = most + @log(total);", adzi_c99_slice_element(c, &slices, to));
    adzi_c99_slices_close(c, &slices);
}
