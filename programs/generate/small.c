/* Trains a Llama of two layers on windows of the embedded text. Its tokens are the frequent words,
 * and bytes for all other words. */
#define _GNU_SOURCE
#include "small.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/pretrained/folder.h"
#include "../../examples/pretrained/small.h"
#include "../../examples/shared/command_line.h"
#include "../../examples/text/text.h"

enum { WORDS = 1200, WIDTH = 64, INNER = 160, LAYERS = 2, BATCH = 16, CONTEXT = 32, BYTES = 256 };

/* ---- files ---------------------------------------------------------------------------------- */

/* The characters that stand for bytes in a byte-level vocabulary: printable bytes stand for
 * themselves, and the others for characters from U+0100 on, in their order. */
static void write_byte(FILE *file, int byte)
{
    int others = 0;
    char text[4];
    for (int b = 0; b <= byte; ++b) {
        const bool own = (b > ' ' && b < 0x7f) || (b > 0xa0 && b != 0xad);
        others += !own;
        if (b == byte && own && (b == '"' || b == '\\')) {
            fprintf(file, "\\%c", b);
        } else if (b == byte) {
            const uint32_t point = own ? (uint32_t)b : 0xffU + (uint32_t)others;
            fwrite(text, 1, adz_utf8_write(point, text, sizeof text), file);
        }
    }
}

static char *tokenizer_json(const word_list *words, size_t *vocabulary)
{
    char *text = NULL;
    size_t size, id = BYTES;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL) {
        fail("out of memory");
    }
    fputs("{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[],"
          "\"normalizer\":null,\n"
          "\"pre_tokenizer\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,"
          "\"trim_offsets\":true,\"use_regex\":true},\n"
          "\"post_processor\":null,\n"
          "\"decoder\":{\"type\":\"ByteLevel\",\"add_prefix_space\":false,\"trim_offsets\":true,"
          "\"use_regex\":true},\n"
          "\"model\":{\"type\":\"BPE\",\"dropout\":null,\"unk_token\":null,"
          "\"continuing_subword_prefix\":null,\"end_of_word_suffix\":null,\"fuse_unk\":false,"
          "\"byte_fallback\":false,\"ignore_merges\":true,\"merges\":[],\"vocab\":{",
        file);
    for (int b = 0; b < BYTES; ++b) {
        fputs(b > 0 ? ",\n\"" : "\n\"", file);
        write_byte(file, b);
        fprintf(file, "\":%d", b);
    }
    for (size_t i = 0; i < words->count; ++i) {
        if (words->words[i][1] == '\0') {
            continue; /* a byte */
        }
        fputs(",\n\"", file);
        for (const char *c = words->words[i]; *c != '\0'; ++c) {
            write_byte(file, *c);
        }
        fprintf(file, "\":%zu", id++);
    }
    fputs("}}}\n", file);
    fclose(file);
    *vocabulary = id;
    return text;
}

static char *config_json(size_t vocabulary)
{
    char *text = allocate(1024);
    snprintf(text, 1024,
        "{\"architectures\":[\"LlamaForCausalLM\"],\"model_type\":\"llama\",\"vocab_size\":%zu,\n"
        " \"hidden_size\":%d,\"intermediate_size\":%d,\"num_hidden_layers\":%d,\n"
        " \"num_attention_heads\":4,\"num_key_value_heads\":2,\"head_dim\":16,\n"
        " \"hidden_act\":\"silu\",\"max_position_embeddings\":%d,\"rms_norm_eps\":1e-05,\n"
        " \"rope_theta\":10000.0,\"tie_word_embeddings\":true,\"attention_bias\":false,\n"
        " \"mlp_bias\":false,\"bos_token_id\":null,\"eos_token_id\":null,\"pad_token_id\":null}\n",
        vocabulary, WIDTH, INNER, LAYERS, SMALL_POSITIONS);
    return text;
}

