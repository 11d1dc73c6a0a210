/* The model of the checkpoint is a module around the network. Its buffers hold the options and the
 * vocabulary. */
#include "checkpoint.h"

#include <adze/custom.h>
#include <adze/zoo.h>
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
    adz_tokenizer *tokenizer = adz_tokenizer_from_memory(text, size, adz_fastai_token_rules());
    free(text);
    adz_safetensors_free(&file);
    return tokenizer;
}

/* ---- writing and reading -------------------------------------------------------------------- */

static void add_bytes(adz_module *wrapped, const char *name, const char *bytes, size_t size)
{
    adz_tensor *t = adz_tensor_from(bytes, ADZ_SHAPE((int64_t)size), ADZ_U8);
    adz_module_add_buffer(wrapped, name, t, true);
}

static adz_module *wrap(adz_module *network)
{
    adz_module *wrapped = adz_module_new(&wrapped_type, 0);
    adz_module_add_child(wrapped, "network", adz_module_keep(network));
    return wrapped;
}

/* The parts of a checkpoint. The generator is the default one. */
static adz_checkpoint parts_of(adz_module *wrapped, adz_data_parallel *parallel,
    adz_optimizer *optimizer, adz_scheduler *const *schedule)
{
    static adz_generator *const generators[1] = { NULL };
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = wrapped;
    c.parallel = parallel;
    c.optimizer = optimizer;
    c.schedulers = schedule;
    c.n_schedulers = *schedule != NULL;
    c.generators = generators;
    c.n_generators = 1;
    return c;
}

void save_checkpoint(const char *path, const options *o, adz_module *network,
    adz_tokenizer *tokenizer, adz_data_parallel *parallel, adz_optimizer *optimizer,
    adz_scheduler *schedule, int64_t step)
{
    adz_scope *scope = adz_scope_open();
    adz_module *wrapped = wrap(network);
    char *text = options_text(o);
    add_bytes(wrapped, "options", text, strlen(text));
    adz_module_add_buffer(wrapped, "vocabulary", adz_tokenizer_to_memory(tokenizer), true);
    adz_checkpoint c = parts_of(wrapped, parallel, optimizer, &schedule);
    c.step = step;
    adz_checkpoint_save(&c, path);
    free(text);
    adz_module_release(&wrapped);
    adz_scope_close(scope);
}

/* Adds a buffer for each tensor of the file that is not the network's. Earlier versions have saved
 * what the network carries there, too; it is read and not used. */
static void add_buffers_of(adz_module *wrapped, adz_safetensors *file)
{
    static const char model[] = "model.", network[] = "model.network.";
    for (size_t i = 0; i < adz_safetensors_count(file); ++i) {
        const char *name = adz_safetensors_name_at(file, i);
        if (strncmp(name, model, sizeof model - 1) == 0 &&
            strncmp(name, network, sizeof network - 1) != 0) {
            adz_tensor *t = adz_safetensors_at(file, i);
            adz_tensor *like = adz_zeros(adz_tensor_shape(t), adz_tensor_dtype(t));
            adz_module_add_buffer(wrapped, name + sizeof model - 1, like, true);
        }
    }
}

int64_t load_checkpoint(const char *path, adz_module *network, adz_data_parallel *parallel,
    adz_optimizer *optimizer, adz_scheduler *schedule)
{
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = open_file(path);
    adz_module *wrapped = wrap(network);
    add_buffers_of(wrapped, file);
    adz_safetensors_free(&file);
    adz_checkpoint c = parts_of(wrapped, parallel, optimizer, &schedule);
    adz_checkpoint_load(&c, path);
    adz_module_release(&wrapped);
    adz_scope_close(scope);
    return c.step;
}
