/* One function of a file: its signature, its calls, its results and what it leaves for the next
 * call. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "export/c99/file.h"
#include "export/c99/program.h"
#include "export/c99/state.h"

/* ---- the parts around the calls -------------------------------------------------------------- */

/* The identifier of a result: "y", or "y0", "y1" and so on; "y_boxes" if the program calls it
 * "boxes". The file's functions begin with its prefix, and no argument may hide one. */
static void name_result(adzi_c99 *c, size_t k, const char *name, adzi_c99_memory *m)
{
    const bool hides = c->name[0] == 'y' && (c->name[1] == '\0' || c->name[1] == '_');
    if (name != NULL) {
        adzi_c99_identifier(m->name, sizeof m->name, hides ? "result_" : "y_", name);
    } else {
        snprintf(m->name, sizeof m->name, c->n_outputs == 1 ? "y" : "y%zu", k);
    }
    adzi_c99_make_unique(c, m);
}

/* Makes the memories of the caller's arrays for the results. */
static bool add_results(adzi_c99 *c, const adzi_trace *trace)
{
    if (!adzi_grow(&c->results, &c->results_capacity, c->n_outputs, sizeof *c->results)) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the results");
        return false;
    }
    for (size_t k = 0; k < c->n_outputs; ++k) {
        const char *name = trace->output_names != NULL ? trace->output_names[k] : NULL;
        const adzi_c99_value *y = &c->values[c->outputs[k]];
        c->results[k] = adzi_c99_memory_new(c, ADZI_C99_INPUT, y->dtype, y->numel);
        if (c->results[k] < 0) {
            return false;
        }
        adzi_c99_memory *m = &c->memories[c->results[k]];
        char label[ADZI_C99_LABEL];
        snprintf(label, sizeof label, c->n_outputs == 1 ? "the result" : "result %zu", k);
        adzi_c99_label(m, name != NULL ? name : label, &trace->values[c->outputs[k]]);
        name_result(c, k, name, m);
    }
    return true;
}

/* Adds "void NAME_run(const float *x, float *y)", or "int NAME_run(NAME_state *state, ...".
 * `ending` is part of the name, and `more` begins the arguments. */
static void add_signature(
    const adzi_c99 *c, const char *name, const char *ending, const char *more, adzi_text *to)
{
    adzi_text_format(to, "%s %s_%s%s(", c->caller ? "int" : "void", c->name, name, ending);
    if (c->caller) {
        adzi_text_format(to, "%s_state *state, ", c->name);
    }
    adzi_text_add(to, more);
    for (size_t i = 0; i < c->n_inputs; ++i) {
        const adzi_c99_memory *m = &c->memories[c->values[i].memory];
        adzi_text_format(to, "const %s *%s, ", adzi_c99_type(m->dtype), m->name);
    }
    for (size_t k = 0; k < c->n_outputs; ++k) {
        const adzi_c99_memory *m = &c->memories[c->results[k]];
        adzi_text_format(to, "%s%s *%s", k > 0 ? ", " : "", adzi_c99_type(m->dtype), m->name);
    }
    adzi_text_add(to, ")");
}

/* The comment of the header: what the function does, and the shapes of its arguments. */
static void add_comment(const adzi_c99 *c, bool changes, adzi_text *to)
{
    adzi_text_format(to,
        "\n/* Computes the %s%s.\n * Arrays are in row-major order and do not overlap. Indices are "
        "not checked.\n *\n",
        c->n_outputs == 1 ? "result" : "results",
        changes ? ", and changes variables such as weights" : "");
    for (size_t i = 0; i < c->n_inputs; ++i) {
        const adzi_c99_memory *m = &c->memories[c->values[i].memory];
        adzi_text_format(to, " *     %s: %s\n", m->name, m->label);
    }
    for (size_t k = 0; k < c->n_outputs; ++k) {
        const adzi_c99_memory *m = &c->memories[c->results[k]];
        adzi_text_format(to, " *     %s: %s\n", m->name, m->label);
    }
    adzi_text_add(to, " */\n");
}

bool adzi_c99_mentions(const char *text, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += n) {
        const bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[n]) && at[n] != '_') {
            return true;
        }
    }
    return false;
}

static bool is_mentioned(const adzi_c99 *c, const char *name)
{
    return adzi_c99_mentions(adzi_text_get(&c->body), name);
}

/* Pointers to the buffers that the function uses, and to what the caller's state has of it. */
static void add_buffers(const adzi_c99 *c, adzi_text *to)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind == ADZI_C99_BUFFER && m->first >= 0) {
            adzi_text_format(to, "    %s *const %s = %s%s + %lld; /* %s */\n",
                adzi_c99_type(m->dtype), m->name, adzi_c99_of_state(c),
                adzi_c99_arenas[adzi_c99_arena(m->dtype)], (long long)m->offset, m->label);
        } else if (m->first >= 0 && adzi_c99_in_state(c, m) && is_mentioned(c, m->name)) {
            adzi_text_format(to, "    %s%s *const %s = state->%s;\n", m->changes ? "" : "const ",
                adzi_c99_type(m->dtype), m->name, m->name);
        }
    }
}

