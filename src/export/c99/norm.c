/* Layer norm and batch norm. */
#include <stdio.h>

#include "export/c99/c99.h"

/* The last dimensions of x, which layer_norm normalises together. */
static unsigned normalised_dims(const adzi_c99_call *call, const adzi_c99_value *x)
{
    unsigned mask = 0;
    for (int k = (int)adzi_c99_attr(call, "rank", 1); k > 0; --k) {
        mask |= 1u << (x->rank - k);
    }
    return mask;
}

/* An element without the mean of its lane, of which `rest` was rounded away. */
#define CENTRED "((%s - mean) - rest)"

/* Prints the mean of the lane, as that of the differences from its first element, and rstd = 1 /
 * sqrt(variance + eps). The differences keep the digits of elements whose mean is large, and those
 * of equal elements are exactly 0. */
static void print_moments(adzi_c99 *c, adzi_c99_lanes *lanes, int from, double eps, bool refines)
{
    const char *n = adzi_c99_real(c, (double)lanes->count);
    adzi_c99_line(c, "const float first = %s;", adzi_c99_lane_element(c, lanes, from));
    adzi_c99_line(c, "float level = 0, variance = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    adzi_c99_line(c, "level += %s - first;", pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_line(c, "level /= %s;", n);
    if (refines) { /* the sum over a batch is long */
        adzi_c99_line(c, "float more = 0;");
        pass = adzi_c99_pass(c, lanes);
        adzi_c99_line(c, "more += (%s - first) - level;", pass.operand[from].text);
        adzi_c99_nest_close(c, &pass);
        adzi_c99_line(c, "level += more / %s;", n);
    }
    adzi_c99_line(c, "const float mean = first + level, rest = level - (mean - first);");
    pass = adzi_c99_pass(c, lanes);
    adzi_c99_line(c, "const float d = " CENTRED ";", pass.operand[from].text);
    adzi_c99_line(c, "variance += d * d;");
    adzi_c99_nest_close(c, &pass);
    adzi_c99_line(c, "const float rstd = 1 / @sqrt(variance / %s + %s);", n, adzi_c99_real(c, eps));
}

/* The operands of the last pass. Those of weight and bias are -1 where there are none. */
typedef struct {
    int to, from, weight, bias;
} normalised;

/* Prints the last pass: y = (x - mean) rstd weight + bias. */
static void print_result(adzi_c99 *c, const adzi_c99_lanes *lanes, normalised at)
{
    adzi_c99_nest pass = adzi_c99_pass(c, lanes);
    const bool w = at.weight >= 0, b = at.bias >= 0;
    adzi_c99_line(c, "%s = " CENTRED " * rstd%s%s%s%s;", pass.operand[at.to].text,
        pass.operand[at.from].text, w ? " * " : "", w ? pass.operand[at.weight].text : "",
        b ? " + " : "", b ? pass.operand[at.bias].text : "");
    adzi_c99_nest_close(c, &pass);
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
    print_moments(c, &lanes, from, adzi_c99_attr(call, "eps", 1e-5), false);
    print_result(c, &lanes, (normalised){ to, from, w, b });
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

/* True if the call normalises by the statistics of its batch. */
static bool is_of_batch(const adzi_c99 *c, const adzi_c99_call *call)
{
    return adzi_c99_attr(call, "training", 0) != 0 || adzi_c99_in(c, call, RUNNING_MEAN) == NULL;
}

/* Prints mean and rstd: those of the batch, or the running ones. */
static void print_statistics(adzi_c99 *c, channel *ch, bool of_batch, double eps)
{
    if (of_batch) {
        print_moments(c, &ch->lanes, ch->in[X], eps, true);
        return;
    }
    adzi_c99_line(c, "const float mean = %s, rest = 0;",
        adzi_c99_lane_element(c, &ch->lanes, ch->in[RUNNING_MEAN]));
    adzi_c99_line(c, "const float rstd = 1 / @sqrt(%s + %s);",
        adzi_c99_lane_element(c, &ch->lanes, ch->in[RUNNING_VAR]), adzi_c99_real(c, eps));
}

/* Per channel: y = (x - mean) rstd weight + bias. The calls that move the running statistics are
 * others. */
void adzi_c99_batch_norm(adzi_c99 *c, const adzi_c99_call *call)
{
    channel ch = channel_of(c, call, BIAS);
    const int to = adzi_c99_lanes_add(&ch.lanes, adzi_c99_out(c, call, 0));
    adzi_c99_lanes_open(c, &ch.lanes);
    print_statistics(c, &ch, is_of_batch(c, call), adzi_c99_attr(call, "eps", 1e-5));
    print_result(c, &ch.lanes, (normalised){ to, ch.in[X], ch.in[WEIGHT], ch.in[BIAS] });
    adzi_c99_lanes_close(c, &ch.lanes);
}
