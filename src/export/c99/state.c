/* The state of a file whose caller holds it: a struct with the buffers and with what functions
 * change, a function that makes it ready, and the checks with which every function begins. */
#include <stdio.h>

#include "export/c99/program.h"
#include "export/c99/state.h"

bool adzi_c99_in_state(const adzi_c99 *c, const adzi_c99_memory *m)
{
    return c->caller && (m->changes || adzi_c99_is_separate(c, m));
}

const char *adzi_c99_of_state(const adzi_c99 *c)
{
    return c->caller ? "state->" : "";
}

/* ---- fields ---------------------------------------------------------------------------------- */

void adzi_c99_add_field(
    adzi_c99_writer *w, const char *type, const char *name, int64_t count, const char *label)
{
    adzi_text_format(
        &w->fields, "    %s %s[%lld]; /* %s */\n", type, name, (long long)count, label);
}

void adzi_c99_add_start(adzi_c99_writer *w, const char *field, const char *from, int64_t count)
{
    adzi_text_format(&w->starts,
        "    for (int i = 0; i < %lld; ++i) {\n        state->%s[i] = ", (long long)count, field);
    adzi_text_format(&w->starts, from != NULL ? "%s[i];\n    }\n" : "0;\n    }\n", from);
}

void adzi_c99_add_array_field(adzi_c99_writer *w, const adzi_c99_memory *m, bool zero)
{
    const bool separate = adzi_c99_is_separate(&w->c, m);
    const int64_t count = m->count > 0 ? m->count : 1;
    const char *type = adzi_c99_type(m->dtype);
    char from[ADZI_C99_NAME + 16];
    if (separate && !m->changes) {
        adzi_text_format(&w->fields, "    const %s *%s; /* %s */\n", type, m->name, m->label);
        adzi_text_format(&w->starts, "    state->%s = 0;\n", m->name);
        return;
    }
    adzi_c99_add_field(w, type, m->name, count, m->label);
    snprintf(from, sizeof from, "initial_%s", m->name);
    adzi_c99_add_start(w, m->name, zero || separate ? NULL : from, count);
}

/* The rates and the counts of steps. */
static void add_counts(adzi_c99_writer *w)
{
    adzi_c99 *c = &w->c;
    const int64_t groups = c->n_updates > 0 ? (int64_t)adzi_c99_groups(c) : 0;
    if (groups > 0) {
        adzi_c99_add_field(
            w, adzi_c99_real_type(c), "learning_rate", groups, "of each group of parameters");
        adzi_c99_add_start(w, "learning_rate", "initial_learning_rate", groups);
    }
    for (size_t i = 0; i < c->n_stepped; ++i) {
        if (c->stepped[i].count == i && adzi_c99_has_count(c, i)) {
            adzi_text_format(&w->fields, "    int64_t steps_%zu;\n", i);
            adzi_text_format(
                &w->starts, "    state->steps_%zu = %lld;\n", i, (long long)c->stepped[i].steps);
        }
    }
}

/* ---- the texts ------------------------------------------------------------------------------- */

/* FNV-1a, by which a function knows a state of another version of the file. */
static uint64_t hash(uint64_t before, const adzi_text *text)
{
    const char *at = adzi_text_get(text);
    for (size_t i = 0; i < text->length; ++i) {
        before = (before ^ (unsigned char)at[i]) * 0x100000001b3u;
    }
    return before;
}

static uint64_t version_of(const adzi_c99_writer *w)
{
    const adzi_text *const texts[] = { &w->fields, &w->starts, &w->arrays, &w->states, &w->learnt };
    uint64_t version = 0xcbf29ce484222325u;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        version = hash(version, texts[i]);
    }
    for (size_t i = 0; i < w->c.n_functions; ++i) {
        version = hash(version, &w->functions[i].text);
    }
    return version;
}

void adzi_c99_make_state(adzi_c99_writer *w)
{
    add_counts(w);
    for (int arena = 0; arena < ADZI_C99_ARENAS; ++arena) {
        if (w->c.arena[arena] > 0) {
            adzi_text_format(&w->fields, "    %s %s[%lld]; /* buffers */\n",
                adzi_c99_arena_types[arena], adzi_c99_arenas[arena], (long long)w->c.arena[arena]);
        }
    }
    w->version = version_of(w);
}

