/* Layer norm and batch norm. */
#include <stdio.h>

#include "export/c99_lanes.h"

/* The last dimensions of x, which layer_norm normalises together. */
static unsigned normalised_dims(const adzi_c99_call *call, const adzi_c99_value *x)
{
    unsigned mask = 0;
    for (int k = (int)adzi_c99_attr(call, "rank", 1); k > 0; --k) {
        mask |= 1u << (x->rank - k);
    }
    return mask;
}

/* Prints the mean of the lane and rstd = 1 / sqrt(variance + eps). */
static void print_moments(adzi_c99 *c, const adzi_c99_lanes *lanes, int from, double eps)
{
    const char *n = adzi_c99_float((double)lanes->count);
    adzi_c99_line(c, "float mean = 0, variance = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    adzi_c99_line(c, "mean += %s;", pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_line(c, "mean /= %s;", n);
    pass = adzi_c99_pass(c, lanes);
    adzi_c99_line(c, "const float d = %s - mean;", pass.operand[from].text);
    adzi_c99_line(c, "variance += d * d;");
    adzi_c99_nest_close(c, &pass);
    adzi_c99_line(c, "const float rstd = 1 / @sqrt(variance / %s + %s);", n, adzi_c99_float(eps));
}

/* y = (x - mean) rstd weight + bias. */
void adzi_c99_layer_norm(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, normalised_dims(call, x));
    const int from = adzi_c99_lanes_add(&lanes, x);
    const int to = adzi_c99_lanes_add(&lanes, adzi_c99_out(c, call, 0));
    const int w = adzi_c99_lanes_add(&lanes, adzi_c99_in(c, call, 1));
    const int b = adzi_c99_lanes_add(&lanes, adzi_c99_in(c, call, 2));
    adzi_c99_lanes_open(c, &lanes);
    print_moments(c, &lanes, from, adzi_c99_attr(call, "eps", 1e-5));
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c, "%s = (%s - mean) * rstd%s%s%s%s;", pass.operand[to].text,
        pass.operand[from].text, w >= 0 ? " * " : "", w >= 0 ? pass.operand[w].text : "",
        b >= 0 ? " + " : "", b >= 0 ? pass.operand[b].text : "");
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}

/* The numbers of the operands of a backward; -1 for those that are not there. */
typedef struct {
    int x, g, w, dx, dw, db;
} operands;

static int add_gradient(adzi_c99 *c, adzi_c99_lanes *lanes, const adzi_c99_value *v)
{
    if (v == NULL || !adzi_c99_wants(c, v)) {
        return -1;
    }
    const adzi_c99_value gradient = adzi_c99_gradient(c, v);
    return adzi_c99_lanes_add(lanes, &gradient);
}

/* With g = dy weight and unit = (x - mean) rstd:
 *     dx += rstd (g - mean(g) - unit mean(g unit)),  dweight += dy unit,  dbias += dy */
static void print_gradients(adzi_c99 *c, const adzi_c99_lanes *lanes, const operands *o)
{
    const char *n = adzi_c99_float((double)lanes->count);
    adzi_c99_line(c, "float level = 0, along = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    const char *times = o->w >= 0 ? " * " : "", *weight = o->w >= 0 ? pass.operand[o->w].text : "";
    adzi_c99_line(c, "const float unit = (%s - mean) * rstd, g = %s%s%s;", pass.operand[o->x].text,
        pass.operand[o->g].text, times, weight);
    adzi_c99_line(c, "level += g;");
    adzi_c99_line(c, "along += g * unit;");
    if (o->dw >= 0) {
        adzi_c99_line(c, "%s += %s * unit;", pass.operand[o->dw].text, pass.operand[o->g].text);
    }
    if (o->db >= 0) {
        adzi_c99_line(c, "%s += %s;", pass.operand[o->db].text, pass.operand[o->g].text);
    }
    adzi_c99_nest_close(c, &pass);
    if (o->dx < 0) {
        adzi_c99_line(c, "(void)level;");
        adzi_c99_line(c, "(void)along;");
        return;
    }
    adzi_c99_line(c, "level /= %s;", n);
    adzi_c99_line(c, "along /= %s;", n);
    pass = adzi_c99_pass(c, lanes);
    adzi_c99_line(c, "%s += rstd * (%s%s%s - level - (%s - mean) * rstd * along);",
        pass.operand[o->dx].text, pass.operand[o->g].text, times,
        o->w >= 0 ? pass.operand[o->w].text : "", pass.operand[o->x].text);
    adzi_c99_nest_close(c, &pass);
}

void adzi_c99_layer_norm_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    const adzi_c99_value dy = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, normalised_dims(call, x));
    operands o;
    o.dx = add_gradient(c, &lanes, x);
    o.dw = add_gradient(c, &lanes, adzi_c99_in(c, call, 1));
    o.db = add_gradient(c, &lanes, adzi_c99_in(c, call, 2));
    o.x = adzi_c99_lanes_add(&lanes, x);
    o.g = adzi_c99_lanes_add(&lanes, &dy);
    o.w = adzi_c99_lanes_add(&lanes, adzi_c99_in(c, call, 1));
    adzi_c99_lanes_open(c, &lanes);
    print_moments(c, &lanes, o.x, adzi_c99_attr(call, "eps", 1e-5));
    print_gradients(c, &lanes, &o);
    adzi_c99_lanes_close(c, &lanes);
}

/* In evaluation, per channel: y = (x - running_mean) / sqrt(running_var + eps) weight + bias. */
void adzi_c99_batch_norm(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    if (adzi_c99_attr(call, "training", 0) != 0 || adzi_c99_in(c, call, 1) == NULL) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "batch_norm uses the statistics of its batch; call adz_module_eval before the plan is "
            "made");
        return;
    }
    adzi_c99_lanes lanes = adzi_c99_lanes_of(x, ((1u << x->rank) - 1) & ~2u);
    adzi_c99_value channel[4];
    int operand[4];
    for (int i = 0; i < 4; ++i) { /* a vector [C] broadcasts as [C, 1, ...] */
        const adzi_c99_value *v = adzi_c99_in(c, call, 1 + i);
        if (v != NULL) {
            channel[i] = *v;
            channel[i].rank = x->rank - 1;
            for (int d = 1; d < x->rank - 1; ++d) {
                channel[i].sizes[d] = 1;
                channel[i].strides[d] = 0;
            }
        }
        operand[i] = adzi_c99_lanes_add(&lanes, v != NULL ? &channel[i] : NULL);
    }
    const int from = adzi_c99_lanes_add(&lanes, x);
    const int to = adzi_c99_lanes_add(&lanes, adzi_c99_out(c, call, 0));
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "const float rstd = 1 / @sqrt(%s + %s);",
        adzi_c99_lane_element(c, &lanes, operand[1]),
        adzi_c99_float(adzi_c99_attr(call, "eps", 1e-5)));
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c, "%s = (%s - %s) * rstd%s%s%s%s;", pass.operand[to].text,
        pass.operand[from].text, pass.operand[operand[0]].text, operand[2] >= 0 ? " * " : "",
        operand[2] >= 0 ? pass.operand[operand[2]].text : "", operand[3] >= 0 ? " + " : "",
        operand[3] >= 0 ? pass.operand[operand[3]].text : "");
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &lanes);
}
