/* The C file and its header, made of the parts that the other files print. */
#include "export/write_c.h"
#include "base/recorder.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/sink.h"
#include "export/c99/file.h"
#include "export/c99/program.h"
#include "export/c99/step.h"
#include "plan/plan.h"

static const char op[] = "adz_plan_write_c";

void adz_c_options_init(adz_c_options *options, size_t size)
{
    adz_c_options all = ADZ_C_OPTIONS;
    adzi_options_fill(__func__, options, size, &all, sizeof all);
}

/* ---- functions --------------------------------------------------------------------------------
 */

/* Pointers to the buffers that a function uses, and what fills them when it starts. */
static void add_buffers(adzi_c99_writer *w, adzi_text *to)
{
    adzi_c99 *c = &w->c;
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind == ADZI_C99_BUFFER && m->first >= 0) {
            adzi_text_format(to, "    %s *const %s = %s + %lld; /* %s */\n",
                adzi_c99_type(m->dtype), m->name, adzi_c99_arenas[adzi_c99_arena(m->dtype)],
                (long long)m->offset, m->label);
        }
    }
}

/* True if a name stands in the function that was printed. Printing may have made an element whose
 * text was not needed. */
static bool is_mentioned(const adzi_c99 *c, const char *name)
{
    const size_t n = strlen(name);
    const char *text = adzi_text_get(&c->body);
    for (const char *at = text; (at = strstr(at, name)) != NULL; at += n) {
        const bool begins = at == text || (!isalnum((unsigned char)at[-1]) && at[-1] != '_');
        if (begins && !isalnum((unsigned char)at[n]) && at[n] != '_') {
            return true;
        }
    }
    return false;
}

static void add_unused(const adzi_c99_writer *w, adzi_text *to)
{
    for (size_t i = 0; i < w->c.n_inputs; ++i) {
        const adzi_c99_memory *m = &w->c.memories[w->c.values[i].memory];
        if (m->first < 0 || !is_mentioned(&w->c, m->name)) {
            adzi_text_format(to, "    (void)%s;\n", m->name);
        }
    }
}

static void begin(adzi_c99 *c)
{
    c->body.length = 0;
    c->depth = 1;
    c->step = 0;
    c->variables = 0;
    for (size_t i = 0; i < c->n_memories; ++i) {
        c->memories[i].first = c->memories[i].last = -1;
    }
    for (size_t i = 0; i < c->n_memories; ++i) { /* buffers that begin as constants */
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind == ADZI_C99_BUFFER && m->start >= 0) {
            adzi_c99_value to = { .memory = (int)i,
                .rank = 1,
                .sizes = { m->count },
                .strides = { 1 },
                .numel = m->count,
                .dtype = m->dtype };
            adzi_c99_value from = to;
            from.memory = m->start;
            adzi_c99_map(c, &to, "= $a", &from);
        }
    }
}

/* Ends a function: places its buffers and puts declarations and body together. */
static void finish(adzi_c99_writer *w, adzi_text *to, const char *declaration)
{
    adzi_c99_place(&w->c);
    adzi_text_add(to, "\n{\n");
    add_buffers(w, to);
    adzi_text_add(to, declaration);
    add_unused(w, to);
    adzi_text_add_n(to, adzi_text_get(&w->c.body), w->c.body.length);
    adzi_text_add(to, "}\n");
}

/* True if the result can be computed in the caller's array: it has a memory of its own, whose
 * elements lie as in the array. */
static bool fits_y(const adzi_c99 *c, const adzi_c99_value *y)
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

/* Exchanges the names and kinds of a buffer and of the caller's array y. The buffer then lies in
 * the array, and the function computes the result there. */
static void exchange(adzi_c99 *c, int buffer, int array)
{
    adzi_c99_memory *a = &c->memories[buffer], *b = &c->memories[array];
    const adzi_c99_memory old = *a;
    memcpy(a->name, b->name, sizeof a->name);
    memcpy(b->name, old.name, sizeof b->name);
    a->kind = b->kind;
    b->kind = old.kind;
}

/* Prints the copy of a result that was not computed in the caller's array. */
static void copy_result(adzi_c99 *c, const adzi_c99_value *y, int array)
{
    adzi_c99_value to = *y;
    int64_t stride = 1;
    ++c->step;
    to.memory = array;
    to.offset = 0;
    for (int d = y->rank - 1; d >= 0; --d) {
        to.strides[d] = stride;
        stride *= y->sizes[d];
    }
    adzi_c99_line(c, "%s", "");
    adzi_c99_map(c, &to, "= $a", y);
}

