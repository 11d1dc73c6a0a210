/* The network as modules, and the file that holds it. */
#include "model.h"

#include <adze/custom.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/plain_text.h"
#include "data.h"

/* ---- activations ---------------------------------------------------------------------------- */

static adz_tensor *leaky_relu(adz_tensor *x)
{
    return adz_leaky_relu(x, 0.01);
}

static adz_tensor *elu(adz_tensor *x)
{
    return adz_elu(x, 1);
}

static adz_tensor *gelu(adz_tensor *x)
{
    return adz_gelu(x, ADZ_GELU_NONE);
}

typedef adz_tensor *(*activation)(adz_tensor *x);

static const struct {
    const char *name;
    activation call;
} activations[] = { { "relu", adz_relu }, { "leaky_relu", leaky_relu }, { "elu", elu },
    { "gelu", gelu }, { "silu", adz_silu }, { "tanh", adz_tanh }, { "sigmoid", adz_sigmoid } };

static activation find_activation(const char *name)
{
    for (size_t i = 0; i < sizeof activations / sizeof *activations; ++i) {
        if (strcmp(activations[i].name, name) == 0) {
            return activations[i].call;
        }
    }
    return NULL;
}

bool is_activation(const char *name)
{
    return find_activation(name) != NULL;
}

/* ---- a hidden layer, a module of this program ----------------------------------------------- */

typedef struct hidden_state {
    activation activation;
    double dropout;
    bool gated;
} hidden_state;

enum { LINEAR, GATE };

/* y = dropout(activation(linear(x)) * gate(x)); the factor gate(x) only if the layer has a gate. */
static adz_tensor *hidden_forward(adz_module *self, adz_tensor *x)
{
    const hidden_state *state = adz_module_data(self);
    adz_tensor *y = state->activation(adz_module_forward(adz_module_child_at(self, LINEAR), x));
    if (state->gated) {
        y = adz_mul(y, adz_module_forward(adz_module_child_at(self, GATE), x));
    }
    return adz_dropout(y, state->dropout, adz_module_is_training(self), NULL);
}

static const adz_module_type hidden_type = {
    .size = sizeof(adz_module_type), .name = "Hidden", .forward = hidden_forward
};

static adz_module *hidden_new(int64_t in, int64_t out, const model *m)
{
    adz_module *self = adz_module_new(&hidden_type, sizeof(hidden_state));
    hidden_state *state = adz_module_data(self);
    *state = (hidden_state){ find_activation(m->activation), m->dropout, m->gated };
    adz_module_add_child(self, "linear", adz_linear_new(in, out, NULL));
    if (m->gated) {
        adz_module_add_child(self, "gate", adz_linear_new(in, out, NULL));
    }
    return self;
}

/* ---- the model ------------------------------------------------------------------------------ */

enum { INPUT, NETWORK, TARGET };

static adz_tensor *regression_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *inputs = adz_module_forward(adz_module_child_at(self, INPUT), x);
    adz_tensor *y = adz_module_forward(adz_module_child_at(self, NETWORK), adz_to(inputs, ADZ_F32));
    return adz_standardizer_inverse(adz_module_child_at(self, TARGET), y);
}

static const adz_module_type regression_type = {
    .size = sizeof(adz_module_type), .name = "Regression", .forward = regression_forward
};

adz_module *input_standardizer(const model *m)
{
    return adz_module_child_at(m->root, INPUT);
}

adz_module *network(const model *m)
{
    return adz_module_child_at(m->root, NETWORK);
}

adz_module *target_standardizer(const model *m)
{
    return adz_module_child_at(m->root, TARGET);
}

static void build(model *m)
{
    adz_module *layers = adz_sequential_new(NULL, 0);
    int64_t in = (int64_t)m->n_features;
    for (int i = 0; i < m->n_hidden; ++i) {
        adz_sequential_append(layers, hidden_new(in, m->hidden[i], m));
        in = m->hidden[i];
    }
    adz_sequential_append(layers, adz_linear_new(in, 1, NULL));
    m->root = adz_module_new(&regression_type, 0);
    adz_module_add_child(m->root, "input", adz_standardizer_new((int64_t)m->n_features, ADZ_F64));
    adz_module_add_child(m->root, "network", layers);
    adz_module_add_child(m->root, "target", adz_standardizer_new(1, ADZ_F64));
}

