/* Sums, means, extremes and other reductions. */
#include "export/c99/lanes.h"

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
    adzi_c99_line(c, "%s;", whole && r->whole != NULL ? r->whole : r->element.y);
    adzi_c99_nest_close(c, &pass);
    if (r->mean) {
        adzi_c99_line(c, "s /= %s;", adzi_c99_float((double)lanes.count));
    }
    adzi_c99_line(c, "%s = s;", adzi_c99_lane_element(c, &lanes, to));
    adzi_c99_lanes_close(c, &lanes);
}

/* dx += dy for every element of the lane, divided by their number for a mean. */
void adzi_c99_sum_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const bool mean = call->row->c.mean;
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    const adzi_c99_value dy = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    const adzi_c99_value dx = adzi_c99_gradient(c, x);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int to = adzi_c99_lanes_add(&lanes, &dx);
    const int from = adzi_c99_lanes_add_reduced(&lanes, &dy);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "const float g = %s%s%s;", adzi_c99_lane_element(c, &lanes, from),
        mean ? " / " : "", mean ? adzi_c99_float((double)lanes.count) : "");
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c, "%s += g;", pass.operand[to].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}

/* max, min, argmax, argmin: the extreme element of each lane, its place, or both. */
static void extreme(adzi_c99 *c, const adzi_c99_call *call, bool only_place)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const char *than = call->row->c.than;
    const adzi_c99_value *place = only_place        ? y
                                  : call->n_out > 1 ? adzi_c99_out(c, call, 1)
                                                    : NULL;
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int from = adzi_c99_lanes_add(&lanes, x);
    const int to = only_place ? -1 : adzi_c99_lanes_add_reduced(&lanes, y);
    const int at = place != NULL ? adzi_c99_lanes_add_reduced(&lanes, place) : -1;
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "%s most = 0;", adzi_c99_type(x->dtype));
    adzi_c99_line(c, "int32_t place = 0, at = 0;");
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
    adzi_c99_line(c, "place = at;");
    --c->depth;
    adzi_c99_line(c, "}");
    adzi_c99_line(c, "++at;");
    adzi_c99_nest_close(c, &pass);
    if (to >= 0) {
        adzi_c99_line(c, "%s = most;", adzi_c99_lane_element(c, &lanes, to));
    }
    if (at >= 0) {
        adzi_c99_line(c, "%s = place;", adzi_c99_lane_element(c, &lanes, at));
    } else {
        adzi_c99_line(c, "(void)place;");
    }
    adzi_c99_lanes_close(c, &lanes);
}

void adzi_c99_extreme(adzi_c99 *c, const adzi_c99_call *call)
{
    extreme(c, call, false);
}

void adzi_c99_extreme_place(adzi_c99 *c, const adzi_c99_call *call)
{
    extreme(c, call, true);
}

/* amax, amin, and max and min of all: elements that tie with the result share its gradient. With
 * places, the element at the place gets all of it. */
void adzi_c99_extreme_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const adzi_c99_value dy = adzi_c99_gradient(c, y), dx = adzi_c99_gradient(c, x);
    const bool placed = call->n_out > 1;
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int from = adzi_c99_lanes_add(&lanes, x), to = adzi_c99_lanes_add(&lanes, &dx);
    const int given = adzi_c99_lanes_add_reduced(&lanes, &dy);
    const int result = adzi_c99_lanes_add_reduced(&lanes, placed ? adzi_c99_out(c, call, 1) : y);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(
        c, "%sfloat g = %s;", placed ? "const " : "", adzi_c99_lane_element(c, &lanes, given));
    const char *extreme = adzi_c99_lane_element(c, &lanes, result);
    adzi_c99_line(c, placed ? "const int32_t place = %s;" : "const float most = %s;", extreme);
    adzi_c99_line(c, "int32_t %s = 0;", placed ? "at" : "ties");
    adzi_c99_nest pass;
    if (!placed) {
        pass = adzi_c99_pass(c, &lanes);
        adzi_c99_line(c, "ties += %s == most;", pass.operand[from].text);
        adzi_c99_nest_close(c, &pass);
        adzi_c99_line(c, "g /= (float)ties;");
    }
    pass = adzi_c99_pass(c, &lanes);
    if (placed) {
        adzi_c99_line(c, "%s += at++ == place ? g : 0;", pass.operand[to].text);
    } else {
        adzi_c99_line(
            c, "%s += g * (float)(%s == most);", pass.operand[to].text, pass.operand[from].text);
    }
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}