static void add_unused(const adzi_c99 *c, adzi_text *to)
{
    for (size_t i = 0; i < c->n_inputs; ++i) {
        const adzi_c99_memory *m = &c->memories[c->values[i].memory];
        if (m->first < 0 || !is_mentioned(c, m->name)) {
            adzi_text_format(to, "    (void)%s;\n", m->name);
        }
    }
    for (size_t k = 0; k < c->n_outputs; ++k) {
        if (c->values[c->outputs[k]].numel == 0) {
            adzi_text_format(to, "    (void)%s;\n", c->memories[c->results[k]].name);
        }
    }
}

/* ---- begin and end --------------------------------------------------------------------------- */

/* A contiguous value that is all of a memory. */
static adzi_c99_value all_of(const adzi_c99 *c, int memory)
{
    const adzi_c99_memory *m = &c->memories[memory];
    return (adzi_c99_value){ .memory = memory,
        .rank = 1,
        .sizes = { m->count },
        .strides = { 1 },
        .numel = m->count,
        .dtype = m->dtype };
}

static void begin(adzi_c99 *c)
{
    c->body.length = 0;
    c->depth = 1;
    c->step = 0;
    c->variables = c->n_regions = 0;
    for (size_t i = 0; i < c->n_memories; ++i) {
        c->memories[i].first = c->memories[i].last = c->memories[i].replaces = -1;
    }
    for (size_t i = 0; i < c->n_memories; ++i) { /* buffers that begin as constants */
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind == ADZI_C99_BUFFER && m->start >= 0 && m->function == c->function) {
            const adzi_c99_value to = all_of(c, (int)i), from = all_of(c, m->start);
            adzi_c99_map(c, &to, "= $a", &from);
        }
    }
}

/* True if a result can be computed in the caller's array: it is all of its memory, and its elements
 * lie there as in the array. */
static bool fits_array(const adzi_c99 *c, const adzi_c99_value *y)
{
    const adzi_c99_memory *m = &c->memories[y->memory];
    int64_t stride = 1;
    for (int d = y->rank - 1; d >= 0; --d) {
        if (y->sizes[d] != 1 && y->strides[d] != stride) {
            return false;
        }
        stride *= y->sizes[d];
    }
    return m->kind == ADZI_C99_BUFFER && m->start < 0 && y->offset == 0 && m->count == y->numel;
}

/* Lets results be computed in the caller's arrays, for good, because no other function uses their
 * buffers. A tensor that is returned twice is computed in the first array. */
static void use_callers_arrays(adzi_c99 *c)
{
    for (size_t k = 0; k < c->n_outputs; ++k) {
        const adzi_c99_value *y = &c->values[c->outputs[k]];
        if (fits_array(c, y)) {
            adzi_c99_memory *m = &c->memories[y->memory];
            const adzi_c99_memory *array = &c->memories[c->results[k]];
            memcpy(m->name, array->name, sizeof m->name);
            memcpy(m->label, array->label, sizeof m->label);
            m->kind = ADZI_C99_INPUT;
            c->results[k] = y->memory;
        }
    }
}

/* Prints the copy of a result that is not computed in the caller's array. */
static void copy_result(adzi_c99 *c, size_t k)
{
    const adzi_c99_value y = c->values[c->outputs[k]];
    if (y.memory == c->results[k]) {
        return;
    }
    adzi_c99_value to = y;
    int64_t stride = 1;
    ++c->step;
    to.memory = c->results[k];
    to.offset = 0;
    for (int d = y.rank - 1; d >= 0; --d) {
        to.strides[d] = stride;
        stride *= y.sizes[d];
    }
    adzi_c99_line(c, "%s", "");
    adzi_c99_map(c, &to, "= $a", &y);
}

/* ---- variables ------------------------------------------------------------------------------- */

/* The value that a variable becomes at the end of the function, or -1 if it has become so in place.
 */
static int stored(const adzi_c99 *c, const adzi_trace *trace, size_t i)
{
    const int to = trace->values[i].becomes;
    return to != (int)i && trace->values[i].kind != ADZI_VALUE_RESULT &&
                   c->values[to].memory != c->values[i].memory
               ? to
               : -1;
}

/* Copies new values into their variables. One that is another variable, which changes as well, is
 * copied into a buffer first. */