model new_model(const options *o, char *const *features, size_t n_features, const char *target_name)
{
    model m = { .n_features = n_features, .n_hidden = o->n_hidden, .dropout = o->dropout };
    m.gated = o->gated;
    m.target_name = copy_text(target_name);
    m.features = malloc(n_features * sizeof *m.features);
    if (m.features == NULL) {
        fail("out of memory");
    }
    for (size_t i = 0; i < n_features; ++i) {
        m.features[i] = copy_text(features[i]);
    }
    memcpy(m.hidden, o->hidden, sizeof m.hidden);
    snprintf(m.activation, sizeof m.activation, "%s", o->activation);
    build(&m);
    return m;
}

void free_model(model *m)
{
    adz_module_release(&m->root);
    for (size_t i = 0; i < m->n_features; ++i) {
        free(m->features[i]);
    }
    free(m->features);
    free(m->target_name);
}

adz_tensor *predict(const model *m, adz_tensor *x)
{
    adz_tensor *y = NULL;
    bool training = adz_module_is_training(m->root);
    adz_module_eval(m->root);
    ADZ_NO_GRAD
    {
        y = adz_module_forward(m->root, x);
    }
    adz_module_train(m->root, training);
    return y;
}

/* ---- as a function in C --------------------------------------------------------------------- */

typedef struct {
    const model *m;
    adz_tensor *x; /* [1, D], f32 */
} row;

/* The standardisers compute with f64, as they do everywhere in this program. */
static adz_tensor *predict_row(void *user)
{
    const row *r = user;
    adz_tensor *y = NULL;
    ADZ_NO_GRAD
    {
        y = adz_to(adz_module_forward(r->m->root, adz_to(r->x, ADZ_F64)), ADZ_F32);
    }
    return y;
}

/* "columns a, b, c", which the header of the function shows; cut off if there are many. */
static void name_columns(const model *m, char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size, "columns");
    for (size_t i = 0; i < m->n_features && n < size; ++i) {
        n += (size_t)snprintf(text + n, size - n, "%s %s", i > 0 ? "," : "", m->features[i]);
    }
}

void export_c(const model *m, const char *path)
{
    char columns[120];
    const char *const names[] = { columns };
    adz_scope *scope = adz_scope_open();
    name_columns(m, columns, sizeof columns);
    row r = { m, adz_zeros(ADZ_SHAPE(1, (int64_t)m->n_features), ADZ_F32) };
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&r.x, 1);
    o.input_names = names;
    o.module = m->root;
    adz_module_eval(m->root);
    adz_plan *plan = adz_plan_new(predict_row, &r, &o);
    adz_plan_write_c(plan, path, NULL);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

void export_onnx(const model *m, const char *path)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_zeros(ADZ_SHAPE(2, (int64_t)m->n_features), ADZ_F64);
    bool training = adz_module_is_training(m->root);
    adz_module_eval(m->root);
    adz_module_write_onnx(m->root, x, path, NULL);
    adz_module_train(m->root, training);
    adz_scope_close(scope);
}

/* ---- the file ------------------------------------------------------------------------------- */

static void set_number(adz_safetensors *file, const char *key, double value)
{
    char text[NUMBER_TEXT];
    adz_safetensors_set_metadata(file, key, number_text(value, text));
}

/* Adds the tensors and the metadata of another file. */
static void add_file(adz_safetensors *to, adz_safetensors *from)
{
    for (size_t i = 0; i < adz_safetensors_count(from); ++i) {
        adz_safetensors_add(to, adz_safetensors_name_at(from, i), adz_safetensors_at(from, i));
    }
    for (size_t i = 0; i < adz_safetensors_metadata_count(from); ++i) {
        const char *key = adz_safetensors_metadata_key_at(from, i);
        adz_safetensors_set_metadata(to, key, adz_safetensors_get_metadata(from, key));
    }
}

/* Writes weights and standardisers as tensors, the shape of the network and the names as metadata.
 */
