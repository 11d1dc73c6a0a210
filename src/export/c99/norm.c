/* Layer norm and batch norm. */
#include <stdio.h>

#include "export/c99/lanes.h"

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

/* ---- batch norm -------------------------------------------------------------------------------
 */

enum { X, RUNNING_MEAN, RUNNING_VAR, WEIGHT, BIAS }; /* the inputs */

/* The operands of a channel; -1 for those that are not there. */
typedef struct {
    adzi_c99_lanes lanes;
    int in[BIAS + 1];
} channel;

/* A vector [C] as [C, 1, ...], which broadcasts to x[N, C, ...]. */
static adzi_c99_value along_channels(const adzi_c99_value *v, const adzi_c99_value *x)
{
    adzi_c99_value wide = *v;
    wide.rank = x->rank - 1;
    for (int d = 1; d < wide.rank; ++d) {
        wide.sizes[d] = 1;
        wide.strides[d] = 0;
    }
    return wide;
}

static int add_vector(adzi_c99_lanes *lanes, const adzi_c99_value *v, const adzi_c99_value *x)
{
    if (v == NULL) {
        return -1;
    }
    const adzi_c99_value wide = along_channels(v, x);
    return adzi_c99_lanes_add(lanes, &wide);
}

/* The lanes of a call are the channels of x. Its inputs up to `last` are operands. */
static channel channel_of(adzi_c99 *c, const adzi_c99_call *call, int last)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, X);
    channel ch = { .lanes = adzi_c99_lanes_of(x, ((1u << x->rank) - 1) & ~2u) };
    ch.in[X] = adzi_c99_lanes_add(&ch.lanes, x);
    for (int i = RUNNING_MEAN; i <= BIAS; ++i) {
        ch.in[i] = i <= last ? add_vector(&ch.lanes, adzi_c99_in(c, call, i), x) : -1;
    }
    return ch;
}

/* True if the step that is printed normalises by the statistics of its batch. */
static bool is_of_batch(const adzi_c99 *c)
{
    return c->in_step && c->batch_statistics;
}

/* Prints mean and rstd: those of the batch, or the running ones. */
static void print_statistics(adzi_c99 *c, channel *ch, double eps)
{
    if (is_of_batch(c)) {
        print_moments(c, &ch->lanes, ch->in[X], eps);
        return;
    }
    adzi_c99_line(
        c, "const float mean = %s;", adzi_c99_lane_element(c, &ch->lanes, ch->in[RUNNING_MEAN]));
    adzi_c99_line(c, "const float rstd = 1 / @sqrt(%s + %s);",
        adzi_c99_lane_element(c, &ch->lanes, ch->in[RUNNING_VAR]), adzi_c99_float(eps));
}

/* running += momentum (batch - running), with the unbiased variance. */
static void print_running(adzi_c99 *c, channel *ch, double momentum)
{
    const char *kept = adzi_c99_float(1 - momentum), *taken = adzi_c99_float(momentum);
    const char *mean = adzi_c99_lane_element(c, &ch->lanes, ch->in[RUNNING_MEAN]);
    const char *var = adzi_c99_lane_element(c, &ch->lanes, ch->in[RUNNING_VAR]);
    adzi_c99_line(c, "%s = %s * %s + %s * mean;", mean, kept, mean, taken);
    adzi_c99_line(c, "%s = %s * %s + %s * variance / %s;", var, kept, var, taken,
        adzi_c99_float((double)(ch->lanes.count - 1)));
}

/* Checks that the running statistics are buffers of the module, and lets the step change them. */
static bool let_change(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, X);
    if (adzi_c99_attr(call, "momentum", 0) == 0) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "%s: the momentum of batch_norm is 0 or that of a cumulative average, which cannot be "
            "moved in C",
            call->path);
        return false;
    }
    if (x->numel == x->sizes[1]) {
        adzi_c99_fail(c, ADZ_ERR_SHAPE,
            "%s: x has a single value per channel, of which training cannot take a variance",
            call->path);
        return false;
    }
    for (int i = RUNNING_MEAN; i <= RUNNING_VAR; ++i) {
        adzi_c99_memory *m = &c->memories[adzi_c99_in(c, call, i)->memory];
        if (m->kind != ADZI_C99_PARAMETER) {
            adzi_c99_fail(c, ADZ_ERR_ARGUMENT,
                "the running statistics of batch_norm are no buffers of the plan's module");
            return false;
        }
        m->changes = true;
    }
    return true;
}

