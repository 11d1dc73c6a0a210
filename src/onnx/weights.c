/* Weights of a model as parameters and buffers of its module. "fc.weight" becomes the parameter
 * "weight" of the child "fc", so that the state has PyTorch's names. */
#include <string.h>

#include "run.h"

enum { MOST_PARTS = 16 };

static adz_status call_weights(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    (void)in;
    (void)out;
    return adz_error_set("Weights", ADZ_ERR_UNSUPPORTED,
        "this child only holds weights of an ONNX network; call the network");
}

static const adz_module_type weights_type = {
    .size = sizeof(adz_module_type),
    .name = "Weights",
    .call = call_weights,
};

/* A name in a holder: of a child, or of a weight. */
typedef struct entry {
    const char *name; /* NULL: the entry is free */
    size_t parent;
    size_t holder; /* of the child; NO_VALUE for a weight */
} entry;

/* What is needed while the module is filled. */
typedef struct filling {
    reader_model *model;
    adz_module **modules; /* the holders */
    size_t *buffers;      /* how many buffers each has */
    entry *entries;       /* a hash table of all names in holders */
    size_t n_entries;     /* more than there are names */
    bool split;           /* names are split at their dots */
} filling;

/* ---- names ---------------------------------------------------------------------------------- */

static size_t count_dots(const char *name)
{
    size_t n = 0;
    for (; (name = strchr(name, '.')) != NULL; ++name) {
        ++n;
    }
    return n;
}

/* Whether a name can be split at its dots: no part is empty, and no part before a dot is the name
 * of a weight itself. */
static bool splits(const reader_model *model, const char *name)
{
    if (count_dots(name) >= MOST_PARTS) {
        return false;
    }
    for (const char *part = name;;) {
        const char *dot = strchr(part, '.');
        if (dot == part || *part == '\0') {
            return false;
        }
        if (dot == NULL) {
            return true;
        }
        const size_t value = adzi_reader_lookup(
            model, model->graph, (reader_bytes){ (const uint8_t *)name, (size_t)(dot - name) });
        if (value != NO_VALUE && model->values[value].weight != NULL) {
            return false;
        }
        part = dot + 1;
    }
}

/* The name of a weight as the module has it. Graphs inside others may use the same names again, so
 * theirs end with a number. */
static char *name_of(reader_model *model, const reader_value *v, bool split)
{
    const size_t length = strlen(v->name);
    char *name = adzi_reader_alloc(&model->arena, length + 48, 1);
    if (name == NULL) {
        return NULL;
    }
    memcpy(name, v->name, length);
    if (v->graph != model->graph) {
        snprintf(name + length, 24, "@%zu", v->graph->id);
    }
    for (char *c = name; *c != '\0' && !split; ++c) {
        *c = *c == '.' ? '_' : *c;
    }
    return name;
}

/* ---- the tree ------------------------------------------------------------------------------- */

/* The entry of a name in a holder; it is free if there is no such name. */
static entry *entry_of(const filling *fill, size_t parent, const char *name)
{
    uint64_t hash = 1469598103934665603u ^ parent;
    for (const char *c = name; *c != '\0'; ++c) {
        hash = (hash ^ (unsigned char)*c) * 1099511628211u;
    }
    for (size_t i = (size_t)(hash ^ hash >> 32) % fill->n_entries;; i = (i + 1) % fill->n_entries) {
        entry *e = &fill->entries[i];
        if (e->name == NULL || (e->parent == parent && strcmp(e->name, name) == 0)) {
            return e;
        }
    }
}

/* The holder for the child of `parent` of that name, made if there is none; NO_VALUE with an error
 * recorded. */
