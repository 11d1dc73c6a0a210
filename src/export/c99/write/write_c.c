/* The C file and its header, made of the parts that the other files print. */
#include "export/c99/write/write_c.h"
#include "base/capture.h"

#include <stdio.h>
#include <string.h>

#include "adze/options.h"
#include "base/sink.h"
#include "export/c99/file.h"
#include "export/c99/program.h"
#include "export/c99/weights/weights.h"
#include "plan/plan.h"

static const char *const states[] = { "static", "caller", NULL };

static const adz_field fields[] = {
    ADZ_FIELD_AS(adz_c_options, state, "options.state", ADZ_FIELD_ENUM, .values = states),
    ADZ_FIELD_AS(adz_c_options, precision, "options.precision", ADZ_FIELD_ENUM, .value = ADZ_F32,
        ADZ_CLOSED(ADZ_F32, ADZ_F64), .hint = "take ADZ_F32 or ADZ_F64"),
};

ADZ_OPTIONS_TABLE(adz_c_options, ADZ_C_OPTIONS, fields)

/* ---- writing --------------------------------------------------------------------------------- */

/* Adds the elements of a memory in the file's type of floats. */
static void add_weights(const adzi_c99_writer *w, const adzi_c99_memory *m, adzi_text *bytes)
{
    for (int64_t i = 0; i < m->count; ++i) {
        const double x = adzi_c99_contents(m, i);
        const float narrow = (float)x;
        adzi_text_add_n(bytes, w->c.wide ? (const char *)&x : (const char *)&narrow,
            w->c.wide ? sizeof x : sizeof narrow);
    }
}

/* The contents of the file of weights. */
static void collect_weights(const adzi_c99_writer *w, adzi_text *bytes)
{
    for (size_t i = 0; i < w->c.n_memories; ++i) {
        const adzi_c99_memory *m = &w->c.memories[i];
        if (adzi_c99_has_array(m) && adzi_c99_is_separate(&w->c, m)) {
            add_weights(w, m, bytes);
        }
    }
}

/* Writes all files next to their targets, and then replaces the targets: an error in one file
 * leaves all of them as they were. */
static adz_status write_all(
    const char *op, const char *const *paths, const adzi_text *const *texts, size_t n)
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

/* ---- names of the files ---------------------------------------------------------------------- */

/* The last part of a path. */
static const char *base_of(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash != NULL ? slash + 1 : path;
}

/* The header's path and its name in the #include; the prefix of all identifiers. */
static bool name_files(adzi_c99_writer *w, const char *path, adzi_text *header)
{
    const char *op = w->c.op;
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
                "the name of the file has a character that cannot stand in an #include: use letters, digits, '-' and '_'");
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
            "the name of the file, or options.name, has more than %d characters; set options.name to a shorter prefix for the names in C",
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
    adzi_text *const texts[] = { &w->arrays, &w->states, &w->file, &w->header, &w->learnt,
        &w->learnt_header, &w->fields, &w->starts };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        adzi_text_free(texts[i]);
    }
    for (size_t i = 0; w->functions != NULL && i < w->c.n_functions; ++i) {
        adzi_text_free(&w->functions[i].text);
        adzi_text_free(&w->functions[i].declaration);
        adzi_trace_free(&w->functions[i].trace);
    }
    if (w->functions != NULL) {
        adzi_free(w->functions, w->c.n_functions * sizeof *w->functions);
    }
    adzi_c99_free(&w->c);
    adzi_free(w, sizeof *w);
}

/* ---- the texts ------------------------------------------------------------------------------- */

static bool trace_functions(adzi_c99_writer *w, const adzi_export *what)
{
    const size_t bytes = w->c.n_functions * sizeof *w->functions;
    w->functions = adzi_alloc_zero(bytes);
    if (w->functions == NULL) {
        adzi_fail_memory(w->c.op, bytes);
        return false;
    }
    bool good = true;
    for (size_t i = 0; i < w->c.n_functions && good; ++i) {
        adzi_export step = what[i];
        step.step = step.texts = true;
        w->functions[i].name = step.name != NULL ? step.name : "run";
        w->functions[i].trace = adzi_trace_new(w->c.op, &step, adzi_c99_prints);
        good = w->functions[i].trace != NULL &&
               (w->options->allow_nonfinite || adzi_trace_is_finite(w->functions[i].trace));
    }
    return good;
}

