/* Trains a BERT of one layer: sentences that follow each other in the embedded text get similar
 * vectors, and other sentences different ones. */
#define _GNU_SOURCE
#include "small.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/pretrained/folder.h"
#include "../../examples/pretrained/small.h"
#include "../../examples/shared/command_line.h"
#include "../../examples/shared/progress.h"
#include "../../examples/text/text.h"

enum { WORDS = 1500, WIDTH = 64, INNER = 128, POSITIONS = 128, PAIRS = 32, READ = 32 };

static const char modules_json[] =
    "[{\"idx\":0,\"name\":\"0\",\"path\":\"\",\"type\":\"sentence_transformers.models.Transformer\"},\n"
    " {\"idx\":1,\"name\":\"1\",\"path\":\"1_Pooling\",\"type\":\"sentence_transformers.models.Pooling\"},\n"
    " {\"idx\":2,\"name\":\"2\",\"path\":\"2_Normalize\",\"type\":\"sentence_transformers.models.Normalize\"}]\n";
static const char pooling_json[] =
    "{\"word_embedding_dimension\":64,\"pooling_mode_cls_token\":false,\n"
    " \"pooling_mode_mean_tokens\":true,\"pooling_mode_max_tokens\":false,\n"
    " \"pooling_mode_mean_sqrt_len_tokens\":false}\n";

/* ---- files ---------------------------------------------------------------------------------- */

static char *config_json(size_t vocabulary)
{
    char *text = allocate(1024);
    snprintf(text, 1024,
        "{\"architectures\":[\"BertModel\"],\"model_type\":\"bert\",\"vocab_size\":%zu,\n"
        " \"hidden_size\":%d,\"num_hidden_layers\":1,\"num_attention_heads\":4,\n"
        " \"intermediate_size\":%d,\"hidden_act\":\"gelu\",\"hidden_dropout_prob\":0.0,\n"
        " \"attention_probs_dropout_prob\":0.0,\"max_position_embeddings\":%d,\n"
        " \"type_vocab_size\":2,\"layer_norm_eps\":1e-12,\"pad_token_id\":0}\n",
        vocabulary, WIDTH, INNER, POSITIONS);
    return text;
}

/* A WordPiece of the frequent words, and of letters for all other words. */
static char *tokenizer_json(const word_list *words, size_t *vocabulary)
{
    static const char *const special[] = { "[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]" };
    enum { SPECIAL = 5 };
    char *text = NULL;
    size_t size, id = SPECIAL;
    FILE *file = open_memstream(&text, &size);
    if (file == NULL) {
        fail("out of memory");
    }
    fputs("{\"version\":\"1.0\",\"truncation\":null,\"padding\":null,\"added_tokens\":[", file);
    for (int i = 0; i < SPECIAL; ++i) {
        fprintf(file,
            "%s\n{\"id\":%d,\"content\":\"%s\",\"single_word\":false,\"lstrip\":false,\"rstrip\":false,"
            "\"normalized\":false,\"special\":true}",
            i > 0 ? "," : "", i, special[i]);
    }
    fputs(
        "],\n\"normalizer\":{\"type\":\"BertNormalizer\",\"clean_text\":true,"
        "\"handle_chinese_chars\":true,\"strip_accents\":null,\"lowercase\":true},\n"
        "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\n"
        "\"post_processor\":{\"type\":\"BertProcessing\",\"sep\":[\"[SEP]\",3],\"cls\":[\"[CLS]\",2]},\n"
        "\"decoder\":{\"type\":\"WordPiece\",\"prefix\":\"##\",\"cleanup\":true},\n"
        "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","
        "\"max_input_chars_per_word\":100,\"vocab\":{",
        file);
    for (int i = 0; i < SPECIAL; ++i) {
        fprintf(file, "%s\"%s\":%d", i > 0 ? "," : "", special[i], i);
    }
    for (const char *sign = "abcdefghijklmnopqrstuvwxyz0123456789.,;:!?'-"; *sign != '\0'; ++sign) {
        fprintf(file, ",\n\"%c\":%zu,\"##%c\":%zu", *sign, id, *sign, id + 1);
        id += 2;
    }
    for (size_t i = 0; i < words->count; ++i) {
        if (words->words[i][1] != '\0') {
            fprintf(file, ",\n\"%s\":%zu", words->words[i], id++);
        }
    }
    fputs("}}}\n", file);
    fclose(file);
    *vocabulary = id;
    return text;
}

