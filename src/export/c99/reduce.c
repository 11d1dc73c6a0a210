/* Sums, means, extremes and other reductions. */
#include "export/c99/c99.h"

static unsigned mask_of(const adzi_c99_call *call)
{
    return (unsigned)adzi_c99_attr(call, "dim", 0);
}

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

/* One pass over each lane, by the statements of the row. */
void adzi_c99_reduce(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const bool whole = !adzi_is_float(x->dtype);
    const adzi_c99_row *r = &call->row->c;
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int from = adzi_c99_lanes_add(&lanes, x), to = adzi_c99_lanes_add_reduced(&lanes, y);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "%s s = %s;", adzi_c99_type(y->dtype),
        r->start != NULL ? r->start : end_of(x->dtype, r->than[0] == '>'));
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c, "const %s e = %s;", adzi_c99_type(x->dtype), pass.operand[from].text);
    adzi_c99_line(c, "%s;", whole && r->whole != NULL ? r->whole : r->element);
    adzi_c99_nest_close(c, &pass);
    if (r->mean) {
        adzi_c99_line(c, "s /= %s;", adzi_c99_real(c, (double)lanes.count));
    }
    adzi_c99_line(c, "%s = s;", adzi_c99_lane_element(c, &lanes, to));
    adzi_c99_lanes_close(c, &lanes);
}

/* max, min, argmax, argmin: the extreme element of each lane, its position, or both. */
static void extreme(adzi_c99 *c, const adzi_c99_call *call, bool only_position)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const char *than = call->row->c.than;
    const adzi_c99_value *position = only_position     ? y
                                     : call->n_out > 1 ? adzi_c99_out(c, call, 1)
                                                       : NULL;
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int from = adzi_c99_lanes_add(&lanes, x);
    const int to = only_position ? -1 : adzi_c99_lanes_add_reduced(&lanes, y);
    const int at = position != NULL ? adzi_c99_lanes_add_reduced(&lanes, position) : -1;
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "%s most = 0;", adzi_c99_type(x->dtype));
    adzi_c99_line(c, "int32_t position = 0, at = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    const char *element = pass.operand[from].text;
    if (adzi_is_float(x->dtype)) {
        adzi_c99_line(c, "if (at == 0 || %s %s most || (%s != %s && most == most)) {", element,
            than, element, element);
    } else {
        adzi_c99_line(c, "if (at == 0 || %s %s most) {", element, than);
    }
    ++c->depth;
    adzi_c99_line(c, "most = %s;", element);
    adzi_c99_line(c, "position = at;");
    --c->depth;
    adzi_c99_line(c, "}");
    adzi_c99_line(c, "++at;");
    adzi_c99_nest_close(c, &pass);
    if (to >= 0) {
        adzi_c99_line(c, "%s = most;", adzi_c99_lane_element(c, &lanes, to));
    }
    if (at >= 0) {
        adzi_c99_line(c, "%s = position;", adzi_c99_lane_element(c, &lanes, at));
    } else {
        adzi_c99_line(c, "(void)position;");
    }
    adzi_c99_lanes_close(c, &lanes);
}

void adzi_c99_extreme(adzi_c99 *c, const adzi_c99_call *call)
{
    extreme(c, call, false);
}

void adzi_c99_extreme_position(adzi_c99 *c, const adzi_c99_call *call)
{
    extreme(c, call, true);
}

/* ---- softmax ----------------------------------------------------------------------------------
 */

static unsigned lane_of(const adzi_c99_call *call, const adzi_c99_value *x)
{
    const int dim = (int)adzi_c99_attr(call, "dim", 0);
    return 1u << (x->rank > 0 ? dim : 0);
}

/* Prints the declarations of `most`, the largest element, and of `total`, the sum of e^(x - most).
 * `stores` keeps the exponentials in operand 1. `limited` takes 0 instead of an infinite element,
 * whose difference from itself is NaN. */
static void print_total(
    adzi_c99 *c, const adzi_c99_lanes *lanes, int from, bool limited, bool stores)
{
    adzi_c99_line(c, "float most = (-1.0f / 0.0f), total = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    adzi_c99_line(
        c, "most = %s > most ? %s : most;", pass.operand[from].text, pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    if (limited) {
        adzi_c99_line(c, "most = most - most == 0 ? most : 0;");
    }
    pass = adzi_c99_pass(c, lanes);
    if (stores) {
        adzi_c99_line(c, "const float e = @exp(%s - most);", pass.operand[from].text);
        adzi_c99_line(c, "total += e;");
        adzi_c99_line(c, "%s = e;", pass.operand[1].text);
    } else {
        adzi_c99_line(c, "total += @exp(%s - most);", pass.operand[from].text);
    }
    adzi_c99_nest_close(c, &pass);
}

/* y of a lane: e^(x - most) / total, or its logarithm. */
static void softmax(adzi_c99 *c, const adzi_c99_call *call, bool plain)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, lane_of(call, x));
    const int from = adzi_c99_lanes_add(&lanes, x), to = adzi_c99_lanes_add(&lanes, y);
    adzi_c99_lanes_open(c, &lanes);
    print_total(c, &lanes, from, false, plain);
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

void adzi_c99_softmax(adzi_c99 *c, const adzi_c99_call *call)
{
    softmax(c, call, true);
}

void adzi_c99_log_softmax(adzi_c99 *c, const adzi_c99_call *call)
{
    softmax(c, call, false);
}

void adzi_c99_logsumexp(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int from = adzi_c99_lanes_add(&lanes, x), to = adzi_c99_lanes_add_reduced(&lanes, y);
    adzi_c99_lanes_open(c, &lanes);
    print_total(c, &lanes, from, true, false);
    adzi_c99_line(c, "%s = most + @log(total);", adzi_c99_lane_element(c, &lanes, to));
    adzi_c99_lanes_close(c, &lanes);
}
