/* Reductions whose row has the statement for an element: sums, means, extremes and others. */
#include "export/c99/printer.h"

/* What a maximum or a minimum starts from: a value that no element is beyond. */
static const char *end_of(adz_dtype dtype, bool largest)
{
    switch (dtype) {
    case ADZ_BOOL:
        return largest ? "0" : "1";
    case ADZ_U8:
        return largest ? "0" : "255";
    case ADZ_I32:
    case ADZ_I64:
        return largest ? "(-2147483647 - 1)" : "2147483647";
    default:
        return largest ? "(-1.0f / 0.0f)" : "(1.0f / 0.0f)";
    }
}

/* One pass over each slice, by the statements of the row. */
void adzi_c99_reduce(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const bool whole = !adzi_is_float(x->dtype);
    const adzi_c99_row *r = &call->row->c;
    adzi_c99_slices slices = adzi_c99_slices_of(x, (unsigned)adzi_c99_attr(call, "dim", 0));
    const int from = adzi_c99_slices_add(&slices, x), to = adzi_c99_slices_add_reduced(&slices, y);
    adzi_c99_slices_open(c, &slices);
    adzi_c99_line(c, "%s s = %s;", adzi_c99_type(y->dtype),
        r->start != NULL ? r->start : end_of(x->dtype, r->than[0] == '>'));
    adzi_c99_nest pass = adzi_c99_pass(c, &slices);
    adzi_c99_line(c, "const %s e = %s;", adzi_c99_type(x->dtype), pass.operand[from].text);
    adzi_c99_line(c, "%s;", whole && r->whole != NULL ? r->whole : r->element);
    adzi_c99_nest_close(c, &pass);
    if (r->mean) {
        adzi_c99_line(c, "s /= %s;", adzi_c99_real(c, (double)slices.count));
    }
    adzi_c99_line(c, "%s = s;", adzi_c99_slice_element(c, &slices, to));
    adzi_c99_slices_close(c, &slices);
}
