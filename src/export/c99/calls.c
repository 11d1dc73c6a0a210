/* The calls of a program, which the printers of their rows print. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

bool adzi_c99_prints(const adz_operator *op)
{
    const adzi_row *row = adzi_row_of(op->name);
    return row != NULL && (row->view || row->c.print != NULL);
}

/* ---- printing a call ------------------------------------------------------------------------- */

static void add_shape(char *text, size_t size, const adzi_c99_value *v)
{
    size_t n = strlen(text);
    n += (size_t)snprintf(text + n, size - n, " [");
    for (int d = 0; v != NULL && d < v->rank && n < size; ++d) {
        n += (size_t)snprintf(
            text + n, size - n, "%s%lld", d > 0 ? ", " : "", (long long)v->sizes[d]);
    }
    if (n + 1 < size) {
        snprintf(text + n, size - n, "]");
    }
}

/* A line before the code of a call: the module's path, the operator, and the shapes. */
static void print_comment(adzi_c99 *c, const adzi_c99_call *call, const char *what)
{
    char line[500] = "", clean[500];
    snprintf(line, sizeof line, "%s%s%s%s:", call->path, call->path[0] != '\0' ? ": " : "", what,
        call->op->name);
    for (int i = 0; i < call->n_in && i < 6; ++i) {
        if (call->in[i] >= 0) {
            add_shape(line, sizeof line, adzi_c99_in(c, call, i));
        }
    }
    const size_t n = strlen(line);
    if (call->n_out > 0) {
        snprintf(line + n, sizeof line - n, " ->");
        add_shape(line, sizeof line, adzi_c99_out(c, call, 0));
    }
    adzi_c99_comment(clean, sizeof clean, line);
    adzi_c99_line(c, "%s", "");
    adzi_c99_line(c, "/* %s */", clean);
}

static void refuse(adzi_c99 *c, const adzi_c99_call *call, const char *why)
{
    adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED, "%s%s%s cannot be written in C: it %s", call->path,
        call->path[0] != '\0' ? ": " : "", call->op->name, why);
}

/* Most operators use functions of the file's type of floats. A few need one of doubles. */
static bool fits_type(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_row *row = call->row != NULL ? &call->row->c : NULL;
    if (row != NULL && row->of_doubles != NULL && !c->wide) {
        char why[200];
        snprintf(why, sizeof why,
            "%s; set options.precision to ADZ_F64, or export what comes before it",
            row->of_doubles);
        refuse(c, call, why);
        return false;
    }
    bool doubles = false;
    for (int i = 0; i < call->n_in; ++i) {
        const adzi_c99_value *v = adzi_c99_in(c, call, i);
        doubles = doubles || (v != NULL && v->dtype == ADZ_F64);
    }
    const bool fits = !doubles || c->wide || (row != NULL && row->doubles);
    if (!fits) {
        adzi_c99_fail(c, ADZ_ERR_DTYPE,
            "%s%s%s has a float64 argument, but is computed with float in C; set options.precision to ADZ_F64, or convert the module and its inputs to float32",
            call->path, call->path[0] != '\0' ? ": " : "", call->op->name);
    }
    return fits;
}

bool adzi_c99_begin_call(adzi_c99 *c, const adzi_c99_call *call)
{
    c->current = call->op->name;
    const bool fits = fits_type(c, call);
    if (fits) {
        print_comment(c, call, "");
    }
    return fits;
}

void adzi_c99_forward(adzi_c99 *c, const adzi_c99_call *call)
{
    ++c->step;
    if (!adzi_c99_begin_call(c, call)) {
        return;
    }
    const adzi_c99_row *row = call->row != NULL ? &call->row->c : NULL;
    if (row != NULL && row->print != NULL) {
        row->print(c, call);
    } else {
        refuse(c, call,
            row != NULL && row->refused != NULL ? row->refused
                                                : "has neither a printer nor an expression");
    }
}

bool adzi_c99_drops_nothing(adzi_c99 *c, double p)
{
    if (p != 0) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "dropout with p = %s draws random numbers, which a function in C cannot; call adz_module_eval before the plan is made",
            adzi_text_float(p));
    }
    return p == 0;
}
