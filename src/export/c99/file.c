/* The texts of the C file and of its header, around the functions that were printed. */
#include "export/c99/file.h"

#include <stdio.h>

#include "export/c99/program.h"
#include "export/c99/state.h"

const char *const adzi_c99_arenas[ADZI_C99_ARENAS] = { "floats", "integers", "bytes", "doubles" };

const char *const adzi_c99_arena_types[ADZI_C99_ARENAS] = { "float", "int32_t", "unsigned char",
    "double" };
static const int64_t arena_bytes[ADZI_C99_ARENAS] = { 4, 4, 1, 8 };

/* ---- arrays ---------------------------------------------------------------------------------- */

/* Weights that the caller hands over: pointers into his memory, or arrays that are filled. */
bool adzi_c99_is_separate(const adzi_c99 *c, const adzi_c99_memory *m)
{
    return c->separate && m->kind == ADZI_C99_VARIABLE && m->leaf == NULL &&
           m->dtype == adzi_c99_dtype(c, ADZ_F32);
}

bool adzi_c99_has_array(const adzi_c99_memory *m)
{
    return m->array && (m->kind == ADZI_C99_VARIABLE || m->kind == ADZI_C99_CONSTANT);
}

/* True for a variable of zeros, which needs no initializer. */
static bool is_zero(const adzi_c99_memory *m)
{
    bool zero = m->changes;
    for (int64_t i = 0; i < m->count && zero; ++i) {
        zero = adzi_c99_contents(m, i) == 0;
    }
    return zero;
}

static void add_array(adzi_c99_writer *w, const adzi_c99_memory *m, adzi_text *to)
{
    const long long count = m->count > 0 ? m->count : 1; /* C has no empty arrays */
    const bool of_state = adzi_c99_in_state(&w->c, m), zero = is_zero(m);
    w->c.current = m->label;
    if (of_state) {
        adzi_c99_add_array_field(w, m, zero);
        if (zero || adzi_c99_is_separate(&w->c, m)) {
            return;
        }
    }
    adzi_text_format(to, "/* %s */\n", m->label);
    if (adzi_c99_is_separate(&w->c, m)) {
        adzi_text_format(to, m->changes ? "static %s %s[%lld];\n\n" : "static const %s *%s;\n\n",
            adzi_c99_type(m->dtype), m->name, count);
        return;
    }
    adzi_text_format(to, "static %s%s %s%s[%lld]", m->changes && !of_state ? "" : "const ",
        adzi_c99_type(m->dtype), of_state ? "initial_" : "", m->name, count);
    if (zero) {
        adzi_text_add(to, ";\n\n");
        return;
    }
    adzi_text_add(to, m->count == 0 ? " = { 0" : " = {");
    for (int64_t k = 0; k < m->count; ++k) {
        adzi_text_add(to, k % 8 == 0 ? "\n    " : " ");
        adzi_text_add(to, adzi_c99_number(&w->c, m->dtype, adzi_c99_contents(m, k)));
        adzi_text_add(to, ",");
    }
    adzi_text_add(to, "\n};\n\n");
}

/* The arrays of the file. What belongs to a leaf, a state or a gradient, is state. */
static void add_arrays(adzi_c99_writer *w)
{
    for (size_t i = 0; i < w->c.n_memories; ++i) {
        const adzi_c99_memory *m = &w->c.memories[i];
        if (adzi_c99_has_array(m)) {
            const int64_t bytes = (m->count > 0 ? m->count : 1) * adzi_c99_bytes(m->dtype);
            const bool initial = adzi_c99_in_state(&w->c, m); /* the array is what it begins with */
            *(m->leaf != NULL && !initial ? &w->state : &w->weights) +=
                initial && (is_zero(m) || adzi_c99_is_separate(&w->c, m)) ? 0 : bytes;
            add_array(w, m, &w->arrays);
        }
    }
}

static void add_load_signature(const adzi_c99_writer *w, adzi_text *to)
{
    const char *name = w->c.name;
    if (w->c.caller) {
        adzi_text_format(to, "int %s_load(%s_state *state, const %s *weights)", name, name,
            adzi_c99_real_type(&w->c));
    } else {
        adzi_text_format(to, "void %s_load(const %s *weights)", name, adzi_c99_real_type(&w->c));
    }
}

/* NAME_load, which hands the weights over. */
static void add_load(adzi_c99_writer *w, adzi_text *to)
{
    long long at = 0;
    const char *state = adzi_c99_of_state(&w->c);
    add_load_signature(w, to);
    adzi_text_add(to, "\n{\n");
    adzi_c99_print_enter(&w->c, to);
    for (size_t i = 0; i < w->c.n_memories; ++i) {
        const adzi_c99_memory *m = &w->c.memories[i];
        if (adzi_c99_has_array(m) && adzi_c99_is_separate(&w->c, m)) {
            if (m->changes) {
                adzi_text_format(to,
                    "    for (int i = 0; i < %lld; ++i) {\n        %s%s[i] = weights[%lld + i];\n"
                    "    }\n",
                    (long long)m->count, state, m->name, at);
            } else {
                adzi_text_format(to, "    %s%s = weights + %lld;\n", state, m->name, at);
            }
            at += m->count;
        }
    }
    adzi_text_add(to, at == 0 ? "    (void)weights;\n" : "");
    adzi_c99_print_leave(&w->c, to);
    adzi_text_add(to, "}\n\n");
}

/* ---- the files ------------------------------------------------------------------------------- */

