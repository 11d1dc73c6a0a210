/* What the file of weights holds: the tensors of a checkpoint, and where a C file has each of them.
 */
#include "export/c99/weights/weights.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error.h"
#include "export/c99/program.h"
#include "io/checkpoint.h"

/* ---- where the elements are ------------------------------------------------------------------ */

/* The array of a parameter or buffer (leaf: NULL), or of a state; -1: no function uses it. */
static int array_of(const adzi_c99 *c, const adz_tensor *t, const adz_tensor *leaf,
    const adz_optimizer *optimizer, int which)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        const bool same = leaf != NULL ? m->leaf == leaf && m->optimizer == optimizer &&
                                             m->which == which && optimizer != NULL
                                       : m->leaf == NULL && m->tensor == t;
        if (same && m->kind == ADZI_C99_VARIABLE && adzi_c99_has_array(m)) {
            return (int)i;
        }
    }
    return -1;
}

/* The file of a tensor that no function uses, or whose integers no function changes. Integers count
 * something, such as batches, and a file may have another number. */
static adzi_weights_home home_without_array(const adz_tensor *t)
{
    const bool whole = t->dtype == ADZ_I64 || t->dtype == ADZ_I32;
    return whole ? ADZI_WEIGHTS_KEPT : ADZI_WEIGHTS_CONSTANT;
}

static adzi_weights_source source_of(const adzi_weights *f, const adz_tensor *t,
    const adz_tensor *leaf, const adz_optimizer *optimizer, int which)
{
    const adzi_c99 *c = &f->w->c;
    const int memory = array_of(c, t, leaf, optimizer, which);
    adzi_weights_source s = { .memory = memory, .t = t };
    const bool wide = t->dtype == ADZ_I64; /* int32_t in C */
    const bool array = memory >= 0 && (!wide || c->memories[memory].changes);
    s.home = array ? ADZI_WEIGHTS_ARRAY : home_without_array(t);
    return s;
}

/* Appends the source of the tensor that was added last. */
static bool add_source(adzi_weights *f, adzi_weights_source s)
{
    const size_t n = f->file->n_tensors;
    if (!adzi_grow(&f->sources, &f->capacity, n, sizeof *f->sources)) {
        adzi_fail_memory(f->w->c.op, n * sizeof *f->sources);
        return false;
    }
    s.t = f->file->tensors[n - 1].tensor;
    f->sources[n - 1] = s;
    return true;
}

/* ---- the tensors of the file ----------------------------------------------------------------- */

static bool add_model(adzi_weights *f)
{
    adz_checkpoint run = ADZ_CHECKPOINT;
    run.model = f->module;
    if (adzi_checkpoint_collect(f->w->c.op, &run, f->file) != ADZ_OK) {
        return false;
    }
    const size_t n = f->file->n_tensors;
    if (!adzi_grow(&f->sources, &f->capacity, n, sizeof *f->sources)) {
        adzi_fail_memory(f->w->c.op, n * sizeof *f->sources);
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        f->sources[i] = source_of(f, f->file->tensors[i].tensor, NULL, NULL, 0);
    }
    return true;
}

/* The source of a tensor "state.<index>.<state>" or "state.<index>.step" of a parameter whose steps
 * the file counts in steps_<count>; count: ADZI_NOWHERE if it does not count them. */
static adzi_weights_source state_source(const adzi_weights *f,
    const adzi_parameter_position *position, size_t count, const char *name, const adz_tensor *t)
{
    const adz_optimizer *o = position->optimizer;
    const adzi_group *group = o->groups[position->group];
    const char *last = strrchr(name, '.') + 1;
    int which = 0;
    while (which < o->n_states && strcmp(last, o->type->states[which].name) != 0) {
        ++which;
    }
    const bool counted = !o->type->uncounted && count != ADZI_NOWHERE;
    adzi_weights_source s = which == o->n_states
                                ? (adzi_weights_source){ .home = ADZI_WEIGHTS_STEPS, .t = t }
                                : source_of(f, t, group->parameters[position->i], o, which);
    if (which < o->n_states) {
        s.initial = adzi_state_initial(o, group, which);
    }
    if (count != ADZI_NOWHERE) {
        const bool fresh = which < o->n_states && (f->w->c.stepped[count].fresh >> which & 1u) != 0;
        s.count = count;
        s.absence = counted                                 ? ADZI_WEIGHTS_COUNTED
                    : fresh && s.home == ADZI_WEIGHTS_ARRAY ? ADZI_WEIGHTS_FRESH
                                                            : ADZI_WEIGHTS_REQUIRED;
    } else if (which == o->n_states) {
        s.home = ADZI_WEIGHTS_KEPT;
    }
    return s;
}

