/* Names of a load: reports, other names for tensors, and advice on prefixes. */
#include "nn/load.h"

#include <string.h>

#include "base/alloc.h"
#include "base/door.h"
#include "base/error.h"
#include "base/handle.h"
#include "adze/options.h"
#include "nn/state.h"

ADZ_OPTIONS_INIT(adz_load_options_init, adz_load_options, ADZ_LOAD_OPTIONS)

/* ---- reports -------------------------------------------------------------------------------- */

enum { KINDS = 3 };

typedef struct names {
    char **items;
    size_t count, capacity;
} names;

struct adz_load_report {
    adzi_handle handle;
    names lists[KINDS]; /* by adz_load_kind */
};

adz_load_report *adz_load_report_new(void)
{
    adz_load_report *report = adzi_handle_new(sizeof *report);
    return report != NULL ? report : adzi_fail_memory("adz_load_report_new", sizeof *report);
}

void adzi_load_report_clear(adz_load_report *report)
{
    for (int kind = 0; report != NULL && kind < KINDS; ++kind) {
        names *list = &report->lists[kind];
        for (size_t i = 0; i < list->count; ++i) {
            adzi_string_free(list->items[i]);
        }
        list->count = 0;
    }
}

void adz_load_report_free(adz_load_report **report)
{
    adz_load_report *gone = adzi_handle_take("adz_load_report_free", "report", report);
    if (gone == NULL) {
        return;
    }
    adzi_load_report_clear(gone);
    for (int kind = 0; kind < KINDS; ++kind) {
        names *list = &gone->lists[kind];
        adzi_free(list->items, list->capacity * sizeof *list->items);
    }
    adzi_handle_end(gone, sizeof *gone);
}

bool adzi_load_report_add(
    const char *op, adz_load_report *report, adz_load_kind kind, const char *name)
{
    if (report == NULL) {
        return true;
    }
    names *list = &report->lists[kind];
    char *copy = adzi_string_copy(name);
    if (copy == NULL ||
        !adzi_grow(&list->items, &list->capacity, list->count + 1, sizeof *list->items)) {
        adzi_string_free(copy);
        adzi_fail_memory(op, strlen(name) + 1);
        return false;
    }
    list->items[list->count++] = copy;
    return true;
}

/* The list of a kind; NULL with the error recorded under `op`. */
static const names *list_of(const char *op, const adz_load_report *report, adz_load_kind kind)
{
    if (!adzi_check_handle(op, "report", report)) {
        return NULL;
    }
    if ((int)kind < 0 || (int)kind >= KINDS) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "%d is no adz_load_kind", (int)kind);
    }
    return &report->lists[kind];
}

size_t adz_load_report_count(const adz_load_report *report, adz_load_kind kind)
{
    const names *list = list_of("adz_load_report_count", report, kind);
    return list != NULL ? list->count : 0;
}

const char *adz_load_report_name_at(const adz_load_report *report, adz_load_kind kind, size_t index)
{
    static const char op[] = "adz_load_report_name_at";
    const names *list = list_of(op, report, kind);
    if (list != NULL && index >= list->count) {
        return adzi_fail(op, ADZ_ERR_INDEX, "there is no name %zu, only %zu", index, list->count);
    }
    return list != NULL ? list->items[index] : NULL;
}

/* ---- other names ---------------------------------------------------------------------------- */

enum { ROOM = 256 }; /* bytes by which a callback may make a name longer */

typedef struct renaming {
    const adz_load_options *options;
    const char *name;
    char *renamed;
    size_t size;
} renaming;

static bool run_rename(void *state)
{
    const renaming *r = state;
    return r->options->rename(r->name, r->renamed, r->size, r->options->user);
}

/* Lets the callback change the name. */
static adzi_renamed ask(
    const char *op, const adz_load_options *options, const char *name, adzi_text *to)
{
    const size_t length = strlen(name), size = length + 1 + ROOM;
    char *renamed = adzi_alloc(size);
    if (renamed == NULL) {
        adzi_fail_memory(op, size);
        return ADZI_RENAME_FAILED;
    }
    memcpy(renamed, name, length + 1);
    const adzi_door door = { .op = op, .reports_errors = true };
    const bool keep =
        adzi_through_door(&door, run_rename, &(renaming){ options, name, renamed, size });
    renamed[size - 1] = '\0';
    adzi_text_add(to, renamed);
    adzi_free(renamed, size);
    return adzi_pending() != ADZ_OK ? ADZI_RENAME_FAILED
           : keep                   ? ADZI_RENAME_KEEP
                                    : ADZI_RENAME_SKIP;
}

