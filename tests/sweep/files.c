/* Writes the files to which the paths of the sweep lead. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "objects.h"

static struct {
    const char *name;
    char bytes[8192];
    size_t size;
} files[] = { { .name = "file.safetensors" }, { .name = "file.npy" }, { .name = "file.csv" },
    { .name = "file.tokens" }, { .name = "module.safetensors" }, { .name = "file.checkpoint" },
    { .name = "file.onnx" }, { .name = "file.pb" }, { .name = "tokenizer.json" },
    { .name = "published/config.json" }, { .name = "published/model.safetensors" } };

/* A language model without layers, which the folder "published" has. */
static const char config_json[] =
    "{\"architectures\": [\"LlamaForCausalLM\"], \"model_type\": \"llama\", \"vocab_size\": 3,"
    " \"hidden_size\": 2, \"intermediate_size\": 2, \"num_hidden_layers\": 0,"
    " \"num_attention_heads\": 1, \"tie_word_embeddings\": true}";

/* A TensorProto of ONNX: one dimension of 3, f32, and twelve bytes of contents. */
static const char tensor_proto[] = "\x08\x03\x10\x01\x4a\x0c\0\0\0\0\0\0\x80\x3f\0\0\0\x40";

static void save_published(void)
{
    adz_safetensors *weights = adz_safetensors_new();
    mkdir("published", 0777);
    adz_safetensors_add(weights, "model.embed_tokens.weight", adz_ones(ADZ_SHAPE(3, 2), ADZ_F32));
    adz_safetensors_add(weights, "model.norm.weight", adz_ones(ADZ_SHAPE(2), ADZ_F32));
    adz_safetensors_save(weights, files[10].name);
    adz_safetensors_free(&weights);
}

static void files_save(void)
{
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = safetensors_make();
    adz_tokenizer *tokenizer = tokenizer_make(0);
    adz_module *module = module_make(0);
    adz_optimizer *optimizer = optimizer_make(0);
    adz_checkpoint checkpoint = ADZ_CHECKPOINT;
    checkpoint.model = module;
    adz_safetensors_save(file, files[0].name);
    adz_npy_save(tensor_make(0), files[1].name, NULL);
    adz_tokenizer_save(tokenizer, files[3].name);
    adz_module_save(module, files[4].name);
    adz_checkpoint_save(&checkpoint, files[5].name);
    adz_module_write_onnx(module, adz_ones(ADZ_SHAPE(3, 3), ADZ_F32), files[6].name, NULL);
    save_published();
    adz_safetensors_free(&file);
    adz_tokenizer_free(&tokenizer);
    adz_module_release(&module);
    adz_optimizer_release(&optimizer);
    adz_scope_close(scope);
}

void files_write(void)
{
    if (files[0].size == 0) {
        files_save();
        memcpy(files[2].bytes, csv_text, files[2].size = sizeof csv_text - 1);
        memcpy(files[9].bytes, config_json, files[9].size = sizeof config_json - 1);
        memcpy(files[7].bytes, tensor_proto, files[7].size = sizeof tensor_proto - 1);
        memcpy(files[8].bytes, tokenizer_json, files[8].size = strlen(tokenizer_json));
    }
    for (size_t i = 0; i < COUNT_OF(files); ++i) {
        FILE *file = fopen(files[i].name, files[i].size == 0 ? "rb" : "wb");
        if (file != NULL && files[i].size == 0) {
            files[i].size = fread(files[i].bytes, 1, sizeof files[i].bytes, file);
        } else if (file != NULL) {
            fwrite(files[i].bytes, 1, files[i].size, file);
        }
        if (file != NULL) {
            fclose(file);
        }
    }
}

const void *file_bytes(const char *name, size_t *size)
{
    for (size_t i = 0; i < COUNT_OF(files); ++i) {
        if (strcmp(files[i].name, name) == 0) {
            *size = files[i].size;
            return files[i].bytes;
        }
    }
    *size = 0;
    return NULL;
}
