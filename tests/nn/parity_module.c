/* Runs the vector files of modules. The module that `reference` and `config` name gets the file's
 * parameters and masks and is called with the file's inputs. */
#include <stdio.h>
#include <stdlib.h>

#include "nn/case.h"
#include "nn/layers/dropout.h"
#include "ops/parity.h"

enum { MOST = 1024 };

/* A tensor that a file stores under "<kind>.<name>", and the tensor of the computation. */
typedef struct entry {
    const char *key;
    adz_tensor *tensor;
} entry;

/* One computation: its leaves and its results, by the file's names for them. */
typedef struct computation {
    const vector_file *v;
    const module_case *c;
    adz_dtype dtype;
    bool from_f32;
    adz_module *module;
    entry inputs[MOST], results[MOST];
    size_t n_inputs, n_results;
    adz_values *in, *out;
    verdict *verdict;
} computation;

static const module_case *case_for(const char *reference)
{
    for (int i = 0; i < n_module_cases; ++i) {
        for (int k = 0; k < 12 && module_cases[i]->references[k] != NULL; ++k) {
            if (strcmp(module_cases[i]->references[k], reference) == 0) {
                return module_cases[i];
            }
        }
    }
    return NULL;
}

/* The part of `key` after `prefix`; NULL if the key does not begin with it. */
static const char *after(const char *key, const char *prefix)
{
    size_t n = strlen(prefix);
    return strncmp(key, prefix, n) == 0 ? key + n : NULL;
}

static bool note(const computation *run, const char *what, const char *name)
{
    snprintf(run->verdict->note, sizeof run->verdict->note, "%s%s", what, name);
    return false;
}

/* A stored tensor in the dtype of the computation. It is rounded to f32 first if the run asks for
 * it. */
static adz_tensor *load(const computation *run, const char *key)
{
    adz_tensor *t = vector_tensor(run->v, key);
    if (t == NULL || adz_tensor_dtype(t) != ADZ_F64) {
        return t;
    }
    return adz_to(run->from_f32 ? adz_to(t, ADZ_F32) : t, run->dtype);
}

/* ---- the module ----------------------------------------------------------------------------- */

/* Loads parameters and buffers under all their names. */
static bool load_state(const computation *run)
{
    adz_state_dict *state = adz_state_dict_new();
    const char *key;
    json_t *value, *aliases = json_loads(vector_meta(run->v, "aliases"), 0, NULL);
    bool good = state != NULL;
    json_object_foreach(run->v->header, key, value)
    {
        const char *name = after(key, "param.");
        name = name != NULL ? name : after(key, "buffer.");
        good = good && (name == NULL || adz_state_dict_add(state, name, load(run, key)) == ADZ_OK);
    }
    json_object_foreach(aliases, key, value)
    {
        good = good && adz_state_dict_add(state, key,
                           adz_state_dict_get(state, json_string_value(value))) == ADZ_OK;
    }
    good = good && adz_module_load_state_dict(run->module, state, true) == ADZ_OK;
    json_decref(aliases);
    adz_state_dict_free(&state);
    return good;
}