/* Adds the states of a parameter, which is number `index` of its optimizer. */
static bool add_states(adzi_weights *f, const adzi_parameter_position *position, size_t index)
{
    const adz_optimizer *o = position->optimizer;
    const bool stepped = adzi_c99_makes_steps(&f->w->c, position);
    const size_t count = stepped ? adzi_c99_count_of(&f->w->c, position) : ADZI_NOWHERE;
    adz_state_dict *state = adz_state_dict_new();
    bool good = state != NULL && adzi_optimizer_collect_one(o, o->groups[position->group],
                                     position->i, index, stepped, state) == ADZ_OK;
    for (size_t k = 0; good && k < adz_state_dict_count(state); ++k) {
        const char *name = adz_state_dict_name_at(state, k);
        adz_tensor *t = adz_state_dict_at(state, k);
        const adzi_weights_source s =
            stepped ? state_source(f, position, count, name, t)
                    : (adzi_weights_source){ .home = home_without_array(t), .t = t };
        good = adz_safetensors_add(f->file, name, t) == ADZ_OK && add_source(f, s);
    }
    adz_state_dict_free(&state);
    return good;
}

const char *adzi_weights_rate(const adzi_c99 *c)
{
    return c->wide ? "0.0000000000000000e+000" : "0.00000000e+00";
}

/* Makes room for any rate in the text of the groups. */
static bool widen_rates(adzi_weights *f)
{
    static const char rate[] = "{\"lr\":";
    const char *at = adz_safetensors_get_metadata(f->file, ADZI_CHECKPOINT_OPTIMIZER);
    const char *groups = at != NULL ? strstr(at, "\"param_groups\":[") : NULL;
    adzi_text text = { 0 };
    if (groups != NULL) {
        adzi_text_add_n(&text, at, (size_t)(groups - at));
    }
    for (at = groups; at != NULL;) {
        const char *next = strstr(at, rate);
        const size_t n = next != NULL ? (size_t)(next - at) + strlen(rate) : strlen(at);
        adzi_text_add_n(&text, at, n);
        at = next != NULL ? next + strlen(rate) : NULL;
        if (at != NULL) {
            adzi_text_add(&text, adzi_weights_rate(&f->w->c));
            at += strspn(at, "+-.0123456789eE");
        }
    }
    if (text.failed) {
        adzi_fail_memory(f->w->c.op, text.length);
    }
    const bool good = groups != NULL && !text.failed &&
                      adz_safetensors_set_metadata(
                          f->file, ADZI_CHECKPOINT_OPTIMIZER, adzi_text_get(&text)) == ADZ_OK;
    adzi_text_free(&text);
    return good;
}

static bool add_optimizer(adzi_weights *f)
{
    const adz_optimizer *o = f->optimizer;
    adzi_parameter_position position = { .optimizer = (adz_optimizer *)(uintptr_t)o };
    size_t index = 0;
    for (position.group = 0; position.group < o->n_groups; ++position.group) {
        for (position.i = 0; position.i < o->groups[position.group]->count; ++position.i) {
            if (!add_states(f, &position, index++)) {
                return false;
            }
        }
    }
    return adzi_checkpoint_add_groups(f->w->c.op, f->file, o) == ADZ_OK && widen_rates(f);
}

/* ---- the header ------------------------------------------------------------------------------ */

/* Where the member of a JSON object ends that begins at `at`. The text is that of a whole object.
 */
static const char *member_end(const char *at)
{
    int depth = 0;
    for (bool quoted = false; quoted || depth > 0 || (*at != ',' && *at != '}'); ++at) {
        if (quoted) {
            quoted = *at != '"';
            at += *at == '\\' ? 1 : 0;
        } else {
            quoted = *at == '"';
            depth += *at == '{' || *at == '[' ? 1 : *at == '}' || *at == ']' ? -1 : 0;
        }
    }
    return at;
}

