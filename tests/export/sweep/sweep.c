/* The cases of the sweep over exported operators. */
#include "export/sweep/sweep.h"

#include <stdio.h>

#include "adze/nn/type.h"
#include "ops/op.h"
#include "export/c99/c99.h"

enum { RESULTS = 3 }; /* of one call that are exported */

/* ---- one case -------------------------------------------------------------------------------- */

/* True if the sample leaves the dtype of an input open. */
static bool is_open(const case_input *spec)
{
    return spec->given && !spec->none && !spec->typed && spec->fill != FILL_INDEX &&
           spec->fill != FILL_MASK;
}

/* Writes the dtypes and the layout of the case into a copy of the sample's inputs. */
static void choose_specs(sweep_case *c)
{
    memcpy(c->specs, c->op->samples[c->sample].in, sizeof c->specs);
    for (int i = 0; i < CASE_INPUTS && c->specs[i].given; ++i) {
        case_input *spec = &c->specs[i];
        if (is_open(spec)) {
            spec->dtype = c->only < 0 || c->only == i ? c->dtype : ADZ_F32;
            spec->typed = true;
            spec->layout = spec->layout == LAYOUT_PLAIN ? c->layout : spec->layout;
        } else if (c->only == i) {
            spec->dtype = c->dtype;
            spec->typed = true;
        }
    }
}

static adz_tensor *no_forward(adz_module *module, adz_tensor *x)
{
    (void)module;
    return x;
}

/* Makes argument i an input of the function, or what it is otherwise. */
static bool add_argument(sweep_case *c, int i, int input)
{
    static const adz_module_type type = { .name = "Sweep", .forward = no_forward };
    adz_tensor *leaf = c->b.leaves[i];
    if (c->role == SWEEP_INPUTS || i == input) {
        c->positions[c->n_inputs] = i;
        c->inputs[c->n_inputs++] = leaf;
    } else if (c->role == SWEEP_CONSTANTS) {
        c->fixed[i] = built_argument(&c->b, i);
        return c->fixed[i] != NULL;
    } else {
        char name[16];
        snprintf(name, sizeof name, "buffer%d", i);
        c->module = c->module != NULL ? c->module : adz_module_new(&type, 0);
        return adz_module_add_buffer(c->module, name, leaf, true) != NULL;
    }
    return true;
}

/* Draws the tensors of a case. False if the role makes no sense for it, because the operator has
 * fewer than two tensors. */
static bool begin(sweep_case *c)
{
    const op_sample *sample = &c->op->samples[c->sample];
    int first = -1, last = -1;
    choose_specs(c);
    build_inputs(&c->b, c->specs, sample->p, sample->text, LAYOUT_PLAIN, ADZ_F32, 1000 + c->sample);
    for (int i = 0; i < c->b.args.n; ++i) {
        first = first < 0 && !c->specs[i].none ? i : first;
        last = c->specs[i].none ? last : i;
    }
    if (c->role != SWEEP_INPUTS && first == last) {
        return false;
    }
    for (int i = 0; i < c->b.args.n; ++i) {
        const bool input = c->role == SWEEP_INPUTS || i == (c->sample % 2 == 0 ? first : last);
        if (!c->specs[i].none && !input && c->sample % 4 > 1) {
            sweep_fill_special(c, i);
        }
        if (!c->specs[i].none && !add_argument(c, i, c->sample % 2 == 0 ? first : last)) {
            return false;
        }
    }
    return true;
}

/* Calls the operator. The number of its results; 0 with the error recorded. */
static int call_operator(sweep_case *c, adz_tensor **out)
{
    for (int i = 0; i < c->b.args.n; ++i) {
        c->b.args.in[i] = c->fixed[i] != NULL ? c->fixed[i] : built_argument(&c->b, i);
        if (c->b.args.in[i] == NULL) {
            return 0;
        }
    }
    return c->op->call(&c->b.args, out);
}

adz_tensor *sweep_call(void *user)
{
    sweep_case *c = user;
    adz_tensor *out[CASE_RESULTS] = { NULL };
    return call_operator(c, out) > c->result ? out[c->result] : NULL;
}

adz_tensor *sweep_expected(sweep_case *c)
{
    adz_tensor *y = sweep_call(c);
    y = y != NULL ? adz_contiguous(y) : NULL;
    adz_error_clear();
    return y;
}

/* ---- all cases ------------------------------------------------------------------------------- */

typedef struct walk {
    const op_case *op;
    sweep_limits limits;
    void (*visit)(sweep_case *c, void *user);
    void *user;
    size_t visited;
} walk;

/* The library adds the products of these operators up in an order of the processor's. */
static bool adds_products(const char *op)
{
    static const char *const parts[] = { "attention", "conv", "einsum", "gru", "linear", "lstm",
        "matmul", "mm", "rnn" };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        if (strstr(op, parts[i]) != NULL) {
            return true;
        }
    }
    return false;
}

static bool is_elementwise(const char *op)
{
    const adzi_row *row = adzi_row_of(op);
    return row != NULL && row->c.print == adzi_c99_elementwise;
}