static bool make_module(computation *run)
{
    const char *reference = vector_meta(run->v, "reference");
    run->module = run->c->from_config(reference, run->v->config);
    if (run->module == NULL) {
        return adz_error_code() != ADZ_OK ? false : note(run, "no module for this ", reference);
    }
    return adz_module_to(run->module, run->dtype) == ADZ_OK && load_state(run) &&
           adz_module_train(run->module, strcmp(vector_meta(run->v, "mode"), "train") == 0) ==
               ADZ_OK;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* The module's name for an input or a result of the file. Renames are "a=b", or "a#=b#" for names
 * that end in a number, or "a=-" for what the module does not read. */
static const char *renamed(const module_case *c, const char *name, char *buffer, size_t size)
{
    for (int i = 0; i < 4 && c->renames[i] != NULL; ++i) {
        const char *from = c->renames[i], *to = strchr(from, '=') + 1;
        size_t n = (size_t)(to - from) - 1;
        bool numbered = from[n - 1] == '#';
        if (numbered && strncmp(from, name, n - 1) == 0 && name[n - 1] >= '0' &&
            name[n - 1] <= '9') {
            snprintf(buffer, size, "%.*s%s", (int)strlen(to) - 1, to, name + n - 1);
            return buffer;
        }
        if (!numbered && strncmp(from, name, n) == 0 && name[n] == '\0') {
            return to;
        }
    }
    return name;
}

static bool has_room(const computation *run, size_t n)
{
    return n < MOST || note(run, "more tensors than the runner has room for", "");
}

/* Makes results of the previous call whose names begin with `from` arguments of this call, with
 * `to` instead of `from`. */
static bool carry(const computation *run, const char *from, const char *to)
{
    for (size_t i = 0; i < adz_values_count(run->out); ++i) {
        const char *rest = after(adz_values_name_at(run->out, i), from);
        char name[ADZ_VALUE_NAME + 1];
        snprintf(name, sizeof name, "%s%s", to, rest != NULL ? rest : "");
        adz_tensor *t = adz_values_at(run->out, i);
        t = rest != NULL && run->c->detaches ? adz_detach(t) : t;
        if (rest != NULL && adz_values_add(run->in, name, t) != ADZ_OK) {
            return false;
        }
    }
    return true;
}

/* Collects the file's inputs of one call, whose names begin with `prefix`. In a file with numbered
 * inputs, those without a number belong to the first call. *any becomes true if an input has the
 * prefix. */
static bool gather(computation *run, const char *prefix, bool *any)
{
    const char *key;
    json_t *value;
    bool first = strcmp(prefix, "input.0.") == 0;
    json_object_foreach(run->v->header, key, value)
    {
        const char *name = after(key, prefix), *bare = after(key, "input.");
        *any = *any || name != NULL;
        if (name == NULL && first && bare != NULL && (bare[0] < '0' || bare[0] > '9')) {
            name = bare;
        }
        if (name == NULL) {
            continue;
        }
        if (!has_room(run, run->n_inputs)) {
            return false;
        }
        char gradient[160];
        snprintf(gradient, sizeof gradient, "grad.%s", key);
        adz_tensor *t = load(run, key);
        if (json_object_get(run->v->header, gradient) != NULL) {
            adz_requires_grad_(t, true);
        }
        run->inputs[run->n_inputs++] = (entry){ key, t };
        t = config_flag(run->v->config, "inplace", false) ? adz_clone(t) : t;
        char buffer[160];
        const char *own = renamed(run->c, name, buffer, sizeof buffer);
        if (adz_module_type_of(run->module)->call == NULL) {
            own = ""; /* it takes one tensor, whatever the file calls it */
        }
        if (strcmp(own, "-") != 0 && adz_values_add(run->in, own, t) != ADZ_OK) {
            return false;
        }
    }
    return true;
}

/* Takes the results of one call that the file stores. */
static bool take_results(computation *run, const char *prefix)
{
    const char *key;
    json_t *value;
    json_object_foreach(run->v->header, key, value)
    {
        const char *name = after(key, prefix);
        if (name == NULL) {
            continue;
        }
        char buffer[160];
        const char *own = renamed(run->c, name, buffer, sizeof buffer);
        adz_tensor *y =
            strcmp(name, "y") == 0 ? adz_values_at(run->out, 0) : adz_values_get(run->out, own);
        if (!has_room(run, run->n_results)) {
            return false;
        }
        if (y == ADZ_NONE) {
            return note(run, "the module has no result called ", name);
        }
        run->results[run->n_results++] = (entry){ key, y };
    }
    return true;
}

/* Makes one call, whose inputs have the number "", "0.", "1.", ... *called becomes true if the file
 * has such a call. */
static bool call_numbered(computation *run, const char *number, bool *called)
{
    char inputs[32], outputs[32];
    snprintf(inputs, sizeof inputs, "input.%s", number);
    snprintf(outputs, sizeof outputs, "output.%s", number);
    *called = number[0] == '\0'; /* a call without a number is made even without arguments */
    adz_values_clear(run->in);
    if (!gather(run, inputs, called) || !*called) {
        return !*called;
    }
    for (int i = 0; i < 4 && run->c->carries[i] != NULL; i += 2) {
        if (!carry(run, run->c->carries[i], run->c->carries[i + 1])) {
            return false;
        }
    }
    adz_values_clear(run->out);
    return adz_module_call(run->module, run->in, run->out) == ADZ_OK && take_results(run, outputs);
}

static bool is_numbered(const vector_file *v)
{
    const char *key;
    json_t *value;
    json_object_foreach(v->header, key, value)
    {
        if (after(key, "input.0.") != NULL) {
            return true;
        }
    }
    return false;
}

/* Does what the config asks for before a call. */
static bool prepare(const computation *run, int call)
{
    const json_t *config = run->v->config, *list = json_object_get(config, "select_rows");
    int64_t rows[MOST];
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && i < MOST; ++i) {
        rows[i] = (int64_t)json_number_value(json_array_get(list, i));
    }
    if (call == 1 && n > 0 &&
        adz_module_select_hidden(
            run->module, adz_tensor_from(rows, ADZ_SHAPE((int64_t)n), ADZ_I64)) != ADZ_OK) {
        return false;
    }
    return run->c->between == NULL || run->c->between(run->module, config, call) == ADZ_OK;
}

static bool call_all(computation *run)
{
    bool called = false;
    if (!is_numbered(run->v)) {
        return prepare(run, 0) && call_numbered(run, "", &called);
    }
    for (int i = 0;; ++i) {
        char number[16];
        snprintf(number, sizeof number, "%d.", i);
        if (!prepare(run, i) || !call_numbered(run, number, &called)) {
            return false;
        }
        if (!called) {
            return true;
        }
    }
}