static void add_piece(
    adzi_weights *f, size_t *n, const char *text, const char *from, const char *to)
{
    if (adzi_grow(&f->pieces, &f->pieces_capacity, *n + 2, sizeof *f->pieces)) {
        f->pieces[(*n)++] = 8 + (size_t)(from - text);
        f->pieces[(*n)++] = 8 + (size_t)(to - text);
    } else {
        adzi_c99_fail(&f->w->c, ADZ_ERR_MEMORY, "no memory for the header of the file of weights");
    }
}

/* Finds the pieces around the rates in the member `at` of the metadata. */
static void find_pieces(adzi_weights *f, const char *text, const char *at)
{
    static const char rate[] = "{\\\"lr\\\":", parameters[] = ",\\\"params\\\":",
                      initial[] = ",\\\"initial_lr\\\":";
    const char *end = member_end(at);
    const char *next = strstr(strstr(at, "\\\"param_groups\\\":["), rate);
    size_t n = 0;
    while (next != NULL && next < end) {
        const char *behind = next + strlen(rate) + strlen(adzi_weights_rate(&f->w->c));
        const char *list = strstr(behind, parameters), *scheduled = strstr(behind, initial);
        add_piece(f, &n, text, at, next + strlen(rate));
        add_piece(f, &n, text, behind, scheduled != NULL && scheduled < list ? scheduled : list);
        at = list;
        next = strstr(at, rate);
    }
    add_piece(f, &n, text, at, end);
}

static void find_metadata(adzi_weights *f, const char *text)
{
    static const char mark[] = "\"" ADZI_CHECKPOINT_MARK "\":", optimizer[] = "\"optimizer\":";
    for (const char *at = strchr(text + 1, '{') + 1; *at != '}';) {
        const char *end = member_end(at);
        if (strncmp(at, mark, strlen(mark)) == 0) {
            f->mark = 8 + (size_t)(at - text);
            f->mark_length = (size_t)(end - at);
        } else if (strncmp(at, optimizer, strlen(optimizer)) == 0) {
            find_pieces(f, text, at);
        }
        at = *end == ',' ? end + 1 : end;
    }
}

/* Finds the entry of each tensor, and its elements. */
static void find_entries(adzi_weights *f, const char *text)
{
    const char *at = member_end(text + 1); /* behind the metadata */
    size_t offsets[2] = { 0 };
    for (size_t i = 0; i < f->file->n_tensors; ++i) {
        adzi_weights_source *s = &f->sources[i];
        const char *end = member_end(++at), *open = end;
        while (*open != '[') {
            --open;
        }
        s->entry = 8 + (size_t)(at - text);
        s->length = (size_t)(open + 1 - at);
        s->at = f->header + (size_t)strtoull(open + 1, NULL, 10);
        s->bytes = (size_t)s->t->numel * adzi_item_size(s->t);
        if (s->home == ADZI_WEIGHTS_CONSTANT || s->home == ADZI_WEIGHTS_KEPT) {
            s->offset = offsets[s->home];
            offsets[s->home] += s->bytes;
        }
        at = end;
    }
}

/* Makes the file, and finds the parts of its header. */
static bool make_image(adzi_weights *f)
{
    const adz_tensor *image = adz_safetensors_to_memory(f->file);
    if (image == NULL) {
        return false;
    }
    f->image = (const unsigned char *)image->data;
    f->size = (size_t)image->numel;
    if (f->size > INT32_MAX) {
        adzi_c99_fail(&f->w->c, ADZ_ERR_UNSUPPORTED,
            "the file of weights has %zu bytes, more than 2 GiB", f->size);
        return false;
    }
    size_t length = 0;
    for (int i = 7; i >= 0; --i) {
        length = length << 8 | f->image[i];
    }
    f->header = 8 + length;
    adzi_text text = { 0 };
    adzi_text_add_n(&text, (const char *)f->image + 8, length);
    if (!text.failed) {
        find_metadata(f, adzi_text_get(&text));
        find_entries(f, adzi_text_get(&text));
    } else {
        adzi_fail_memory(f->w->c.op, length);
    }
    const bool good = !text.failed && !f->w->c.failed;
    adzi_text_free(&text);
    return good;
}

/* ---- all files ------------------------------------------------------------------------------- */