static void store_variables(adzi_c99 *c, const adzi_trace *trace)
{
    for (int pass = 0; pass < 2; ++pass) {
        for (size_t i = 0; i < trace->n_values && !c->failed; ++i) {
            const int to = stored(c, trace, i);
            const adzi_c99_memory *m = to >= 0 ? &c->memories[c->values[to].memory] : NULL;
            const bool apart = m != NULL && m->kind == ADZI_C99_VARIABLE;
            c->current = "the new value of a variable";
            ++c->step;
            if (pass == 0 && apart) {
                const adzi_c99_value from = c->values[to];
                c->values[to] = adzi_c99_scratch(c, from.dtype, from.rank, from.sizes);
                adzi_c99_map(c, &c->values[to], "= $a", &from);
            } else if (pass == 1 && m != NULL) {
                adzi_c99_line(c, "%s", "");
                adzi_c99_line(c, "/* the new %s */", c->memories[c->values[i].memory].label);
                adzi_c99_map(c, &c->values[i], "= $a", &c->values[to]);
            }
        }
    }
}

static bool changes_something(const adzi_trace *trace)
{
    bool changes = false;
    for (size_t i = 0; i < trace->n_values && !changes; ++i) {
        changes = trace->values[i].becomes != (int)i;
    }
    return changes;
}

/* ---- the function ---------------------------------------------------------------------------- */

static void print_body(adzi_c99 *c, const adzi_trace *trace)
{
    begin(c);
    adzi_c99_forward_all(c, trace);
    for (size_t k = 0; k < c->n_outputs && !c->failed; ++k) {
        copy_result(c, k);
    }
    store_variables(c, trace);
}

/* Adds an argument of the call for batch `index`, with the elements of a batch. */
static void add_batch(const adzi_c99 *c, int memory, int value, const char *index, adzi_text *to)
{
    adzi_text_format(to, "%s + (size_t)%s * %lld", c->memories[memory].name, index,
        (long long)c->values[value].numel);
}

/* The function NAME_<name>_batches, which calls NAME_<name> for each of many batches. */
static void print_batches(const adzi_c99 *c, adzi_c99_function *f)
{
    static const char ending[] = "_batches", more[] = "int32_t count, const int32_t *order, ";
    adzi_text_format(&f->declaration,
        "\n/* Calls %s_%s for `count` batches. Each array has those of all batches, one behind the "
        "other: call i\n * takes batch order[i], or batch i if order is NULL, and gives result "
        "i.%s */\n",
        c->name, f->name, c->caller ? " Ends with the first call that does not give 0." : "");
    add_signature(c, f->name, ending, more, &f->declaration);
    adzi_text_add(&f->declaration, ";\n");
    adzi_text *to = &f->text;
    adzi_text_add(to, "\n");
    add_signature(c, f->name, ending, more, to);
    adzi_text_format(to,
        "\n{\n    for (int32_t i = 0; i < count; ++i) {\n"
        "        const int32_t batch = order != 0 ? order[i] : i;\n        %s%s_%s(%s",
        c->caller ? "const int refused = " : "", c->name, f->name, c->caller ? "state, " : "");
    for (size_t i = 0; i < c->n_inputs; ++i) {
        add_batch(c, c->values[i].memory, (int)i, "batch", to);
        adzi_text_add(to, ", ");
    }
    for (size_t k = 0; k < c->n_outputs; ++k) {
        adzi_text_add(to, k > 0 ? ", " : "");
        add_batch(c, c->results[k], c->outputs[k], "i", to);
    }
    adzi_text_format(to, ");\n%s%s    }\n%s}\n", c->n_inputs == 0 ? "        (void)batch;\n" : "",
        c->caller ? "        if (refused != 0) {\n            return refused;\n        }\n" : "",
        c->caller ? "    return 0;\n" : "");
}

void adzi_c99_print_function(adzi_c99 *c, adzi_c99_function *f)
{
    if (!adzi_c99_program(c, f->trace)) {
        return;
    }
    adzi_c99_reuse(c, f->trace);
    adzi_c99_place_steps(c);
    if (!add_results(c, f->trace)) {
        return;
    }
    use_callers_arrays(c);
    print_body(c, f->trace);
    if (c->failed) {
        return;
    }
    adzi_c99_assign_offsets(c);
    add_comment(c, changes_something(f->trace), &f->declaration);
    add_signature(c, f->name, "", "", &f->declaration);
    adzi_text_add(&f->declaration, ";\n");
    add_signature(c, f->name, "", "", &f->text);
    adzi_text_add(&f->text, "\n{\n");
    adzi_c99_print_enter(c, &f->text);
    add_buffers(c, &f->text);
    adzi_c99_print_numbers(c, &f->text);
    add_unused(c, &f->text);
    adzi_text_add_n(&f->text, adzi_text_get(&c->body), c->body.length);
    adzi_c99_print_counts(c, &f->text);
    adzi_c99_print_leave(c, &f->text);
    adzi_text_add(&f->text, "}\n");
    if (c->batches) {
        print_batches(c, f);
    }
}
