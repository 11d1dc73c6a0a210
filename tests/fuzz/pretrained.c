#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "adze/io/safetensors.h"
#include "adze/models.h"

#include "check.h"

/* Two folders: one with model.safetensors, and one with two shards, whose index may change. */
static char one[64], many[64];
static int config_of_one = -1, config_of_many = -1, index_of_many = -1;

static const char config[] =
    "{\"model_type\":\"llama\",\"architectures\":[\"LlamaForCausalLM\"],\"hidden_size\":2,"
    "\"intermediate_size\":2,\"num_hidden_layers\":0,\"num_attention_heads\":1,\"vocab_size\":3,"
    "\"tie_word_embeddings\":true}";

static const char *const names[] = { "config.json", "model.safetensors",
    "model.safetensors.index.json", "a.safetensors", "b.safetensors" };

static const char *path_in(const char *folder, const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

/* Writes a file that stays open. It is not cut to nothing, which some file systems answer by
 * writing it to the disk. */
static void write_file(
    int *file, const char *folder, const char *name, const void *bytes, size_t size)
{
    if (*file < 0) {
        *file = open(path_in(folder, name), O_RDWR | O_CREAT | O_TRUNC, 0600);
        MUST(*file >= 0);
    }
    MUST(pwrite(*file, bytes, size, 0) == (ssize_t)size);
    MUST(ftruncate(*file, (off_t)size) == 0);
}

static void write_weights(const char *folder, const char *name, bool table, bool norm)
{
    adz_safetensors *file = adz_safetensors_new();
    if (table) {
        adz_safetensors_add(file, "model.embed_tokens.weight", adz_ones(ADZ_SHAPE(3, 2), ADZ_F16));
    }
    if (norm) {
        adz_safetensors_add(file, "model.norm.weight", adz_ones(ADZ_SHAPE(2), ADZ_F32));
    }
    MUST(adz_safetensors_save(file, path_in(folder, name)) == ADZ_OK);
    adz_safetensors_free(&file);
}

static void remove_folders(void)
{
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        remove(path_in(one, names[i]));
        remove(path_in(many, names[i]));
    }
    rmdir(one);
    rmdir(many);
}

static void begin(void)
{
    strcpy(one, "adze-fuzz-XXXXXX");
    strcpy(many, "adze-fuzz-XXXXXX");
    MUST(mkdtemp(one) != NULL && mkdtemp(many) != NULL);
    atexit(remove_folders);
    adz_scope *scope = adz_scope_open();
    write_weights(one, "model.safetensors", true, true);
    write_weights(many, "a.safetensors", true, false);
    write_weights(many, "b.safetensors", false, true);
    adz_scope_close(scope);
    write_file(&config_of_many, many, "config.json", config, sizeof config - 1);
}

/* A model that opens computes, or says why it does not. */
static void must_work(adz_module *model)
{
    const int64_t ids[] = { 0, 2 };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", adz_tensor_from(ids, ADZ_SHAPE(1, 2), ADZ_I64));
    if (adz_module_call(model, in, out) != ADZ_OK) {
        must_have_failed(); /* fewer positions than that, for example */
    }
    adz_values_free(&in);
    adz_values_free(&out);
}

/* A byte, and a file: 'i' and the index of shards, or another one and config.json. */
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    if (size == 0) {
        return 0;
    }
    if (one[0] == '\0') {
        begin();
    }
    const int64_t tensors = adzi_live_tensors();
    adz_on_error(adz_quiet, NULL);
    const bool index = bytes[0] == 'i';
    if (index) {
        write_file(&index_of_many, many, "model.safetensors.index.json", bytes + 1, size - 1);
    } else {
        write_file(&config_of_one, one, "config.json", bytes + 1, size - 1);
    }
    adz_scope *scope = adz_scope_open();
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.as_stored = size % 2 != 0;
    adz_module *model = adz_pretrained_open(index ? many : one, &o);
    if (model == NULL) {
        must_have_failed();
    } else {
        must_work(model);
    }
    adz_module_release(&model);
    adz_scope_close(scope);
    MUST(adzi_live_tensors() == tensors);
    return 0;
}