static adz_module *open_bert(size_t vocabulary, const small_file *files, size_t n)
{
    const small_weight weights[] = {
        { "embeddings.word_embeddings.weight", (int64_t)vocabulary, WIDTH },
        { "embeddings.position_embeddings.weight", POSITIONS, WIDTH },
        { "embeddings.token_type_embeddings.weight", 2, WIDTH },
        { "embeddings.LayerNorm.weight", WIDTH, 0 },
        { "embeddings.LayerNorm.bias", WIDTH, 0 },
        { "encoder.layer.%d.attention.self.query.weight", WIDTH, WIDTH },
        { "encoder.layer.%d.attention.self.query.bias", WIDTH, 0 },
        { "encoder.layer.%d.attention.self.key.weight", WIDTH, WIDTH },
        { "encoder.layer.%d.attention.self.key.bias", WIDTH, 0 },
        { "encoder.layer.%d.attention.self.value.weight", WIDTH, WIDTH },
        { "encoder.layer.%d.attention.self.value.bias", WIDTH, 0 },
        { "encoder.layer.%d.attention.output.dense.weight", WIDTH, WIDTH },
        { "encoder.layer.%d.attention.output.dense.bias", WIDTH, 0 },
        { "encoder.layer.%d.attention.output.LayerNorm.weight", WIDTH, 0 },
        { "encoder.layer.%d.attention.output.LayerNorm.bias", WIDTH, 0 },
        { "encoder.layer.%d.intermediate.dense.weight", INNER, WIDTH },
        { "encoder.layer.%d.intermediate.dense.bias", INNER, 0 },
        { "encoder.layer.%d.output.dense.weight", WIDTH, INNER },
        { "encoder.layer.%d.output.dense.bias", WIDTH, 0 },
        { "encoder.layer.%d.output.LayerNorm.weight", WIDTH, 0 },
        { "encoder.layer.%d.output.LayerNorm.bias", WIDTH, 0 },
    };
    return open_small(files, n, weights, sizeof weights / sizeof *weights, 1, 1);
}

/* ---- training ------------------------------------------------------------------------------- */

/* Vectors of sentences `by` behind those that `at` counts from. */
static adz_tensor *vectors_of(
    const encoder *e, const word_list *sentences, const int64_t *at, size_t by)
{
    adz_text texts[PAIRS];
    for (size_t i = 0; i < PAIRS; ++i) {
        const char *text = sentences->words[(size_t)at[i] + by];
        texts[i] = (adz_text){ text, strlen(text) };
    }
    return encode_batch(e, texts, PAIRS, NULL);
}

/* The mean cross entropy of finding a sentence's follower among those of the batch, both ways. */
static adz_tensor *loss_of(const encoder *e, const word_list *sentences, const int64_t *at)
{
    const double sharpness = 20;
    adz_tensor *a = vectors_of(e, sentences, at, 0), *b = vectors_of(e, sentences, at, 1);
    adz_tensor *scores = adz_mul_number(adz_matmul(a, adz_transpose(b, 0, 1)), sharpness);
    adz_tensor *own = adz_arange(0, PAIRS, 1, ADZ_I64);
    return adz_cross_entropy(scores, own, ADZ_NONE, NULL);
}

static void train(const encoder *e, const word_list *sentences, int64_t steps)
{
    adz_optimizer *adam = adz_adamw_new(adz_module_parameters(e->model), 0.003, NULL);
    double loss = 0;
    adz_module_train(e->model, true);
    for (int64_t step = 0; step < steps; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_module_zero_grad(e->model);
        const int64_t *at = adz_tensor_data_i64(adz_randperm((int64_t)sentences->count - 1));
        adz_tensor *l = loss_of(e, sentences, at);
        adz_backward(l);
        adz_optimizer_step(adam);
        loss = adz_item(l);
        adz_scope_close(scope);
    }
    adz_module_eval(e->model);
    adz_optimizer_release(&adam);
    remark("%lld step%s: loss %.3f", (long long)steps, plural(steps), loss);
}

encoder train_small(int64_t steps, const char *save)
{
    size_t size, vocabulary;
    if (save != NULL) {
        make_model_folder(save);
    }
    char *text = embedded_text(&size);
    word_list words = frequent_words(text, WORDS, false), sentences = embedded_sentences();
    char *tokenizer = tokenizer_json(&words, &vocabulary), *config = config_json(vocabulary);
    const small_file files[] = { { "config.json", config }, { "modules.json", modules_json },
        { "1_Pooling/config.json", pooling_json }, { "tokenizer.json", tokenizer } };
    const size_t n = sizeof files / sizeof *files;
    encoder e = { .max_length = READ };
    e.tokenizer = adz_pretrained_tokenizer_from_memory(tokenizer, strlen(tokenizer), NULL);
    e.model = open_bert(vocabulary, files, n);
    train(&e, &sentences, steps);
    e.max_length = POSITIONS;
    if (save != NULL) {
        save_small(e.model, save, files, n);
    }
    free(config);
    free(tokenizer);
    free_words(&sentences);
    free_words(&words);
    free(text);
    return e;
}