void save_model(const model *m, const char *path, adz_safetensors *training)
{
    char key[32];
    adz_safetensors *file = adz_module_to_safetensors(m->root, NULL);
    if (training != NULL) {
        add_file(file, training);
    }
    adz_safetensors_set_metadata(file, "target", m->target_name);
    set_number(file, "features", (double)m->n_features);
    for (size_t i = 0; i < m->n_features; ++i) {
        snprintf(key, sizeof key, "feature.%zu", i);
        adz_safetensors_set_metadata(file, key, m->features[i]);
    }
    set_number(file, "hidden", m->n_hidden);
    for (int i = 0; i < m->n_hidden; ++i) {
        snprintf(key, sizeof key, "hidden.%d", i);
        set_number(file, key, (double)m->hidden[i]);
    }
    adz_safetensors_set_metadata(file, "activation", m->activation);
    set_number(file, "dropout", m->dropout);
    set_number(file, "gated", m->gated);
    adz_safetensors_save(file, path);
    adz_safetensors_free(&file);
}

static const char *get_text(const char *path, adz_safetensors *file, const char *key)
{
    const char *text = adz_safetensors_get_metadata(file, key);
    if (text == NULL) {
        fail("%s: not saved by this program: its metadata has no '%s'", path, key);
    }
    return text;
}

static double get_number(
    const char *path, adz_safetensors *file, const char *key, double low, double high)
{
    char *end;
    const char *text = get_text(path, file, key);
    double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value >= low && value <= high)) {
        fail("%s: its metadata has '%s' as '%s'", path, key, text);
    }
    return value;
}

/* Copies the column names from a model's file into the options. */
static char *get_name(const char *path, adz_safetensors *file, const char *key)
{
    const char *name = get_text(path, file, key), *fault = text_fault(name);
    if (fault != NULL) {
        fail("%s: the column name '%s' in its metadata %s", path, name, fault);
    }
    return copy_text(name);
}

/* The tensors of the model, from a file that also holds an interrupted training. */
static void load_weights(const model *m, adz_safetensors *file)
{
    adz_safetensors *own = adz_safetensors_new(),
                    *wanted = adz_module_to_safetensors(m->root, NULL);
    for (size_t i = 0; i < adz_safetensors_count(file); ++i) {
        const char *name = adz_safetensors_name_at(file, i);
        if (adz_safetensors_has(wanted, name)) {
            adz_safetensors_add(own, name, adz_safetensors_at(file, i));
        }
    }
    adz_module_load_safetensors(m->root, own, true);
    adz_safetensors_free(&wanted);
    adz_safetensors_free(&own);
}

model load_model(const char *path, adz_safetensors **training)
{
    char key[32];
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    model m = { .n_features = (size_t)get_number(path, file, "features", 1, 1e6) };
    m.features = calloc(m.n_features, sizeof *m.features);
    if (m.features == NULL) {
        fail("out of memory");
    }
    for (size_t i = 0; i < m.n_features; ++i) {
        snprintf(key, sizeof key, "feature.%zu", i);
        m.features[i] = get_name(path, file, key);
    }
    m.target_name = get_name(path, file, "target");
    m.n_hidden = (int)get_number(path, file, "hidden", 1, MAX_HIDDEN);
    for (int i = 0; i < m.n_hidden; ++i) {
        snprintf(key, sizeof key, "hidden.%d", i);
        m.hidden[i] = (int64_t)get_number(path, file, key, 1, 1 << 20);
    }
    snprintf(m.activation, sizeof m.activation, "%s", get_text(path, file, "activation"));
    if (!is_activation(m.activation)) {
        fail("%s: its metadata has 'activation' as '%s'", path, m.activation);
    }
    m.dropout = get_number(path, file, "dropout", 0, 0.999);
    m.gated = get_number(path, file, "gated", 0, 1) != 0;
    build(&m);
    const char *version = adz_safetensors_get_metadata(file, TRAINING_MARK);
    if (version != NULL && strcmp(version, TRAINING_VERSION) != 0 &&
        strcmp(version, TRAINING_VERSION_EARLIER) != 0) {
        fail("%s: was saved by a later version of this program", path);
    }
    if (version != NULL) {
        load_weights(&m, file);
    } else {
        adz_module_load_safetensors(m.root, file, true);
    }
    if (training != NULL) {
        *training = version != NULL ? file : NULL;
    }
    if (training == NULL || version == NULL) {
        adz_safetensors_free(&file);
    }
    return m;
}
