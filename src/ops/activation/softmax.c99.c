/* Softmax and its logarithm, in passes over each lane. The expression would take a buffer of the
 * size of x, and more time. */
#include "export/c99/printer.h"

/* y of a lane: e^(x - most) / total, or its logarithm. */
static void softmax(adzi_c99 *c, const adzi_c99_call *call, bool plain)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, adzi_c99_dim_mask(call, x));
    const int from = adzi_c99_lanes_add(&lanes, x), to = adzi_c99_lanes_add(&lanes, y);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_print_exponentials(c, &lanes, from, plain ? to : -1, false);
    if (!plain) {
        adzi_c99_line(c, "total = @log(total);");
    }
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    if (plain) {
        adzi_c99_line(c, "%s /= total;", pass.operand[to].text);
    } else {
        adzi_c99_line(c, "%s = %s - most - total;", pass.operand[to].text, pass.operand[from].text);
    }
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}

ADZI_C99_PRINTER(softmax)
{
    softmax(c, call, true);
}

ADZI_C99_PRINTER(log_softmax)
{
    softmax(c, call, false);
}
