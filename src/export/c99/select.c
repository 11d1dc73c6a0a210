/* Operators that walk a lane in order: cumsum, norm and topk. */
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

enum { TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

/* A lane along one dimension: its loop variable runs over the positions of the elements. */
static unsigned lane_of(const adzi_c99_call *call, const adzi_c99_value *x)
{
    return x->rank > 0 ? 1u << (int)adzi_c99_attr(call, "dim", 0) : 0;
}

/* Prints to[i] = from[0] + ... + from[i], or from the last element on. */
static void running_sum(
    adzi_c99 *c, const adzi_c99_call *call, adzi_c99_value to, adzi_c99_value from, bool reverse)
{
    const unsigned mask = lane_of(call, &from);
    for (int d = 0; d < from.rank; ++d) {
        if (reverse && (mask >> d & 1u)) {
            from.offset += (from.sizes[d] - 1) * from.strides[d];
            to.offset += (to.sizes[d] - 1) * to.strides[d];
            from.strides[d] = -from.strides[d];
            to.strides[d] = -to.strides[d];
        }
    }
    adzi_c99_lanes lanes = adzi_c99_lanes_of(&from, mask);
    const int x = adzi_c99_lanes_add(&lanes, &from), y = adzi_c99_lanes_add(&lanes, &to);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "%s s = 0;", adzi_c99_type(to.dtype));
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c,
        adzi_is_float(to.dtype) ? "s += %s;" : "s = (int32_t)((uint32_t)s + (uint32_t)%s);",
        pass.operand[x].text);
    adzi_c99_line(c, "%s = s;", pass.operand[y].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}

void adzi_c99_cumsum(adzi_c99 *c, const adzi_c99_call *call)
{
    const bool reverse = adzi_c99_attr(call, "reverse", 0) != 0;
    running_sum(c, call, *adzi_c99_out(c, call, 0), *adzi_c99_in(c, call, 0), reverse);
}

/* The statement that takes |x| = a into a norm of order p, and the norm of the sum s. */
static void norm_parts(const adzi_c99 *c, double p, char step[64], char result[64])
{
    snprintf(result, 64, "s");
    if (p == 0) {
        snprintf(step, 64, "s += a != 0");
    } else if (p == 1) {
        snprintf(step, 64, "s += a");
    } else if (p == 2) {
        snprintf(step, 64, "s += a * a");
        snprintf(result, 64, "scale * @sqrt(s)");
    } else if (isinf(p)) {
        snprintf(step, 64, "s = a %c s || a != a ? a : s", p > 0 ? '>' : '<');
    } else {
        snprintf(step, 64, "s += @pow(a, %s)", adzi_c99_real(c, p));
        snprintf(result, 64, "%s@pow(s, %s)", p > 0 ? "scale * " : "", adzi_c99_real(c, 1 / p));
    }
}

/* Prints a pass over a lane with the statement `step` for |element| `over` something = a. */
static void print_pass(
    adzi_c99 *c, const adzi_c99_lanes *lanes, int from, const char *over, const char *step)
{
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    const char *e = pass.operand[from].text;
    adzi_c99_line(c, "const float a = (%s > 0 ? %s : 0 - %s)%s;", e, e, e, over);
    adzi_c99_line(c, "%s;", step);
    adzi_c99_nest_close(c, &pass);
}

/* A sum of powers that leaves the range of float, or comes near its smallest numbers, is made once
 * more with the elements over the largest one. */
static void print_scaled(adzi_c99 *c, const adzi_c99_lanes *lanes, int from, const char *step)
{
    adzi_c99_line(c, "float scale = 1;");
    adzi_c99_line(c, "if (!(s > 1e-30f && s < 1e30f)) {");
    ++c->depth;
    adzi_c99_line(c, "float most = 0;");
    print_pass(c, lanes, from, "", "most = a > most ? a : most");
    adzi_c99_line(
        c, "if (most > 0 && most <= %s) {", adzi_c99_real(c, c->wide ? DBL_MAX : (double)FLT_MAX));
    ++c->depth;
    adzi_c99_line(c, "s = 0;");
    adzi_c99_line(c, "scale = most;");
    print_pass(c, lanes, from, " / most", step);
    --c->depth;
    adzi_c99_line(c, "}");
    --c->depth;
    adzi_c99_line(c, "}");
}

