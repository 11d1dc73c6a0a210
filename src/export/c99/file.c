/* The texts of the C file and of its header, around the functions that were printed. */
#include "export/c99/file.h"

#include <stdio.h>
#include <string.h>

#include "export/c99/program.h"
#include "export/c99/step.h"

const char *const adzi_c99_arenas[ADZI_C99_ARENAS] = { "floats", "integers", "bytes", "doubles" };

static const char *const arena_types[ADZI_C99_ARENAS] = { "float", "int32_t", "unsigned char",
    "double" };
static const int64_t arena_bytes[ADZI_C99_ARENAS] = { 4, 4, 1, 8 };

/* ---- signatures -------------------------------------------------------------------------------
 */

void adzi_c99_name_results(adzi_c99_writer *w, const char *const *names)
{
    adzi_c99 *c = &w->c;
    w->results = adzi_alloc(c->n_outputs * sizeof *w->results);
    if (w->results == NULL) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the names of the results");
        return;
    }
    for (size_t k = 0; k < c->n_outputs && !c->failed; ++k) {
        const adzi_c99_value *y = &c->values[c->outputs[k]];
        w->results[k] = adzi_c99_memory_new(c, ADZI_C99_INPUT, y->dtype, y->numel);
        if (w->results[k] < 0) {
            return;
        }
        adzi_c99_memory *m = &c->memories[w->results[k]];
        char label[ADZI_C99_LABEL];
        snprintf(label, sizeof label, c->n_outputs == 1 ? "the result" : "result %zu", k);
        adzi_c99_comment(m->label, sizeof m->label, names != NULL ? names[k] : label);
        adzi_c99_add_shape(m->label, sizeof m->label, y->rank, y->sizes);
        if (names != NULL) {
            /* The file's functions begin with its prefix, and an argument must not hide one. */
            const bool hides = strcmp(c->name, "y") == 0;
            adzi_c99_identifier(m->name, sizeof m->name, hides ? "result_" : "y_", names[k]);
        } else {
            snprintf(m->name, sizeof m->name, c->n_outputs == 1 ? "y" : "y%zu", k);
        }
        adzi_c99_make_unique(c, m);
    }
}

void adzi_c99_signature(const adzi_c99_writer *w, adzi_text *to, const char *type,
    const char *function, const char *last)
{
    adzi_text_format(to, "%s %s_%s(", type, w->c.name, function);
    for (size_t i = 0; i < w->c.n_inputs; ++i) {
        const adzi_c99_memory *m = &w->c.memories[w->c.values[i].memory];
        adzi_text_format(to, "const %s *%s, ", adzi_c99_type(m->dtype), m->name);
    }
    for (size_t k = 0; last == NULL && k < w->c.n_outputs; ++k) {
        const adzi_c99_memory *m = &w->c.memories[w->results[k]];
        adzi_text_format(to, "%s%s *%s", k > 0 ? ", " : "", adzi_c99_type(m->dtype), m->name);
    }
    adzi_text_format(to, "%s)", last != NULL ? last : "");
}

const char *adzi_c99_step_target(const adzi_c99_writer *w)
{
    return w->options->loss == ADZ_C_CROSS_ENTROPY ? "const int32_t *target"
                                                   : "const float *target";
}

/* ---- arrays -----------------------------------------------------------------------------------
 */

/* Weights that the caller hands over: pointers into his memory, or arrays that are filled. */
bool adzi_c99_is_separate(const adzi_c99_writer *w, const adzi_c99_memory *m)
{
    return w->options->weights != NULL && m->kind == ADZI_C99_PARAMETER && m->dtype == ADZ_F32;
}

bool adzi_c99_has_array(const adzi_c99_memory *m)
{
    return m->array && (m->kind == ADZI_C99_PARAMETER || m->kind == ADZI_C99_CONSTANT);
}

static void add_arrays(adzi_c99_writer *w)
{
    for (size_t i = 0; i < w->c.n_memories; ++i) {
        const adzi_c99_memory *m = &w->c.memories[i];
        if (!adzi_c99_has_array(m)) {
            continue;
        }
        const char *type = adzi_c99_type(m->dtype);
        w->c.current = m->label;
        adzi_text_format(&w->arrays, "/* %s */\n", m->label);
        const long long count = m->count > 0 ? m->count : 1; /* C has no empty arrays */
        w->weights += count * adzi_c99_bytes(m->dtype);
        if (adzi_c99_is_separate(w, m)) {
            adzi_text_format(&w->arrays,
                m->changes ? "static float %s[%lld];\n\n" : "static const float *%s;\n\n", m->name,
                count);
            continue;
        }
        adzi_text_format(&w->arrays, "static %s%s %s[%lld] = {", m->changes ? "" : "const ", type,
            m->name, count);
        adzi_text_add(&w->arrays, m->count == 0 ? " 0" : "");
        for (int64_t k = 0; k < m->count; ++k) {
            adzi_text_add(&w->arrays, k % 8 == 0 ? "\n    " : " ");
            adzi_text_add(&w->arrays, adzi_c99_number(&w->c, m->dtype, adzi_c99_contents(m, k)));
            adzi_text_add(&w->arrays, ",");
        }
        adzi_text_add(&w->arrays, "\n};\n\n");
    }
}