/* Makes the whole text of both files. What some function changes is known before any is printed. */
static bool make(adzi_c99_writer *w, const char *header, adz_module *module)
{
    adzi_c99 *c = &w->c;
    const size_t n = c->n_functions;
    bool good = true;
    for (size_t i = 0; i < n && good; ++i) {
        c->function = (int)i;
        good = adzi_c99_add_variables(c, w->functions[i].trace) &&
               adzi_c99_add_steps(c, w->functions[i].trace);
    }
    for (size_t i = 0; i < n && good; ++i) {
        good = adzi_c99_mark_changes(c, w->functions[i].trace);
    }
    good = good && adzi_c99_check_overlaps(c);
    adzi_c99_count_together(c);
    for (size_t i = 0; i < n && good; ++i) {
        c->function = (int)i;
        adzi_c99_print_function(c, &w->functions[i]);
        good = !c->failed;
    }
    good = good && adzi_c99_print_weights(w, module);
    if (good) {
        adzi_c99_make_file(w, header);
        adzi_c99_make_header(w);
    }
    if (!c->failed && w->header.failed) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the text of the header");
    }
    return good && !c->failed;
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
                                  ? adzi_error(w->c.op, ADZ_ERR_MEMORY, "no memory for the weights")
                                  : write_all(w->c.op, paths, texts, separate ? 3 : 2);
    adzi_text_free(&weights);
    return status;
}

adz_status adzi_write_c(const char *op, const char *path, const adzi_export *what, size_t n,
    const adz_c_options *options)
{
    adz_c_options o;
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    if (path == NULL) {
        return adzi_error_null(op, "path");
    }
    if (!adz_options_take(op, &adz_c_options_table, &o, options)) {
        return adz_error_code();
    }
    adzi_c99_writer *w = adzi_alloc_zero(sizeof *w);
    if (w == NULL) {
        adzi_fail_memory(op, sizeof *w);
        return ADZ_ERR_MEMORY;
    }
    adzi_text header = { 0 };
    adz_scope *scope = adz_scope_open();
    w->options = &o;
    w->c.op = op;
    w->c.libm = o.libm;
    w->c.separate = o.weights != NULL;
    w->c.wide = o.precision == ADZ_F64;
    w->c.caller = o.state == ADZ_C_STATE_CALLER;
    w->c.batches = o.batches;
    w->c.n_functions = n;
    bool good = scope != NULL && name_files(w, path, &header) && trace_functions(w, what) &&
                make(w, base_of(adzi_text_get(&header)), what[0].module);
    if (good) {
        good = write_files(w, path, adzi_text_get(&header)) == ADZ_OK;
    }
    adzi_text_free(&header);
    free_writer(w);
    adz_scope_close(scope);
    return good ? ADZ_OK : adz_error_code();
}

/* ---- plans ----------------------------------------------------------------------------------- */

static bool is_identifier(const char *name)
{
    char made[ADZI_C99_NAME];
    adzi_c99_identifier(made, sizeof made, "", name);
    return name[0] != '\0' && strcmp(made, name) == 0;
}

/* True if NAME_<name> is something else in a file. Some names are used by files whose caller holds
 * the state. */
static bool is_taken(const char *name, bool caller)
{
    static const char *const taken[] = { "load", "learning_rate", "init", "enter", "leave", "state",
        "state_bytes" };
    bool found = adzi_c99_is_function(name) || strncmp(name, "weights_", 8) == 0;
    for (size_t i = 0; i < (caller ? sizeof taken / sizeof *taken : 2) && !found; ++i) {
        found = strcmp(name, taken[i]) == 0;
    }
    return found;
}