static adz_module *open_llama(size_t vocabulary, const small_file *files, size_t n)
{
    const small_weight weights[] = {
        { "model.embed_tokens.weight", (int64_t)vocabulary, WIDTH },
        { "model.layers.%d.input_layernorm.weight", WIDTH, 0 },
        { "model.layers.%d.self_attn.q_proj.weight", WIDTH, WIDTH },
        { "model.layers.%d.self_attn.k_proj.weight", WIDTH / 2, WIDTH },
        { "model.layers.%d.self_attn.v_proj.weight", WIDTH / 2, WIDTH },
        { "model.layers.%d.self_attn.o_proj.weight", WIDTH, WIDTH },
        { "model.layers.%d.post_attention_layernorm.weight", WIDTH, 0 },
        { "model.layers.%d.mlp.gate_proj.weight", INNER, WIDTH },
        { "model.layers.%d.mlp.up_proj.weight", INNER, WIDTH },
        { "model.layers.%d.mlp.down_proj.weight", WIDTH, INNER },
        { "model.norm.weight", WIDTH, 0 },
    };
    return open_small(files, n, weights, sizeof weights / sizeof *weights, LAYERS, 3);
}

/* ---- training ------------------------------------------------------------------------------- */

/* The embedded text with one line for each paragraph. */
static char *text_of_paragraphs(void)
{
    size_t size;
    char *text = embedded_text(&size);
    for (size_t i = 1; i + 1 < size; ++i) {
        if (text[i] == '\n' && text[i - 1] != '\n' && text[i + 1] != '\n') {
            text[i] = ' ';
        }
    }
    return text;
}

/* The mean cross entropy of the next token, over windows that begin anywhere. */
static adz_tensor *loss_of(adz_module *model, adz_tensor *ids)
{
    int64_t inputs[BATCH * CONTEXT], targets[BATCH * CONTEXT];
    const int64_t *all = adz_tensor_data_i64(ids);
    const int64_t *at =
        adz_tensor_data_i64(adz_randperm(adz_tensor_numel(ids) - CONTEXT)); /* begins of windows */
    for (int64_t i = 0; i < BATCH; ++i) {
        memcpy(inputs + i * CONTEXT, all + at[i], CONTEXT * sizeof *inputs);
        memcpy(targets + i * CONTEXT, all + at[i] + 1, CONTEXT * sizeof *targets);
    }
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", adz_tensor_from(inputs, ADZ_SHAPE(BATCH, CONTEXT), ADZ_I64));
    adz_module_call(model, in, out);
    adz_tensor *logits = adz_values_get(out, "logits");
    const adz_shape rows = ADZ_SHAPE(BATCH * CONTEXT, adz_tensor_size(logits, 2));
    adz_tensor *wanted = adz_tensor_from(targets, ADZ_SHAPE(BATCH * CONTEXT), ADZ_I64);
    adz_tensor *loss = adz_cross_entropy(adz_reshape(logits, rows), wanted, ADZ_NONE, NULL);
    adz_values_free(&in);
    adz_values_free(&out);
    return loss;
}

static void train(adz_module *model, adz_tensor *ids, int64_t steps)
{
    adz_optimizer *adam = adz_adamw_new(adz_module_parameters(model), 0.01, NULL);
    adz_scheduler *cycle = adz_one_cycle_lr_new(adam, 0.01, steps + 1, NULL);
    double loss = 0;
    adz_module_train(model, true);
    for (int64_t step = 0; step < steps; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_module_zero_grad(model);
        adz_tensor *l = loss_of(model, ids);
        adz_backward(l);
        adz_clip_grad_norm(adz_module_parameters(model), 1, 2);
        adz_optimizer_step(adam);
        adz_scheduler_step(cycle);
        loss = adz_item(l);
        adz_scope_close(scope);
    }
    adz_module_eval(model);
    adz_scheduler_release(&cycle);
    adz_optimizer_release(&adam);
    remark("%lld step%s: loss %.3f", (long long)steps, plural(steps), loss);
}

adz_module *train_small(int64_t steps, const char *save, adz_tokenizer **tokenizer)
{
    size_t vocabulary;
    if (save != NULL) {
        make_model_folder(save);
    }
    char *text = text_of_paragraphs();
    word_list words = frequent_words(text, WORDS, true);
    char *tokens = tokenizer_json(&words, &vocabulary), *config = config_json(vocabulary);
    const small_file files[] = { { "config.json", config }, { "tokenizer.json", tokens } };
    const size_t n = sizeof files / sizeof *files;
    *tokenizer = adz_pretrained_tokenizer_from_memory(tokens, strlen(tokens), NULL);
    adz_module *model = open_llama(vocabulary, files, n);
    adz_scope *scope = adz_scope_open();
    train(model, adz_tokenizer_encode(*tokenizer, text, strlen(text)), steps);
    adz_scope_close(scope);
    if (save != NULL) {
        save_small(model, save, files, n);
    }
    free(config);
    free(tokens);
    free_words(&words);
    free(text);
    return model;
}