/* NAME_load, which hands the weights over. */
static void add_load(adzi_c99_writer *w, adzi_text *to)
{
    long long at = 0;
    adzi_text_format(to, "void %s_load(const float *weights)\n{\n", w->c.name);
    for (size_t i = 0; i < w->c.n_memories; ++i) {
        const adzi_c99_memory *m = &w->c.memories[i];
        if (adzi_c99_has_array(m) && adzi_c99_is_separate(w, m)) {
            if (m->changes) {
                adzi_text_format(to,
                    "    for (int i = 0; i < %lld; ++i) {\n        %s[i] = weights[%lld + i];\n"
                    "    }\n",
                    (long long)m->count, m->name, at);
            } else {
                adzi_text_format(to, "    %s = weights + %lld;\n", m->name, at);
            }
            at += m->count;
        }
    }
    adzi_text_add(to, at == 0 ? "    (void)weights;\n}\n\n" : "}\n\n");
}

/* ---- the files --------------------------------------------------------------------------------
 */

/* A comment with the shapes of the arguments of NAME_run. */
static void add_arguments(const adzi_c99_writer *w, adzi_text *to)
{
    for (size_t i = 0; i < w->c.n_inputs; ++i) {
        const adzi_c99_memory *m = &w->c.memories[w->c.values[i].memory];
        adzi_text_format(to, " *     %s: %s\n", m->name, m->label);
    }
    for (size_t k = 0; k < w->c.n_outputs; ++k) {
        const adzi_c99_memory *m = &w->c.memories[w->results[k]];
        adzi_text_format(to, " *     %s: %s\n", m->name, m->label);
    }
}

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
    if (w->options->optimizer != NULL) {
        adzi_text_format(to,
            "/* Bytes of the optimizer's state. */\n#define %s_STATE_BYTES   %lld\n", upper,
            (long long)w->state);
    }
    adzi_text_add(to, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
    if (w->options->weights != NULL) {
        adzi_text_format(to,
            "\n/* Hands the weights over, before anything else is called: the contents "
            "of the file of weights.\n * They must stay where they are. */\n"
            "void %s_load(const float *weights);\n",
            name);
    }
    adzi_text_add(to, "\n/* Computes the result. Arrays are in row-major order and do not overlap. "
                      "Indices are not checked.\n *\n");
    add_arguments(w, to);
    adzi_text_add(to, " */\n");
    adzi_c99_signature(w, to, "void", "run", NULL);
    adzi_text_add(to, ";\n");
    if (w->options->optimizer != NULL) {
        adzi_text_format(to,
            "\n/* The learning rate of each group of parameters. */\n"
            "extern float %s_learning_rate[%d];\n",
            name, (int)w->options->optimizer->n_groups);
        adzi_text_add(to,
            "\n/* One step of training: changes the weights, and returns the loss before "
            "the change. */\n");
        adzi_c99_signature(w, to, "float", "step", adzi_c99_step_target(w));
        adzi_text_add(to, ";\n");
    }
    adzi_text_add(to, "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n");
}

void adzi_c99_make_file(adzi_c99_writer *w, const char *header)
{
    adzi_text *to = &w->file;
    char clean[ADZI_C99_LABEL];
    adzi_text functions = { 0 }, states = { 0 };
    if (w->options->optimizer != NULL) {
        w->state = adzi_c99_print_states(&w->c, &states, w->options->optimizer);
    }
    adzi_c99_functions(&w->c, &functions);
    add_arrays(w);
    adzi_c99_comment(clean, sizeof clean, header);
    adzi_text_format(to, "/* Written by adze. Change the network, not this file. */\n");
    adzi_text_format(to, "#include \"%s\"\n\n", header);
    if (w->c.libm) {
        adzi_text_add(to, "#include <math.h>\n\n");
    }
    adzi_text_add_n(to, adzi_text_get(&w->arrays), w->arrays.length);
    adzi_text_add_n(to, adzi_text_get(&states), states.length);
    for (int arena = 0; arena < ADZI_C99_ARENAS; ++arena) {
        if (w->c.arena[arena] > 0) {
            adzi_text_format(to, "static %s %s[%lld];\n", arena_types[arena],
                adzi_c99_arenas[arena], (long long)w->c.arena[arena]);
        }
    }
    adzi_text_add(to, "\n");
    adzi_text_add_n(to, adzi_text_get(&functions), functions.length);
    if (w->options->weights != NULL) {
        add_load(w, to);
    }
    adzi_text_add_n(to, adzi_text_get(&w->run), w->run.length);
    if (w->step.length > 0) {
        adzi_text_add(to, "\n");
        adzi_text_add_n(to, adzi_text_get(&w->step), w->step.length);
    }
    const adzi_text *const parts[] = { &functions, &states, &w->arrays, &w->run, &w->step,
        &w->c.body, to };
    for (size_t i = 0; i < sizeof parts / sizeof *parts; ++i) {
        if (parts[i]->failed) {
            adzi_c99_fail(&w->c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
        }
    }
    adzi_text_free(&functions);
    adzi_text_free(&states);
}