/* Prints the function while the buffers in `direct` lie in the caller's arrays. */
static void print_calls(adzi_c99_writer *w, const int *direct)
{
    adzi_c99 *c = &w->c;
    adzi_text empty = { 0 };
    begin(c);
    for (size_t i = 0; i < c->n_calls && !c->failed; ++i) {
        adzi_c99_forward(c, &c->calls[i]);
    }
    for (size_t k = 0; k < c->n_outputs && !c->failed; ++k) {
        const adzi_c99_value y = c->values[c->outputs[k]];
        if (direct[k] < 0) {
            copy_result(c, &y, w->results[k]);
        }
        if (y.numel == 0) {
            adzi_text_format(&empty, "    (void)%s;\n",
                c->memories[direct[k] < 0 ? w->results[k] : direct[k]].name);
        }
    }
    if (empty.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the C file");
    }
    finish(w, &w->run, adzi_text_get(&empty));
    adzi_text_free(&empty);
}

static void print_run(adzi_c99_writer *w)
{
    adzi_c99 *c = &w->c;
    int *direct = adzi_alloc(c->n_outputs * sizeof *direct);
    if (direct == NULL) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the results");
        return;
    }
    adzi_c99_signature(w, &w->run, "void", "run", NULL);
    for (size_t k = 0; k < c->n_outputs; ++k) {
        const adzi_c99_value *y = &c->values[c->outputs[k]];
        direct[k] = fits_y(c, y) ? y->memory : -1;
        if (direct[k] >= 0) {
            exchange(c, direct[k], w->results[k]);
        }
    }
    print_calls(w, direct);
    for (size_t k = 0; k < c->n_outputs; ++k) {
        if (direct[k] >= 0) {
            exchange(c, direct[k], w->results[k]);
        }
    }
    adzi_free(direct, c->n_outputs * sizeof *direct);
}

static void print_step(adzi_c99_writer *w)
{
    begin(&w->c);
    w->c.in_step = true;
    adzi_c99_print_step(&w->c, w->options->optimizer, w->options->loss);
    if (!w->c.failed) {
        adzi_c99_signature(w, &w->step, "float", "step", adzi_c99_step_target(w));
        finish(w, &w->step, "    float loss = 0;\n");
    }
}

/* ---- writing -----------------------------------------------------------------------------------
 */

/* The contents of the file of weights. */
static void collect_weights(const adzi_c99_writer *w, adzi_text *bytes)
{
    for (size_t i = 0; i < w->c.n_memories; ++i) {
        const adzi_c99_memory *m = &w->c.memories[i];
        if (adzi_c99_has_array(m) && adzi_c99_is_separate(w, m)) {
            adzi_text_add_n(bytes, m->data, (size_t)m->count * sizeof(float));
        }
    }
}

/* Writes all files beside their targets, and then replaces the targets: an error in one file leaves
 * all of them as they were. */
static adz_status write_all(const char *const *paths, const adzi_text *const *texts, size_t n)
{
    adz_status status = ADZ_OK;
    size_t open = 0;
    adzi_sink *sinks = adzi_alloc(n * sizeof *sinks);
    if (sinks == NULL) {
        adzi_fail_memory(op, n * sizeof *sinks);
        return ADZ_ERR_MEMORY;
    }
    for (; open < n && status == ADZ_OK; ++open) {
        status = adzi_sink_open(&sinks[open], op, paths[open]);
        if (status != ADZ_OK) {
            break;
        }
        status = adzi_sink_write(&sinks[open], adzi_text_get(texts[open]), texts[open]->length);
    }
    for (size_t i = 0; i < open; ++i) {
        status = adzi_sink_end(&sinks[i], status);
    }
    adzi_free(sinks, n * sizeof *sinks);
    return status;
}

/* ---- names of the files -----------------------------------------------------------------------
 */