void adzi_c99_make_header(adzi_c99_writer *w)
{
    adzi_text *to = &w->header;
    const char *name = w->c.name, *upper = w->upper;
    int64_t buffer = 0;
    for (int arena = 0; arena < ADZI_C99_ARENAS; ++arena) {
        buffer += w->c.arena[arena] * arena_bytes[arena];
    }
    adzi_text_format(to,
        "/* Written by adze. Change the network, not this file. */\n#ifndef %s_H\n"
        "#define %s_H\n\n#include <stdint.h>\n\n",
        upper, upper);
    adzi_text_format(to,
        "/* Bytes of the weights and other constants, and of the buffers. */\n"
        "#define %s_WEIGHTS_BYTES %lld\n#define %s_BUFFER_BYTES  %lld\n",
        upper, (long long)w->weights, upper, (long long)buffer);
    if (w->state > 0 && !w->c.caller) {
        adzi_text_format(to,
            "/* Bytes of learning rates, optimizers' states and kept gradients. */\n"
            "#define %s_STATE_BYTES   %lld\n",
            upper, (long long)w->state);
    }
    adzi_text_add(to, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    if (w->c.caller) {
        adzi_c99_declare_state(w, to);
    }
    if (w->options->weights != NULL) {
        adzi_text_format(to,
            "\n/* Hands the weights over, before anything else is called: the contents "
            "of the file of weights.\n * They must stay where they are. */\n");
        add_load_signature(w, to);
        adzi_text_add(to, ";\n");
    }
    for (size_t i = 0; i < w->c.n_functions; ++i) {
        const adzi_text *declaration = &w->functions[i].declaration;
        adzi_text_add_n(to, adzi_text_get(declaration), declaration->length);
    }
    if (w->c.n_updates > 0 && !w->c.caller) {
        adzi_text_format(to,
            "\n/* The learning rate of each group of parameters, which may change between calls. "
            "*/\nextern %s %s_learning_rate[%d];\n",
            adzi_c99_real_type(&w->c), name, (int)adzi_c99_groups(&w->c));
    }
    adzi_text_add_n(to, adzi_text_get(&w->learnt_header), w->learnt_header.length);
    adzi_text_add(to, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

/* What every function of the file uses. */
static void add_shared(adzi_c99_writer *w, adzi_text *to, const adzi_text *functions)
{
    if (w->states.length > 0) {
        adzi_text_add(to, "/* What the numbers of an optimizer's step are computed from. */\n"
                          "typedef struct {\n    const double *settings;\n    int64_t step;\n"
                          "    uint32_t fresh;\n} adz_step_context;\n\n");
    }
    adzi_text_add_n(to, adzi_text_get(&w->arrays), w->arrays.length);
    for (int arena = 0; arena < ADZI_C99_ARENAS; ++arena) {
        if (w->c.arena[arena] > 0 && !w->c.caller) {
            adzi_text_format(to, "static %s %s[%lld];\n", adzi_c99_arena_types[arena],
                adzi_c99_arenas[arena], (long long)w->c.arena[arena]);
        }
    }
    adzi_text_add(to, "\n");
    adzi_text_add_n(to, adzi_text_get(functions), functions->length);
    adzi_text_add_n(to, adzi_text_get(&w->states), w->states.length);
}

static void check_text(adzi_c99_writer *w, const adzi_text *text)
{
    if (text->failed) {
        adzi_c99_fail(&w->c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
}

void adzi_c99_make_file(adzi_c99_writer *w, const char *header)
{
    adzi_text *to = &w->file;
    char clean[ADZI_C99_LABEL];
    adzi_text functions = { 0 };
    w->state += adzi_c99_print_updates(&w->c, &w->states);
    adzi_c99_functions(&w->c, &functions);
    add_arrays(w);
    adzi_c99_comment(clean, sizeof clean, header);
    adzi_text_format(to, "/* Written by adze. Change the network, not this file. */\n");
    adzi_text_format(to, "#include \"%s\"\n\n", header);
    if (w->states.length > 0) {
        adzi_text_add(to, "#include <stdbool.h>\n\n");
    }
    if (w->c.batches) {
        adzi_text_add(to, "#include <stddef.h>\n\n");
    }
    if (w->c.libm) {
        adzi_text_add(to, "#include <math.h>\n\n");
    }
    if (w->c.caller) {
        adzi_c99_make_state(w);
    }
    add_shared(w, to, &functions);
    if (w->c.caller) {
        adzi_c99_define_checks(w, to);
    }
    if (w->options->weights != NULL) {
        add_load(w, to);
    }
    for (size_t i = 0; i < w->c.n_functions; ++i) {
        adzi_text_add(to, i > 0 ? "\n" : "");
        adzi_text_add_n(to, adzi_text_get(&w->functions[i].text), w->functions[i].text.length);
        check_text(w, &w->functions[i].text);
    }
    if (w->learnt.length > 0) {
        adzi_text_add(to, "\n");
        adzi_text_add_n(to, adzi_text_get(&w->learnt), w->learnt.length);
    }
    if (w->c.caller) { /* all that a state begins with stands before it */
        adzi_text_add(to, "\n");
        adzi_c99_define_init(w, to);
    }
    const adzi_text *const parts[] = { &functions, &w->states, &w->arrays, &w->c.body, &w->learnt,
        &w->learnt_header, &w->fields, &w->starts, to };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        check_text(w, parts[i]);
    }
    adzi_text_free(&functions);
}
