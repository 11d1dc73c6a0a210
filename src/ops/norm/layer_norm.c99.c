/* Layer norm, in passes over each slice. Its expression would take a buffer of the size of x. */
#include <stdio.h>

#include "export/c99/printer.h"

/* The last dimensions of x, which layer_norm normalises together. */
static unsigned normalised_dims(const adzi_c99_call *call, const adzi_c99_value *x)
{
    unsigned mask = 0;
    for (int k = (int)adzi_c99_attr(call, "rank", 1); k > 0; --k) {
        mask |= 1u << (x->rank - k);
    }
    return mask;
}

/* An element without the mean of its slice, of which `rest` was rounded away. */
#define CENTRED "((%s - mean) - rest)"

/* Prints the mean of the slice, as that of the differences from its first element, and rstd = 1 /
 * sqrt(variance + eps). The differences keep the digits of elements whose mean is large, and those
 * of equal elements are exactly 0. */
static void print_moments(adzi_c99 *c, adzi_c99_slices *slices, int from, double eps)
{
    const char *n = adzi_c99_real(c, (double)slices->count);
    adzi_c99_line(c, "const float first = %s;", adzi_c99_slice_element(c, slices, from));
    adzi_c99_line(c, "float level = 0, variance = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, slices);
    adzi_c99_line(c, "level += %s - first;", pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_line(c, "level /= %s;", n);
    adzi_c99_line(c, "const float mean = first + level, rest = level - (mean - first);");
    pass = adzi_c99_pass(c, slices);
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
static void print_result(adzi_c99 *c, const adzi_c99_slices *slices, normalised at)
{
    adzi_c99_nest pass = adzi_c99_pass(c, slices);
    const bool w = at.weight >= 0, b = at.bias >= 0;
    adzi_c99_line(c, "%s = " CENTRED " * rstd%s%s%s%s;", pass.operand[at.to].text,
        pass.operand[at.from].text, w ? " * " : "", w ? pass.operand[at.weight].text : "",
        b ? " + " : "", b ? pass.operand[at.bias].text : "");
    adzi_c99_nest_close(c, &pass);
}

/* y = (x - mean) rstd weight + bias. */
ADZI_C99_PRINTER(layer_norm)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    adzi_c99_slices slices = adzi_c99_slices_of(x, normalised_dims(call, x));
    const int from = adzi_c99_slices_add(&slices, x);
    const int to = adzi_c99_slices_add(&slices, adzi_c99_out(c, call, 0));
    const int w = adzi_c99_slices_add(&slices, adzi_c99_in(c, call, 1));
    const int b = adzi_c99_slices_add(&slices, adzi_c99_in(c, call, 2));
    adzi_c99_slices_open(c, &slices);
    print_moments(c, &slices, from, adzi_c99_attr(call, "eps", 1e-5));
    print_result(c, &slices, (normalised){ to, from, w, b });
    adzi_c99_slices_close(c, &slices);
}