/* The last part of a path. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The header's path and its name in the #include; the prefix of all identifiers. */
static bool name_files(adzi_c99_writer *w, const char *path, adzi_text *header)
{
    const size_t length = strlen(path);
    const char *base = base_of(path);
    if (length < 3 || strcmp(path + length - 2, ".c") != 0 || base[0] == '.') {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "the path '%s' does not end with the name of a .c file", path);
        return false;
    }
    for (const char *at = base; *at != '\0'; ++at) {
        if ((unsigned char)*at < ' ' || strchr("\"\\?<>", *at) != NULL) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the name of the file has a character that cannot stand in an #include: use "
                "letters, digits, '-' and '_'");
            return false;
        }
    }
    adzi_text_add_n(header, path, length - 1);
    adzi_text_add(header, "h");
    char *name = w->upper;
    adzi_text stem = { 0 };
    adzi_text_add_n(&stem, base, strlen(base) - 2);
    const char *prefix = w->options->name != NULL ? w->options->name : adzi_text_get(&stem);
    const bool fits = strlen(prefix) < sizeof w->name;
    adzi_c99_identifier(w->name, sizeof w->name, "", fits ? prefix : "");
    header->failed = header->failed || stem.failed;
    adzi_text_free(&stem);
    if (!fits) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the name of the file, or options.name, has more than %d characters; set options.name "
            "to a shorter prefix for the names in C",
            ADZI_C99_NAME - 1);
        return false;
    }
    size_t i = 0;
    for (; w->name[i] != '\0'; ++i) {
        const bool lower = w->name[i] >= 'a' && w->name[i] <= 'z';
        name[i] = lower ? (char)(w->name[i] - 'a' + 'A') : w->name[i];
    }
    name[i] = '\0';
    w->c.name = w->name;
    if (header->failed) {
        adzi_fail_memory(op, length);
    }
    return !header->failed;
}

static void free_writer(adzi_c99_writer *w)
{
    adzi_text *const texts[] = { &w->run, &w->step, &w->arrays, &w->file, &w->header };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        adzi_text_free(texts[i]);
    }
    adzi_free(w->results, w->c.n_outputs * sizeof *w->results);
    adzi_c99_free(&w->c);
    adzi_free(w, sizeof *w);
}

/* Makes the whole text of both files. */
static bool make(adzi_c99_writer *w, const adzi_trace *trace, const char *header)
{
    adz_optimizer *optimizer = w->options->optimizer;
    w->c.training = optimizer != NULL;
    w->c.batch_statistics = w->options->batch_statistics;
    if (!adzi_c99_program(&w->c, trace)) {
        return false;
    }
    adzi_c99_name_results(w, trace->output_names);
    if (!w->c.failed && optimizer != NULL) {
        adzi_c99_mark_parameters(&w->c, optimizer);
    }
    if (!w->c.failed) {
        print_run(w);
    }
    if (!w->c.failed && optimizer != NULL) {
        print_step(w);
    }
    if (!w->c.failed) {
        adzi_c99_make_file(w, header);
        adzi_c99_make_header(w);
    }
    if (!w->c.failed && w->header.failed) {
        adzi_c99_fail(&w->c, ADZ_ERR_MEMORY, "no memory for the text of the header");
    }
    return !w->c.failed;
}

static adz_status write_files(const adzi_c99_writer *w, const char *path, const char *header)
{
    adzi_text weights = { 0 };
    const char *const paths[] = { header, path, w->options->weights };
    const adzi_text *const texts[] = { &w->header, &w->file, &weights };
    const bool separate = w->options->weights != NULL;
    if (separate) {
        collect_weights(w, &weights);
    }
    const adz_status status = weights.failed
                                  ? adzi_error(op, ADZ_ERR_MEMORY, "no memory for the weights")
                                  : write_all(paths, texts, separate ? 3 : 2);
    adzi_text_free(&weights);
    return status;
}

adz_status adzi_write_c(const adzi_export *what, const char *path, const adz_c_options *options)
{
    adz_c_options o = ADZ_C_OPTIONS;
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    if (!adzi_options_read(op, "ADZ_C_OPTIONS", &o, sizeof o, options)) {
        return adz_error_code();
    }
    adzi_c99_writer *w = adzi_alloc_zero(sizeof *w);
    if (w == NULL) {
        adzi_fail_memory(op, sizeof *w);
        return ADZ_ERR_MEMORY;
    }
    adzi_text header = { 0 };
    adzi_trace *trace = NULL;
    adz_scope *scope = adz_scope_open();
    w->options = &o;
    w->c.libm = o.libm;
    bool good = scope != NULL && name_files(w, path, &header) &&
                (o.optimizer == NULL || adzi_c99_check_optimizer(&w->c, o.optimizer));
    trace = good ? adzi_trace_new(op, what, o.optimizer != NULL ? adzi_c99_trains : adzi_c99_prints)
                 : NULL;
    good = trace != NULL && make(w, trace, base_of(adzi_text_get(&header)));
    if (good) {
        good = write_files(w, path, adzi_text_get(&header)) == ADZ_OK;
    }
    adzi_trace_free(&trace);
    adzi_text_free(&header);
    free_writer(w);
    adz_scope_close(scope);
    return good ? ADZ_OK : adz_error_code();
}

adz_status adz_plan_write_c(adz_plan *plan, const char *path, const adz_c_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    if (plan == NULL) {
        return adzi_error_null(op, "plan");
    }
    const adzi_export what = adzi_export_of(plan);
    return adzi_write_c(&what, path, options);
}
