/* Softmax and its logarithm, in passes over each slice. The expression would take a buffer of the
 * size of x, and more time. */
#include "export/c99/printer.h"

/* y of a slice: e^(x - most) / total, or its logarithm. */
static void softmax(adzi_c99 *c, const adzi_c99_call *call, bool plain)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_slices slices = adzi_c99_slices_of(x, adzi_c99_dim_mask(call, x));
    const int from = adzi_c99_slices_add(&slices, x), to = adzi_c99_slices_add(&slices, y);
    adzi_c99_slices_open(c, &slices);
    adzi_c99_print_exponentials(c, &slices, from, plain ? to : -1, false);
    if (!plain) {
        adzi_c99_line(c, "total = @log(total);");
    }
    adzi_c99_nest pass = adzi_c99_pass(c, &slices);
    if (plain) {
        adzi_c99_line(c, "%s /= total;", pass.operand[to].text);
    } else {
        adzi_c99_line(c, "%s = %s - most - total;", pass.operand[to].text, pass.operand[from].text);
    }
    adzi_c99_nest_close(c, &pass);
    adzi_c99_slices_close(c, &slices);
}

ADZI_C99_PRINTER(softmax)
{
    softmax(c, call, true);
}

ADZI_C99_PRINTER(log_softmax)
{
    softmax(c, call, false);
}