/* dx_i = dy prod_{j != i} x_j. A product without its zeros serves all elements of a lane: divided
 * by an element if there is no zero, and as it is for a single zero. */
void adzi_c99_prod_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    const adzi_c99_value dy = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    const adzi_c99_value dx = adzi_c99_gradient(c, x);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int from = adzi_c99_lanes_add(&lanes, x), to = adzi_c99_lanes_add(&lanes, &dx);
    const int given = adzi_c99_lanes_add_reduced(&lanes, &dy);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "const float g = %s;", adzi_c99_lane_element(c, &lanes, given));
    adzi_c99_line(c, "float others = 1;");
    adzi_c99_line(c, "int32_t zeros = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    const char *e = pass.operand[from].text;
    adzi_c99_line(c, "zeros += %s == 0;", e);
    adzi_c99_line(c, "others *= %s == 0 ? 1 : %s;", e, e);
    adzi_c99_nest_close(c, &pass);
    pass = adzi_c99_pass(c, &lanes);
    e = pass.operand[from].text;
    adzi_c99_line(c, "if (zeros == (%s == 0)) {", e);
    ++c->depth;
    adzi_c99_line(c, "%s += g * (zeros == 0 ? others / %s : others);", pass.operand[to].text, e);
    --c->depth;
    adzi_c99_line(c, "}");
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}

/* ---- softmax ----------------------------------------------------------------------------------
 */

static unsigned lane_of(const adzi_c99_call *call, const adzi_c99_value *x)
{
    const int dim = (int)adzi_c99_attr(call, "dim", 0);
    return 1u << (x->rank > 0 ? dim : 0);
}

/* Prints the declarations of `most`, the largest element, and of `total`, the sum of e^(x - most).
 * `stores` keeps the exponentials in operand 1. `limited` takes 0 in place of an infinite element,
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

/* softmax: dx += y (dy - <dy, y>).  log_softmax: dx += dy - e^y sum(dy). */
static void softmax_backward(adzi_c99 *c, const adzi_c99_call *call, bool plain)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const adzi_c99_value dy = adzi_c99_gradient(c, y), dx = adzi_c99_gradient(c, x);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, lane_of(call, x));
    const int to = adzi_c99_lanes_add(&lanes, &dx), g = adzi_c99_lanes_add(&lanes, &dy);
    const int result = adzi_c99_lanes_add(&lanes, y);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "float sum = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c, plain ? "sum += %s * %s;" : "sum += %s;", pass.operand[g].text,
        pass.operand[result].text);
    adzi_c99_nest_close(c, &pass);
    pass = adzi_c99_pass(c, &lanes);
    if (plain) {
        adzi_c99_line(c, "%s += %s * (%s - sum);", pass.operand[to].text, pass.operand[result].text,
            pass.operand[g].text);
    } else {
        adzi_c99_line(c, "%s += %s - @exp(%s) * sum;", pass.operand[to].text, pass.operand[g].text,
            pass.operand[result].text);
    }
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}

void adzi_c99_softmax_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    softmax_backward(c, call, true);
}

void adzi_c99_log_softmax_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    softmax_backward(c, call, false);
}

/* logsumexp: dx += dy e^(x - y). */
void adzi_c99_logsumexp_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const adzi_c99_value dy = adzi_c99_gradient(c, y), dx = adzi_c99_gradient(c, x);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, mask_of(call));
    const int to = adzi_c99_lanes_add(&lanes, &dx), from = adzi_c99_lanes_add(&lanes, x);
    const int g = adzi_c99_lanes_add_reduced(&lanes, &dy);
    const int sum = adzi_c99_lanes_add_reduced(&lanes, y);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c, "%s += %s * @exp(%s - %s);", pass.operand[to].text, pass.operand[g].text,
        pass.operand[from].text, pass.operand[sum].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}