void adzi_c99_declare_state(const adzi_c99_writer *w, adzi_text *to)
{
    const char *name = w->c.name, *upper = w->upper;
    adzi_text_format(to,
        "\n/* What the functions need between calls and for their buffers. Each instance has its "
        "own state, and each\n * thread that calls at the same time. The memory is aligned as that "
        "of malloc, and a copy of a state is one.\n"
        " * Programs use no field but learning_rate, if there is one. */\n"
        "typedef struct %s_state {\n    uint64_t version; /* of the file */\n"
        "    int busy;         /* a call uses it */\n",
        name);
    adzi_text_add_n(to, adzi_text_get(&w->fields), w->fields.length);
    adzi_text_format(to,
        "} %s_state;\n\n/* The bytes of a state, and as a function for other languages. */\n"
        "#define %s_STATE_BYTES ((unsigned long)sizeof(%s_state))\n"
        "unsigned long %s_state_bytes(void);\n\n",
        name, upper, name, name);
    adzi_text_format(to,
        "/* Makes a state ready in memory of `bytes` bytes, with what the file was written with. "
        "Call it again to\n * begin again. Returns 0; -1: state is NULL; -2: there are fewer than "
        "%s_STATE_BYTES bytes. */\n"
        "int %s_init(%s_state *state, unsigned long bytes);\n\n",
        upper, name, name);
    adzi_text_format(to,
        "/* The other functions return 0; -1: state is NULL; -2: %s_init of this version of the "
        "file has not made it\n * ready; -3: another call uses it. Two calls with one state at the "
        "same time are an error of the program. -3\n * finds them if the file is compiled without "
        "NDEBUG or with %s_DEBUG; else results are wrong. After an\n * error nothing has changed. "
        "*/\n",
        name, upper);
}

void adzi_c99_define_checks(const adzi_c99_writer *w, adzi_text *to)
{
    const char *name = w->c.name, *upper = w->upper;
    adzi_text_format(to,
        "#if defined %s_DEBUG || !defined NDEBUG\n#define %s_FINDS_CALLS 1\n#else\n"
        "#define %s_FINDS_CALLS 0\n#endif\n\n",
        upper, upper, upper);
    adzi_text_format(to,
        "/* 0 if a call may use the state, which it has to give back. */\n"
        "static int %s_enter(%s_state *state)\n{\n    if (state == 0) {\n        return -1;\n    }\n"
        "    if (state->version != UINT64_C(%llu)) {\n        return -2;\n    }\n",
        name, name, (unsigned long long)w->version);
    adzi_text_format(to,
        "#if %s_FINDS_CALLS && defined __GNUC__\n"
        "    if (__atomic_exchange_n(&state->busy, 1, __ATOMIC_ACQUIRE) != 0) {\n"
        "        return -3;\n    }\n#elif %s_FINDS_CALLS\n    if (state->busy != 0) {\n"
        "        return -3;\n    }\n    state->busy = 1;\n#endif\n    return 0;\n}\n\n",
        upper, upper);
    adzi_text_format(to,
        "static void %s_leave(%s_state *state)\n{\n"
        "#if %s_FINDS_CALLS && defined __GNUC__\n"
        "    __atomic_store_n(&state->busy, 0, __ATOMIC_RELEASE);\n#else\n"
        "    state->busy = 0;\n#endif\n}\n\n",
        name, name, upper);
}

void adzi_c99_define_init(const adzi_c99_writer *w, adzi_text *to)
{
    const char *name = w->c.name;
    adzi_text_format(to,
        "unsigned long %s_state_bytes(void)\n{\n    return (unsigned long)sizeof(%s_state);\n}\n\n"
        "int %s_init(%s_state *state, unsigned long bytes)\n{\n    if (state == 0) {\n"
        "        return -1;\n    }\n    if (bytes < sizeof *state) {\n        return -2;\n    }\n",
        name, name, name, name);
    adzi_text_add_n(to, adzi_text_get(&w->starts), w->starts.length);
    adzi_text_format(to,
        "    state->busy = 0;\n    state->version = UINT64_C(%llu);\n    return 0;\n}\n\n",
        (unsigned long long)w->version);
}

void adzi_c99_define_call(const adzi_c99 *c, adzi_text *to, const char *signature, const char *call)
{
    adzi_text_format(to, "%s\n{\n", signature);
    adzi_c99_print_enter(c, to);
    adzi_text_format(to,
        "    const int result = %s;\n    %s_leave(state);\n    return result;\n}\n\n", call,
        c->name);
}

void adzi_c99_print_enter(const adzi_c99 *c, adzi_text *to)
{
    if (c->caller) {
        adzi_text_format(to,
            "    const int refused = %s_enter(state);\n    if (refused != 0) {\n"
            "        return refused;\n    }\n",
            c->name);
    }
}

void adzi_c99_print_leave(const adzi_c99 *c, adzi_text *to)
{
    if (c->caller) {
        adzi_text_format(to, "    %s_leave(state);\n    return 0;\n", c->name);
    }
}
