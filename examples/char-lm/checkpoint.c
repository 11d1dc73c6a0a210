/* The model of the checkpoint is a module around the network. Its buffers hold the options, the
 * vocabulary, and the values that the network carries from step to step. The state of the network
 * itself leaves these values out. */
#include "checkpoint.h"

#include <adze/custom.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/program.h"

static adz_tensor *wrapped_forward(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(adz_module_child_at(self, 0), x);
}

static const adz_module_type wrapped_type = {
    .size = sizeof(adz_module_type), .name = "CharLM", .forward = wrapped_forward
};

/* ---- reading parts of a file ---------------------------------------------------------------- */

static adz_safetensors *open_file(const char *path)
{
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    if (!adz_safetensors_has(file, "model.options") ||
        !adz_safetensors_has(file, "model.vocabulary")) {
        fail("%s: this is no checkpoint of this program", path);
    }
    return file;
}

char *checkpoint_options(const char *path)
{
    size_t size;
    adz_safetensors *file = open_file(path);
    char *text = read_bytes(file, "model.options", &size);
    adz_safetensors_free(&file);
    return text;
}

adz_tokenizer *checkpoint_tokenizer(const char *path)
{
    size_t size;
    adz_safetensors *file = open_file(path);
    char *text = read_bytes(file, "model.vocabulary", &size);
    adz_tokenizer *tokenizer = adz_tokenizer_from_memory(text, size);
    free(text);
    adz_safetensors_free(&file);
    return tokenizer;
}

/* ---- values that the network carries -------------------------------------------------------- */

/* Collects the buffers that the network's state leaves out. Returns their names, one per line, for
 * free(). The tensors become buffers "carried_0", "carried_1", ... of the module around the
 * network. */
static char *add_carried(adz_module *wrapped, adz_module *network)
{
    adz_state *state = adz_module_state_dict(network);
    adz_named_list buffers = adz_module_named_buffers(network);
    char *names = allocate(buffers.count * 256 + 1);
    size_t used = 0;
    int count = 0;
    for (size_t i = 0; i < buffers.count; ++i) {
        const char *name = buffers.items[i].name;
        if (adz_state_find(state, name) == NULL) {
            char own[32];
            snprintf(own, sizeof own, "carried_%d", count++);
            adz_module_add_buffer(wrapped, own, buffers.items[i].tensor, true);
            used += (size_t)snprintf(names + used, 256, "%.250s\n", name);
        }
    }
    adz_state_free(&state);
    return names;
}

/* Writes the carried values back into the network's buffers, by their names. */
static void restore_carried(adz_module *wrapped, adz_module *network, char *names)
{
    int count = 0;
    for (char *path = strtok(names, "\n"); path != NULL; path = strtok(NULL, "\n")) {
        char own[32], *dot = strrchr(path, '.');
        snprintf(own, sizeof own, "carried_%d", count++);
        adz_module *owner = network;
        if (dot != NULL) {
            *dot = '\0';
            owner = adz_module_child(network, path);
        }
        adz_module_set_buffer(owner, dot != NULL ? dot + 1 : path, adz_module_buffer(wrapped, own));
    }
}

static void add_bytes(adz_module *wrapped, const char *name, const char *bytes, size_t size)
{
    adz_tensor *t = adz_tensor_from(bytes, ADZ_SHAPE((int64_t)size), ADZ_U8);
    adz_module_add_buffer(wrapped, name, t, true);
}

/* ---- writing and reading -------------------------------------------------------------------- */

static adz_module *wrap(adz_module *network)
{
    adz_module *wrapped = adz_module_new(&wrapped_type, 0);
    adz_module_add_child(wrapped, "network", adz_module_keep(network));
    return wrapped;
}

void save_checkpoint(const char *path, const options *o, adz_module *network,
    adz_tokenizer *tokenizer, adz_optimizer *optimizer, adz_scheduler *schedule, int64_t step)
{
    adz_scope *scope = adz_scope_open();
    adz_module *wrapped = wrap(network);
    char *text = options_text(o), *names = add_carried(wrapped, network);
    size_t size = adz_tokenizer_to_memory(tokenizer, NULL, 0);
    char *vocabulary = allocate(size);
    adz_tokenizer_to_memory(tokenizer, vocabulary, size);
    add_bytes(wrapped, "options", text, strlen(text));
    add_bytes(wrapped, "vocabulary", vocabulary, size);
    add_bytes(wrapped, "carried", names, strlen(names));
    adz_generator *generators[] = { NULL };
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = wrapped;
    c.optimizer = optimizer;
    c.schedulers = &schedule;
    c.n_schedulers = schedule != NULL;
    c.generators = generators;
    c.n_generators = 1;
    c.step = step;
    adz_checkpoint_save(&c, path);
    free(vocabulary);
    free(names);
    free(text);
    adz_module_free(&wrapped);
    adz_scope_close(scope);
}

/* Adds a buffer of the shape that the tensor in the file has. */
static void add_like(adz_module *wrapped, adz_safetensors *file, const char *name)
{
    char whole[64];
    snprintf(whole, sizeof whole, "model.%s", name);
    adz_tensor *t = adz_safetensors_get(file, whole);
    adz_module_add_buffer(wrapped, name, adz_zeros(adz_tensor_shape(t), adz_tensor_dtype(t)), true);
}

int64_t load_checkpoint(
    const char *path, adz_module *network, adz_optimizer *optimizer, adz_scheduler *schedule)
{
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = open_file(path);
    adz_module *wrapped = wrap(network);
    size_t size;
    char *names = read_bytes(file, "model.carried", &size), own[32];
    int count = 0;
    for (size_t i = 0; i < size; ++i) {
        if (names[i] == '\n') {
            snprintf(own, sizeof own, "carried_%d", count++);
            add_like(wrapped, file, own);
        }
    }
    add_like(wrapped, file, "options");
    add_like(wrapped, file, "vocabulary");
    add_like(wrapped, file, "carried");
    adz_safetensors_free(&file);
    adz_generator *generators[] = { NULL };
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = wrapped;
    c.optimizer = optimizer;
    c.schedulers = &schedule;
    c.n_schedulers = schedule != NULL;
    c.generators = generators;
    c.n_generators = 1;
    adz_checkpoint_load(&c, path);
    restore_carried(wrapped, network, names);
    free(names);
    adz_module_free(&wrapped);
    adz_scope_close(scope);
    return c.step;
}
