#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/printer.h"

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

/* Prints a pass over a slice with the statement `step` for |element| `over` something = a. */
static void print_pass(
    adzi_c99 *c, const adzi_c99_slices *slices, int from, const char *over, const char *step)
{
    adzi_c99_nest pass = adzi_c99_pass(c, slices);
    const char *e = pass.operand[from].text;
    adzi_c99_line(c, "const float a = (%s > 0 ? %s : 0 - %s)%s;", e, e, e, over);
    adzi_c99_line(c, "%s;", step);
    adzi_c99_nest_close(c, &pass);
}

/* A sum of powers that leaves the range of float, or comes near its smallest numbers, is made once
 * more with the elements over the largest one. */
static void print_scaled(adzi_c99 *c, const adzi_c99_slices *slices, int from, const char *step)
{
    adzi_c99_line(c, "float scale = 1;");
    adzi_c99_open(c, "if (!(s > 1e-30f && s < 1e30f)) {");
    adzi_c99_line(c, "float most = 0;");
    print_pass(c, slices, from, "", "most = a > most ? a : most");
    adzi_c99_open(c, "if (most > 0 && most <= %s) {", adzi_c99_largest(c));
    adzi_c99_line(c, "s = 0;");
    adzi_c99_line(c, "scale = most;");
    print_pass(c, slices, from, " / most", step);
    adzi_c99_close(c);
    adzi_c99_close(c);
}

ADZI_C99_PRINTER(norm)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0);
    const double p = adzi_c99_attr(call, "p", 2);
    char step[64], result[64];
    norm_parts(c, p, step, result);
    adzi_c99_slices slices = adzi_c99_slices_of(x, (unsigned)adzi_c99_attr(call, "dim", 0));
    const int from = adzi_c99_slices_add(&slices, x);
    const int to = adzi_c99_slices_add_reduced(&slices, adzi_c99_out(c, call, 0));
    adzi_c99_slices_open(c, &slices);
    adzi_c99_line(
        c, "float s = %s;", p == -(double)INFINITY ? adzi_c99_real(c, (double)INFINITY) : "0");
    print_pass(c, &slices, from, "", step);
    if (strstr(result, "scale") != NULL) {
        print_scaled(c, &slices, from, step);
    }
    adzi_c99_line(c, "%s = %s;", adzi_c99_slice_element(c, &slices, to), result);
    adzi_c99_slices_close(c, &slices);
}