static size_t child_holder(filling *fill, size_t parent, const char *name)
{
    reader_model *model = fill->model;
    adz_module *at = fill->modules[parent];
    entry *e = entry_of(fill, parent, name);
    if (e->name != NULL && e->holder != NO_VALUE) {
        return e->holder;
    }
    adz_module *child = adz_module_add_child(at, name, adz_module_new(&weights_type, 0));
    if (child == NULL) {
        return NO_VALUE;
    }
    *e = (entry){ name, parent, model->n_holders };
    model->holders[model->n_holders] = (reader_holder){ parent, adz_module_child_count(at) - 1 };
    fill->modules[model->n_holders] = child;
    return model->n_holders++;
}

/* Adds a weight under the rest of its name. If that is taken, because dots have become underscores,
 * it ends with the number of the value. The model's own reference to the weight ends. */
static adz_status add_to(filling *fill, size_t holder, reader_value *v, char *name)
{
    adz_module *module = fill->modules[holder];
    const adz_tensor *added;
    char *end = name + strlen(name);
    entry *e = entry_of(fill, holder, name);
    for (size_t number = (size_t)(v - fill->model->values); e->name != NULL; ++number) {
        snprintf(end, 24, "@%zu", number);
        e = entry_of(fill, holder, name);
    }
    *e = (entry){ name, holder, NO_VALUE };
    v->holder = holder;
    if (v->parameter) {
        v->index = adz_module_parameter_count(module);
        added = adz_module_add_parameter(module, name, v->weight);
    } else {
        v->index = fill->buffers[holder]++;
        added = adz_module_add_buffer(module, name, v->weight, v->kind == VALUE_WEIGHT);
    }
    return added != NULL ? adz_release(&v->weight) : adz_error_code();
}

static adz_status add_weight(filling *fill, reader_value *v)
{
    char *name = name_of(fill->model, v, fill->split);
    size_t holder = 0;
    if (name == NULL) {
        return ADZ_ERR_MEMORY;
    }
    for (char *dot; fill->split && (dot = strchr(name, '.')) != NULL; name = dot + 1) {
        *dot = '\0';
        holder = child_holder(fill, holder, name);
        if (holder == NO_VALUE) {
            return adz_error_code();
        }
    }
    return add_to(fill, holder, v, name);
}

/* Whether training changes a weight. */
static bool is_trained(const reader_value *v, const adz_onnx_load_options *o)
{
    const adz_dtype dtype = adz_tensor_dtype(v->weight);
    if (v->kind != VALUE_WEIGHT || !v->reached || (dtype != ADZ_F32 && dtype != ADZ_F64)) {
        return false;
    }
    return o->trains == NULL || o->trains(v->name, v->weight, o->user);
}

adz_status adzi_reader_add_weights(
    reader_model *model, adz_module *module, const adz_onnx_load_options *options)
{
    size_t dots = 0, weights = 0;
    filling fill = { .model = model, .split = true };
    for (size_t i = 0; i < model->n_values; ++i) {
        if (model->values[i].weight != NULL) {
            ++weights;
            dots += count_dots(model->values[i].name);
            fill.split = fill.split && splits(model, model->values[i].name);
        }
    }
    const size_t most = fill.split ? dots + 1 : 1;
    model->holders = adzi_reader_alloc(&model->arena, most, sizeof *model->holders);
    fill.modules = adzi_reader_alloc(&model->arena, most, sizeof *fill.modules);
    fill.buffers = adzi_reader_alloc(&model->arena, most, sizeof *fill.buffers);
    fill.n_entries = 2 * (most + weights) + 1;
    fill.entries = adzi_reader_alloc(&model->arena, fill.n_entries, sizeof *fill.entries);
    if (model->holders == NULL || fill.modules == NULL || fill.buffers == NULL ||
        fill.entries == NULL) {
        return ADZ_ERR_MEMORY;
    }
    model->n_holders = 1;
    fill.modules[0] = module;
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < model->n_values && status == ADZ_OK; ++i) {
        reader_value *v = &model->values[i];
        if (v->weight != NULL) {
            v->parameter = is_trained(v, options);
            status = add_weight(&fill, v);
        }
    }
    return status;
}