/* Visits a case once for each of its results, unless the library refuses it. */
static void visit_case(walk *w, size_t sample, adz_dtype dtype, int only, int layout, int role)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *out[CASE_RESULTS] = { NULL };
    sweep_case c = { .op = w->op,
        .sample = sample,
        .dtype = dtype,
        .only = only,
        .layout = (case_layout)layout,
        .role = (sweep_role)role,
        .limits = w->limits,
        .elementwise = is_elementwise(w->op->name),
        .products = adds_products(w->op->name) };
    int results = begin(&c) ? call_operator(&c, out) : 0;
    results = results < RESULTS ? results : RESULTS;
    adz_error_clear();
    for (c.result = 0; c.result < results; ++c.result) {
        if (out[c.result] != NULL) {
            w->visit(&c, w->user);
            ++w->visited;
        }
    }
    adz_module_release(&c.module);
    adz_scope_close(scope);
}

enum { THOROUGH = 2 }; /* samples of an operator that are swept in every combination */

/* f32 in every layout and role; every other dtype, for all inputs, in a layout and a role that
 * change from case to case. Later samples have some of these cases, which differ from sample to
 * sample. */
static void visit_dtypes(walk *w, size_t sample)
{
    const int layouts = w->op->no_layouts ? 1 : LAYOUT_OFFSET + 1, s = (int)sample;
    const bool all = s < THOROUGH;
    for (int layout = 0; layout < layouts; ++layout) {
        if (all || layout == 0 || layout == 1 + s % 4) {
            visit_case(w, sample, ADZ_F32, -1, layout, SWEEP_INPUTS);
        }
    }
    for (int role = SWEEP_VIEWED; role < SWEEP_ROLES; ++role) {
        if (all || role == SWEEP_VIEWED + s % 2) {
            visit_case(w, sample, ADZ_F32, -1, (s + role) % layouts, role);
        }
    }
    for (int dtype = ADZ_F32 + 1; dtype <= ADZ_BF16; ++dtype) {
        const int turn = s + dtype;
        if (all || turn % 2 == 0) {
            visit_case(w, sample, (adz_dtype)dtype, -1, turn % layouts, SWEEP_INPUTS);
        }
        if (all || turn % 2 == 1) {
            visit_case(
                w, sample, (adz_dtype)dtype, -1, (turn + 2) % layouts, SWEEP_VIEWED + turn / 2 % 2);
        }
    }
}

/* Every dtype for one input while the others are f32, and int32 for indices. */
static void visit_mixtures(walk *w, size_t sample)
{
    const case_input *in = w->op->samples[sample].in;
    const int layouts = w->op->no_layouts ? 1 : LAYOUT_OFFSET + 1, s = (int)sample;
    int open = 0;
    for (int i = 0; i < CASE_INPUTS && in[i].given; ++i) {
        open += is_open(&in[i]);
        if (in[i].fill == FILL_INDEX) {
            visit_case(w, sample, ADZ_I32, i, 0, SWEEP_INPUTS);
        }
    }
    for (int i = 0, seen = 0; i < CASE_INPUTS && in[i].given && open > 1 && seen < 3; ++i) {
        for (int dtype = ADZ_F32 + 1; dtype <= ADZ_BF16 && is_open(&in[i]); ++dtype) {
            if (s < THOROUGH || (s + dtype + i) % 3 == 0) {
                visit_case(w, sample, (adz_dtype)dtype, i, (s + dtype + i) % layouts, SWEEP_INPUTS);
            }
        }
        seen += is_open(&in[i]);
    }
}

size_t sweep_cases(
    const op_case *op, sweep_limits limits, void (*visit)(sweep_case *c, void *user), void *user)
{
    walk w = { .op = op, .limits = limits, .visit = visit, .user = user };
    const bool records = adz_set_grad_enabled(false);
    for (size_t s = 0; s < n_samples(op); ++s) {
        if (!op->samples[s].large) {
            visit_dtypes(&w, s);
            visit_mixtures(&w, s);
        }
    }
    adz_set_grad_enabled(records);
    return w.visited;
}

/* ---- texts ----------------------------------------------------------------------------------- */

void sweep_describe(const sweep_case *c, char *to, size_t size)
{
    static const char *const layouts[] = { "contiguous", "transposed", "sliced", "expanded",
        "behind an offset" };
    static const char *const roles[] = { "inputs", "views of parameters", "constants" };
    char only[40] = "";
    if (c->only >= 0) {
        snprintf(only, sizeof only, " in input %d", c->only);
    }
    snprintf(to, size, "%s, sample %d, %s%s, %s, %s, result %d", c->op->name, (int)c->sample,
        adz_dtype_name(c->dtype), only, layouts[c->layout], roles[c->role], c->result);
}

/* True if a text has `word`, alone or as a function of adze, between characters of no name. */
static bool has_word(const char *text, const char *word)
{
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    const size_t n = strlen(word);
    for (const char *at = strstr(text, word); at != NULL; at = strstr(at + 1, word)) {
        const bool function = at >= text + 4 && strncmp(at - 4, "adz_", 4) == 0;
        const bool begins = at == text || function || strchr(letters, at[-1]) == NULL;
        if (begins && (at[n] == '\0' || strchr(letters, at[n]) == NULL)) {
            return true;
        }
    }
    return false;
}

bool sweep_refusal_is_right(const sweep_case *c, const char *message, bool f32_is_refused)
{
    bool named = has_word(message, c->op->name) || has_word(message, "rand");
    bool dtype = c->dtype == ADZ_F32 || f32_is_refused;
    for (int i = 0; i < adzi_n_ops && !named; ++i) {
        named = has_word(message, adzi_ops[i]->name);
    }
    for (int d = ADZ_F32; d <= ADZ_BF16 && !dtype; ++d) {
        dtype = has_word(message, adz_dtype_name((adz_dtype)d));
    }
    return named && dtype;
}