/* Makes all calls with the stored masks instead of drawn ones. Every mask must be used. */
static bool call_with_masks(computation *run)
{
    adz_tensor *items[MOST];
    adzi_masks masks = { items, 0, 0 };
    json_t *list = json_loads(vector_meta(run->v, "masks"), 0, NULL), *mask;
    size_t i;
    bool good = true;
    json_array_foreach(list, i, mask)
    {
        if (!has_room(run, masks.count)) {
            json_decref(list);
            return false;
        }
        items[masks.count] =
            vector_tensor(run->v, json_string_value(json_object_get(mask, "name")));
        good = good && items[masks.count++] != NULL;
    }
    json_decref(list);
    adzi_module_replay(run->module, &masks);
    good = good ? call_all(run) : note(run, "a mask is missing", "");
    adzi_module_replay(run->module, NULL);
    return good && (masks.next == masks.count || note(run, "a mask was not used", ""));
}

/* Runs the backward of all results for which the file has an upstream gradient. */
static bool backward(const computation *run)
{
    adz_tensor *ys[MOST], *upstream[MOST];
    size_t n = 0;
    for (size_t i = 0; i < run->n_results; ++i) {
        char name[160];
        snprintf(name, sizeof name, "upstream.%s", after(run->results[i].key, "output."));
        adz_tensor *g = load(run, name);
        if (g != NULL && adz_tensor_requires_grad(run->results[i].tensor)) {
            ys[n] = run->results[i].tensor;
            upstream[n++] = g;
        }
    }
    return n == 0 || adz_autograd_backward(ys, upstream, n, NULL) == ADZ_OK;
}

static bool compute(computation *run)
{
    run->in = adz_values_new();
    run->out = adz_values_new();
    return run->in != NULL && run->out != NULL && make_module(run) && call_with_masks(run) &&
           backward(run);
}

static void finish(computation *run)
{
    adz_values_free(&run->in);
    adz_values_free(&run->out);
    adz_module_release(&run->module);
}

/* ---- judging -------------------------------------------------------------------------------- */

static adz_tensor *find(const entry *entries, size_t n, const char *key)
{
    for (size_t i = 0; i < n; ++i) {
        if (strcmp(entries[i].key, key) == 0) {
            return entries[i].tensor;
        }
    }
    return NULL;
}

/* The tensor of the computation for the file's tensor `key`; NULL if it is no result. A missing
 * gradient is zeros. */
static adz_tensor *computed(const computation *run, const char *key)
{
    const char *name;
    if (after(key, "output.") != NULL) {
        return find(run->results, run->n_results, key);
    }
    if ((name = after(key, "buffer_after.")) != NULL) {
        return adz_module_get_buffer(run->module, name);
    }
    adz_tensor *leaf = NULL;
    if (after(key, "grad.input.") != NULL) {
        leaf = find(run->inputs, run->n_inputs, after(key, "grad."));
    } else if ((name = after(key, "grad.param.")) != NULL) {
        leaf = adz_module_get_parameter(run->module, name);
    }
    adz_tensor *grad = leaf != NULL ? adz_tensor_grad(leaf) : NULL;
    return grad != NULL || leaf == NULL ? grad : adz_zeros_like(leaf);
}

static bool judge_all(const computation *run, const computation *reference)
{
    const char *key;
    json_t *value;
    json_object_foreach(run->v->header, key, value)
    {
        if (after(key, "output.") == NULL && after(key, "grad.") == NULL &&
            after(key, "buffer_after.") == NULL) {
            continue;
        }
        adz_tensor *got = computed(run, key);
        if (got == NULL) {
            return note(run, "nothing was computed for ", key);
        }
        parity_judge(run->verdict, "", key, got,
            reference != NULL ? computed(reference, key) : vector_tensor(run->v, key));
    }
    return true;
}

bool parity_module(const vector_file *v, bool f32, verdict *out)
{
    const char *reference = vector_meta(v, "reference");
    const module_case *c = case_for(reference);
    if (c == NULL) {
        snprintf(out->note, sizeof out->note, "no module serves '%s'", reference);
        return false;
    }
    out->tolerance = f32 ? 1e-3 : out->tolerance;
    computation run = {
        .v = v, .c = c, .dtype = f32 ? ADZ_F32 : ADZ_F64, .from_f32 = f32, .verdict = out
    };
    computation again = { .v = v, .c = c, .dtype = ADZ_F64, .from_f32 = true, .verdict = out };
    bool good = compute(&run) && (!f32 || compute(&again)) && judge_all(&run, f32 ? &again : NULL);
    finish(&run);
    finish(&again);
    return good;
}
