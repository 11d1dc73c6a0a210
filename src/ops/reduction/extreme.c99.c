#include "export/c99/printer.h"

/* max, min, argmax, argmin: the extreme element of each slice, its position, or both. */
static void extreme(adzi_c99 *c, const adzi_c99_call *call, bool only_position)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const char *than = call->row->c.than;
    const adzi_c99_value *position = only_position     ? y
                                     : call->n_out > 1 ? adzi_c99_out(c, call, 1)
                                                       : NULL;
    adzi_c99_slices slices = adzi_c99_slices_of(x, (unsigned)adzi_c99_attr(call, "dim", 0));
    const int from = adzi_c99_slices_add(&slices, x);
    const int to = only_position ? -1 : adzi_c99_slices_add_reduced(&slices, y);
    const int at = position != NULL ? adzi_c99_slices_add_reduced(&slices, position) : -1;
    adzi_c99_slices_open(c, &slices);
    adzi_c99_line(c, "%s most = 0;", adzi_c99_type(x->dtype));
    adzi_c99_line(c, "int32_t position = 0, at = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, &slices);
    const char *element = pass.operand[from].text;
    if (adzi_is_float(x->dtype)) {
        adzi_c99_open(c, "if (at == 0 || %s %s most || (%s != %s && most == most)) {", element,
            than, element, element);
    } else {
        adzi_c99_open(c, "if (at == 0 || %s %s most) {", element, than);
    }
    adzi_c99_line(c, "most = %s;", element);
    adzi_c99_line(c, "position = at;");
    adzi_c99_close(c);
    adzi_c99_line(c, "++at;");
    adzi_c99_nest_close(c, &pass);
    if (to >= 0) {
        adzi_c99_line(c, "%s = most;", adzi_c99_slice_element(c, &slices, to));
    }
    if (at >= 0) {
        adzi_c99_line(c, "%s = position;", adzi_c99_slice_element(c, &slices, at));
    } else {
        adzi_c99_line(c, "(void)position;");
    }
    adzi_c99_slices_close(c, &slices);
}

ADZI_C99_PRINTER(extreme)
{
    extreme(c, call, false);
}

ADZI_C99_PRINTER(extreme_position)
{
    extreme(c, call, true);
}