/* Per channel: y = (x - mean) rstd weight + bias, with the running statistics or, in a training
 * step that asks for it, with those of the batch. */
void adzi_c99_batch_norm(adzi_c99 *c, const adzi_c99_call *call)
{
    if (adzi_c99_attr(call, "training", 0) != 0 || adzi_c99_in(c, call, RUNNING_MEAN) == NULL) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "batch_norm uses the statistics of its batch; call adz_module_eval before the plan is "
            "made");
        return;
    }
    if (is_of_batch(c) && !let_change(c, call)) {
        return;
    }
    channel ch = channel_of(c, call, BIAS);
    const int to = adzi_c99_lanes_add(&ch.lanes, adzi_c99_out(c, call, 0));
    adzi_c99_lanes_open(c, &ch.lanes);
    print_statistics(c, &ch, adzi_c99_attr(call, "eps", 1e-5));
    if (is_of_batch(c)) {
        print_running(c, &ch, adzi_c99_attr(call, "momentum", 0));
    }
    const int w = ch.in[WEIGHT], b = ch.in[BIAS];
    adzi_c99_nest pass = adzi_c99_pass(c, &ch.lanes);
    adzi_c99_line(c, "%s = (%s - mean) * rstd%s%s%s%s;", pass.operand[to].text,
        pass.operand[ch.in[X]].text, w >= 0 ? " * " : "", w >= 0 ? pass.operand[w].text : "",
        b >= 0 ? " + " : "", b >= 0 ? pass.operand[b].text : "");
    adzi_c99_nest_close(c, &pass);
    adzi_c99_lanes_close(c, &ch.lanes);
}

static int add_vector_gradient(
    adzi_c99 *c, adzi_c99_lanes *lanes, const adzi_c99_value *v, const adzi_c99_value *x)
{
    if (v == NULL || !adzi_c99_wants(c, v)) {
        return -1;
    }
    const adzi_c99_value gradient = adzi_c99_gradient(c, v);
    return add_vector(lanes, &gradient, x);
}

/* With constant statistics: dx += rstd dy weight,  dweight += dy unit,  dbias += dy */
static void print_constant_gradients(adzi_c99 *c, const adzi_c99_lanes *lanes, const operands *o)
{
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    const char *dy = pass.operand[o->g].text;
    if (o->dx >= 0) {
        adzi_c99_line(c, "%s += rstd * %s%s%s;", pass.operand[o->dx].text, dy,
            o->w >= 0 ? " * " : "", o->w >= 0 ? pass.operand[o->w].text : "");
    }
    if (o->dw >= 0) {
        adzi_c99_line(c, "%s += %s * (%s - mean) * rstd;", pass.operand[o->dw].text, dy,
            pass.operand[o->x].text);
    }
    if (o->db >= 0) {
        adzi_c99_line(c, "%s += %s;", pass.operand[o->db].text, dy);
    }
    adzi_c99_nest_close(c, &pass);
    adzi_c99_line(c, "(void)mean;");
    adzi_c99_line(c, "(void)rstd;");
}

void adzi_c99_batch_norm_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, X);
    const adzi_c99_value dy = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    channel ch = channel_of(c, call, WEIGHT);
    operands o = { .x = ch.in[X], .w = ch.in[WEIGHT] };
    o.dx = add_gradient(c, &ch.lanes, x);
    o.dw = add_vector_gradient(c, &ch.lanes, adzi_c99_in(c, call, WEIGHT), x);
    o.db = add_vector_gradient(c, &ch.lanes, adzi_c99_in(c, call, BIAS), x);
    o.g = adzi_c99_lanes_add(&ch.lanes, &dy);
    adzi_c99_lanes_open(c, &ch.lanes);
    print_statistics(c, &ch, adzi_c99_attr(call, "eps", 1e-5));
    if (is_of_batch(c)) {
        print_gradients(c, &ch.lanes, &o);
    } else {
        print_constant_gradients(c, &ch.lanes, &o);
    }
    adzi_c99_lanes_close(c, &ch.lanes);
}