void adzi_c99_norm(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    const double p = adzi_c99_attr(call, "p", 2);
    char step[64], result[64];
    norm_parts(c, p, step, result);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, (unsigned)adzi_c99_attr(call, "dim", 0));
    const int from = adzi_c99_lanes_add(&lanes, x);
    const int to = adzi_c99_lanes_add_reduced(&lanes, adzi_c99_out(c, call, 0));
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(
        c, "float s = %s;", p == -(double)INFINITY ? adzi_c99_real(c, (double)INFINITY) : "0");
    print_pass(c, &lanes, from, "", step);
    if (strstr(result, "scale") != NULL) {
        print_scaled(c, &lanes, from, step);
    }
    adzi_c99_line(c, "%s = %s;", adzi_c99_lane_element(c, &lanes, to), result);
    adzi_c99_lanes_close(c, &lanes);
}

/* Prints the condition that one expression comes before another among the selected elements. NaN
 * counts as the largest. */
static void before_text(
    char to[TEXT], const adzi_c99_value *x, bool largest, const char *a, const char *b)
{
    if (adzi_is_float(x->dtype)) {
        snprintf(to, TEXT, "@above(%s, %s)", largest ? a : b, largest ? b : a);
    } else {
        snprintf(to, TEXT, "%s %c %s", a, largest ? '>' : '<', b);
    }
}

/* Prints one round of a selection: `best` and its `position` among the elements of the lane that
 * come after `before`, the result of the round before it, which stood at position_before. Equal
 * elements come in the order of their positions. */
static void print_round(
    adzi_c99 *c, const adzi_c99_lanes *from, int element, const adzi_c99_value *x, bool largest)
{
    char passed[TEXT], ahead[TEXT], better[TEXT];
    adzi_c99_line(c, "%s best = 0;", adzi_c99_type(x->dtype));
    adzi_c99_line(c, "int32_t position = -1, at = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, from);
    adzi_c99_line(c, "const %s e = %s;", adzi_c99_type(x->dtype), pass.operand[element].text);
    before_text(passed, x, largest, "before", "e");
    before_text(ahead, x, largest, "e", "before");
    before_text(better, x, largest, "e", "best");
    adzi_c99_line(c,
        "const int left = position_before < 0 || %s || (!(%s) && at > position_before);", passed,
        ahead);
    adzi_c99_line(c, "if (left && (position < 0 || %s)) {", better);
    ++c->depth;
    adzi_c99_line(c, "best = e;");
    adzi_c99_line(c, "position = at;");
    --c->depth;
    adzi_c99_line(c, "}");
    adzi_c99_line(c, "++at;");
    adzi_c99_nest_close(c, &pass);
}

/* The k largest or smallest elements of each lane, sorted, and their positions. */
void adzi_c99_topk(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *y = adzi_c99_out(c, call, 0);
    const unsigned mask = lane_of(call, x);
    adzi_c99_lanes from = adzi_c99_lanes_of(x, mask);
    adzi_c99_value best = *y, position = *adzi_c99_out(c, call, 1);
    int64_t strides[2] = { 0, 0 };
    for (int d = 0; d < x->rank; ++d) { /* the results' own dimension is walked by hand */
        if (mask >> d & 1u) {
            strides[0] = best.strides[d];
            strides[1] = position.strides[d];
            best.sizes[d] = position.sizes[d] = 1;
        }
    }
    const int element = adzi_c99_lanes_add(&from, x);
    const int to = adzi_c99_lanes_add(&from, &best), at = adzi_c99_lanes_add(&from, &position);
    adzi_c99_lanes_open(c, &from);
    char k[4], texts[2][TEXT];
    adzi_c99_line(c, "%s before = 0;", adzi_c99_type(x->dtype));
    adzi_c99_line(c, "int32_t position_before = -1;");
    adzi_c99_loop(c, (int64_t)adzi_c99_attr(call, "k", 1), k);
    const int operands[] = { to, at }, memories[] = { best.memory, position.memory };
    for (int i = 0; i < 2; ++i) {
        char index[ADZI_C99_INDEX];
        memcpy(index, from.inner.operand[operands[i]].index, sizeof index);
        adzi_c99_index(index, sizeof index, k, strides[i]);
        adzi_c99_element(c, memories[i], index, texts[i], sizeof texts[i]);
    }
    print_round(c, &from, element, x, adzi_c99_attr(call, "largest", 1) != 0);
    adzi_c99_line(c, "%s = before = best;", texts[0]);
    adzi_c99_line(c, "%s = position_before = position;", texts[1]);
    adzi_c99_end(c);
    adzi_c99_lanes_close(c, &from);
}