static bool changes_an_array(const adzi_weights *f)
{
    bool changes = false;
    for (size_t i = 0; i < f->file->n_tensors; ++i) {
        const adzi_weights_source *s = &f->sources[i];
        changes = changes || (s->home == ADZI_WEIGHTS_ARRAY && f->w->c.memories[s->memory].changes);
    }
    return changes;
}

/* Notes the arrays that are in some file. */
static void note_saved(const adzi_weights *f)
{
    for (size_t i = 0; i < f->file->n_tensors; ++i) {
        if (f->sources[i].home == ADZI_WEIGHTS_ARRAY) {
            f->w->c.memories[f->sources[i].memory].saved = true;
        }
    }
}

/* A file of weights has the dtypes of the module, and arrays have those of the file in C. */
static bool check_dtypes(const adzi_weights *f)
{
    adzi_c99 *c = &f->w->c;
    for (size_t i = 0; i < f->file->n_tensors && !c->failed; ++i) {
        const adzi_weights_source *s = &f->sources[i];
        const adzi_c99_memory *m = s->home == ADZI_WEIGHTS_ARRAY ? &c->memories[s->memory] : NULL;
        if (m != NULL && m->stored != m->dtype) {
            adzi_c99_fail(c, ADZ_ERR_DTYPE,
                "%s is float32, but functions of the file change the module with the precision f64; convert the module by adz_module_to first, or set options.precision to ADZ_F32",
                m->label);
        }
    }
    return !c->failed;
}

static bool print_file(adzi_weights *f, adzi_text *to)
{
    f->to = to;
    f->file = adz_safetensors_new();
    bool good = f->file != NULL;
    good = good && add_model(f) && (f->optimizer == NULL || add_optimizer(f)) && make_image(f);
    if (good && (f->optimizer != NULL || changes_an_array(f)) && check_dtypes(f)) {
        note_saved(f);
        adzi_weights_print(f);
    }
    adzi_free(f->pieces, f->pieces_capacity * sizeof *f->pieces);
    adzi_free(f->sources, f->capacity * sizeof *f->sources);
    adz_safetensors_free(&f->file);
    return good && !f->w->c.failed;
}

/* Says in the header which variables are in no file. */
static void list_unsaved(adzi_c99_writer *w)
{
    adzi_text *to = &w->learnt_header;
    const size_t before = to->length;
    for (size_t i = 0; before > 0 && i < w->c.n_memories; ++i) {
        const adzi_c99_memory *m = &w->c.memories[i];
        if (m->changes && !m->saved && adzi_c99_has_array(m)) {
            adzi_text_add(to, to->length == before
                                  ? "\n/* These variables are in no checkpoint, so they stay:"
                                  : "");
            adzi_text_format(to, "\n *     %s", m->label);
        }
    }
    adzi_text_add(to, to->length > before ? " */\n" : "");
}

/* The optimizer number k of the file, in the order in which they are first used; NULL: there are
 * fewer. */
static const adz_optimizer *optimizer_at(const adzi_c99 *c, size_t k)
{
    for (size_t i = 0; i < c->n_stepped; ++i) {
        const adz_optimizer *o = c->stepped[i].position.optimizer;
        bool first = true;
        for (size_t before = 0; before < i && first; ++before) {
            first = c->stepped[before].position.optimizer != o;
        }
        if (first && k-- == 0) {
            return o;
        }
    }
    return NULL;
}

bool adzi_c99_print_weights(adzi_c99_writer *w, adz_module *module)
{
    adzi_text files = { 0 };
    const adz_optimizer *o = optimizer_at(&w->c, 0);
    bool good = true;
    for (size_t k = 0; good && module != NULL && (k == 0 || o != NULL); ++k) {
        adzi_weights f = { .w = w, .module = k == 0 ? module : NULL, .optimizer = o };
        if (k > 0) {
            snprintf(f.ending, sizeof f.ending, "_%zu", k);
        }
        good = print_file(&f, &files);
        o = optimizer_at(&w->c, k + 1);
    }
    if (files.length > 0) {
        adzi_weights_add_helpers(&w->c, adzi_text_get(&files), &w->learnt);
        adzi_text_add_n(&w->learnt, adzi_text_get(&files), files.length);
    }
    list_unsaved(w);
    w->learnt.failed = w->learnt.failed || files.failed;
    adzi_text_free(&files);
    w->c.failed = w->c.failed || !good;
    return good;
}