adzi_renamed adzi_load_rename(
    const char *op, const adz_load_options *options, const char *name, adzi_text *to)
{
    const char *prefix = options->prefix != NULL ? options->prefix : "";
    adzi_renamed result = ADZI_RENAME_KEEP;
    adzi_text_cut(to, 0);
    if (strncmp(name, prefix, strlen(prefix)) != 0) {
        return ADZI_RENAME_SKIP;
    }
    name += strlen(prefix);
    if (options->rename != NULL) {
        result = ask(op, options, name, to);
    } else {
        adzi_text_add(to, name);
    }
    if (to->failed) {
        adzi_fail_memory(op, strlen(name) + 1);
        return ADZI_RENAME_FAILED;
    }
    return result;
}

/* ---- advice --------------------------------------------------------------------------------- */

/* True if `name` ends in a dot and `part`. The length of what stands before `part`, dot included,
 * goes to `head`. */
static bool ends_in(const char *name, const char *part, size_t *head)
{
    const size_t n = strlen(name), m = strlen(part);
    *head = n > m ? n - m : 0;
    return *head > 0 && name[*head - 1] == '.' && strcmp(name + *head, part) == 0;
}

/* How many names of `longer` are `prefix` (`head` characters) and a name of `shorter`. */
static size_t count_fits(
    const adz_state_dict *longer, const adz_state_dict *shorter, const char *prefix, size_t head)
{
    size_t fits = 0;
    for (size_t i = 0; i < adz_state_dict_count(longer); ++i) {
        const char *name = adz_state_dict_name_at(longer, i);
        if (strncmp(name, prefix, head) == 0) {
            fits += adzi_state_find(shorter, name + head) < adz_state_dict_count(shorter);
        }
    }
    return fits;
}

/* The prefix by which most names of `longer` are names of `shorter`, as the first characters of the
 * name that is returned; NULL if none fits more than `best` names. Candidates come from the first
 * names of `shorter` alone: a prefix that fits many names fits one of these. */
static const char *find_prefix(
    const adz_state_dict *longer, const adz_state_dict *shorter, size_t *best, size_t *head)
{
    enum { FIRST = 4 };
    const char *found = NULL;
    for (size_t k = 0; k < FIRST && k < adz_state_dict_count(shorter); ++k) {
        const char *part = adz_state_dict_name_at(shorter, k);
        for (size_t i = 0, n; i < adz_state_dict_count(longer); ++i) {
            const char *name = adz_state_dict_name_at(longer, i);
            if (!ends_in(name, part, &n) ||
                (found != NULL && n == *head && strncmp(found, name, n) == 0)) {
                continue;
            }
            const size_t fits = count_fits(longer, shorter, name, n);
            if (fits > *best) {
                *best = fits;
                *head = n;
                found = name;
            }
        }
    }
    return found;
}

void adzi_load_hint(
    adzi_text *text, const adz_state_dict *given, const adz_state_dict *wanted, size_t n_fit)
{
    size_t best = n_fit, head = 0;
    const char *name = find_prefix(given, wanted, &best, &head);
    if (name != NULL) {
        adzi_text_format(text,
            "%zu of %zu names fit with the prefix \"%.*s\" of adz_load_options. ", best,
            adz_state_dict_count(wanted), (int)head, name);
        return;
    }
    name = find_prefix(wanted, given, &best, &head);
    if (name != NULL) {
        adzi_text_format(text,
            "%zu of %zu names fit the module's child: load into adz_module_get_child(module, \"%.*s\"). ",
            best, adz_state_dict_count(given), (int)head - 1, name);
    }
}

/* ---- older names ---------------------------------------------------------------------------- */

bool adzi_load_older_name(const char *name, adzi_text *older)
{
    static const char dict[] = "parametrizations.";
    static const char *const endings[][2] = { { ".original0", "_g" }, { ".original1", "_v" },
        { ".original", "_orig" }, { ".0._u", "_u" }, { ".0._v", "_v" } };
    const char *found = NULL;
    for (const char *at = name; (at = strstr(at, dict)) != NULL; at += sizeof dict - 1) {
        found = at == name || at[-1] == '.' ? at : found;
    }
    const char *parameter = found != NULL ? found + sizeof dict - 1 : NULL;
    const char *end = parameter != NULL ? strchr(parameter, '.') : NULL;
    for (size_t i = 0; end != NULL && i < sizeof endings / sizeof *endings; ++i) {
        if (strcmp(end, endings[i][0]) == 0) {
            adzi_text_cut(older, 0);
            adzi_text_add_n(older, name, (size_t)(found - name));
            adzi_text_add_n(older, parameter, (size_t)(end - parameter));
            adzi_text_add(older, endings[i][1]);
            return !older->failed;
        }
    }
    return false;
}