/* Whether one name is another one followed by the ending of its function for batches. */
static bool is_for_batches(const char *name, const char *of)
{
    const size_t length = strlen(of);
    return strncmp(name, of, length) == 0 && strcmp(name + length, "_batches") == 0;
}

/* The names are parts of identifiers, and NAME_<name> must not be something else in the file. */
static adz_status check_names(
    const char *op, const char *const *names, size_t n, const adz_c_options *o)
{
    const bool caller = o->state == ADZ_C_STATE_CALLER;
    for (size_t i = 0; i < n; ++i) {
        if (names[i] == NULL) {
            return adzi_error_null(op, "a name");
        }
        if (!is_identifier(names[i])) {
            return adzi_error(op, ADZ_ERR_ARGUMENT,
                "the name \"%.100s\" of plan %zu is no identifier of C; use letters, digits and _",
                names[i], i);
        }
        if (is_taken(names[i], caller)) {
            return adzi_error(op, ADZ_ERR_ARGUMENT,
                "the name %s of plan %zu is that of something else in a C file; take another one",
                names[i], i);
        }
        for (size_t k = 0; k < i; ++k) {
            if (strcmp(names[i], names[k]) == 0) {
                return adzi_error(op, ADZ_ERR_ARGUMENT,
                    "the plans %zu and %zu are both called %s; give each its own name", k, i,
                    names[i]);
            }
            if (o->batches &&
                (is_for_batches(names[i], names[k]) || is_for_batches(names[k], names[i]))) {
                return adzi_error(op, ADZ_ERR_ARGUMENT,
                    "with the option batches, the names %s and %s of the plans %zu and %zu give two functions of one name; take another one",
                    names[k], names[i], k, i);
            }
        }
    }
    return ADZ_OK;
}

static adz_status check_plans(const char *op, adz_plan *const *plans, size_t n)
{
    if (n == 0) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "there are no plans; a file needs at least one");
    }
    for (size_t i = 0; i < n; ++i) {
        if (plans[i] == NULL) {
            return adzi_error_null(op, "a plan");
        }
        if (plans[i]->module != plans[0]->module) {
            return adzi_error(op, ADZ_ERR_ARGUMENT,
                "the plans 0 and %zu have different modules; a file holds one module, so set the same one in the options of all plans",
                i);
        }
    }
    return ADZ_OK;
}

/* The plans of a file, and the names of their functions in C. */
typedef struct {
    adz_plan *const *plans;
    const char *const *names;
    size_t n;
} named_plans;

static adz_status write_plans(
    const char *op, const char *path, named_plans all, const adz_c_options *options)
{
    const size_t n = all.n;
    adzi_export *what = adzi_alloc(n * sizeof *what);
    if (what == NULL) {
        adzi_fail_memory(op, n * sizeof *what);
        return ADZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; ++i) {
        what[i] = adzi_export_of(all.plans[i]);
        what[i].name = all.names[i];
    }
    const adz_status status = adzi_write_c(op, path, what, n, options);
    adzi_free(what, n * sizeof *what);
    return status;
}

adz_status adz_plan_write_c_many(adz_plan *const *plans, const char *const *names, size_t n,
    const char *path, const adz_c_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_plan_write_c_many";
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    if (n > 0 && (plans == NULL || names == NULL)) {
        return adzi_error_null(op, plans == NULL ? "plans" : "names");
    }
    adz_c_options o;
    adz_status status = adz_options_take(op, &adz_c_options_table, &o, options)
                            ? check_plans(op, plans, n)
                            : adz_error_code();
    status = status == ADZ_OK ? check_names(op, names, n, &o) : status;
    return status == ADZ_OK ? write_plans(op, path, (named_plans){ plans, names, n }, options)
                            : status;
}

adz_status adz_plan_write_c(adz_plan *plan, const char *path, const adz_c_options *options)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_plan_write_c", *const names[] = { "run" };
    return plan != NULL ? write_plans(op, path, (named_plans){ &plan, names, 1 }, options)
                        : adzi_error_null(op, "plan");
}
