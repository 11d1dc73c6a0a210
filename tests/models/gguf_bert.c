/* GGUF files of the architecture bert. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../errors.h"
#include "adze/models.h"
#include "gguf_parts.h"

enum { WIDTH = 32, INNER = 64, HEADS = 2, WORDS = 40, POSITIONS = 16, WEIGHTS = 21 };

/* The weights of a BERT of one layer. */
static const gguf_part parts[WEIGHTS] = {
    { "embeddings.word_embeddings.weight", "token_embd.weight", WORDS, WIDTH, false },
    { "embeddings.position_embeddings.weight", "position_embd.weight", POSITIONS, WIDTH, false },
    { "embeddings.token_type_embeddings.weight", "token_types.weight", 2, WIDTH, false },
    { "embeddings.LayerNorm.weight", "token_embd_norm.weight", WIDTH, 0, false },
    { "embeddings.LayerNorm.bias", "token_embd_norm.bias", WIDTH, 0, false },
#define LAYER(name, own, rows, columns)                                                      \
    { "encoder.layer.0." name ".weight", "blk.0." own ".weight", (rows), (columns), false }, \
    {                                                                                        \
        "encoder.layer.0." name ".bias", "blk.0." own ".bias", (rows), 0, false              \
    }
    LAYER("attention.self.query", "attn_q", WIDTH, WIDTH),
    LAYER("attention.self.key", "attn_k", WIDTH, WIDTH),
    LAYER("attention.self.value", "attn_v", WIDTH, WIDTH),
    LAYER("attention.output.dense", "attn_output", WIDTH, WIDTH),
    LAYER("attention.output.LayerNorm", "attn_output_norm", WIDTH, 0),
    LAYER("intermediate.dense", "ffn_up", INNER, WIDTH),
    LAYER("output.dense", "ffn_down", WIDTH, INNER),
    LAYER("output.LayerNorm", "layer_output_norm", WIDTH, 0),
};

static const char config[] =
    "{ \"model_type\": \"bert\", \"architectures\": [\"BertModel\"], \"hidden_size\": 32,"
    " \"intermediate_size\": 64, \"num_attention_heads\": 2, \"num_hidden_layers\": 1,"
    " \"max_position_embeddings\": 16, \"type_vocab_size\": 2, \"vocab_size\": 40,"
    " \"layer_norm_eps\": 0.0078125 }";

static const char modules[] =
    "[ { \"type\": \"sentence_transformers.models.Transformer\", \"path\": \"\" },"
    " { \"type\": \"sentence_transformers.models.Pooling\", \"path\": \"1_Pooling\" },"
    " { \"type\": \"sentence_transformers.models.Normalize\", \"path\": \"2_Normalize\" } ]";

/* What a file says besides its sizes. */
typedef struct {
    unsigned pooling;
    bool causal;
    bool no_epsilon;
    const char *missing; /* a tensor that has another name */
} file_kind;

static const char *write_gguf(adz_tensor *const *t, unsigned type, file_kind kind)
{
    static const struct {
        const char *name;
        unsigned value;
    } numbers[] = { { "bert.embedding_length", WIDTH }, { "bert.feed_forward_length", INNER },
        { "bert.block_count", 1 }, { "bert.attention.head_count", HEADS },
        { "bert.context_length", POSITIONS } };
    static writer w;
    const float eps = 0.0078125F;
    w.size = 0;
    head(&w, WEIGHTS, 9);
    key(&w, "general.architecture", 8);
    text(&w, "bert");
    for (int i = 0; i < 5; ++i) {
        key(&w, numbers[i].name, 4);
        number(&w, numbers[i].value, 4);
    }
    key(&w, kind.no_epsilon ? "general.ratio" : "bert.attention.layer_norm_epsilon", 6);
    put(&w, &eps, 4);
    key(&w, "bert.attention.causal", 7);
    number(&w, kind.causal, 1);
    key(&w, "bert.pooling_type", 4);
    number(&w, kind.pooling, 4);
    gguf_part own[WEIGHTS];
    memcpy(own, parts, sizeof own);
    for (int i = 0; i < WEIGHTS; ++i) {
        const bool missing = kind.missing != NULL && strcmp(kind.missing, own[i].own) == 0;
        own[i].own = missing ? "cls.weight" : own[i].own;
    }
    return write_parts(&w, own, WEIGHTS, t, type);
}

/* A result of the model, NULL if it has none of this name. */
static adz_tensor *result_of(const char *path, bool as_stored, const char *name)
{
    const int64_t ids[] = { 3, 1, 39, 15, 9, 2, 7, 7 }, counts[] = { 1, 1, 1, 1, 1, 1, 0, 0 };
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.as_stored = as_stored;
    adz_module *model = adz_pretrained_open(path, &o);
    assert_non_null(model);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *result = NULL;
    ADZ_NO_GRAD
    {
        adz_values_add(in, "input_ids", adz_tensor_from(ids, ADZ_SHAPE(2, 4), ADZ_I64));
        adz_values_add(in, "attention_mask", adz_tensor_from(counts, ADZ_SHAPE(2, 4), ADZ_I64));
        if (adz_module_call(model, in, out) != ADZ_OK)
            fail_msg("%s", adz_error_message());
        result = adz_values_get(out, name);
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&model);
    return result;
}

static void files_compute_as_folders(void **state)
{
    static const char *const poolings[] = { "mean", "cls" };
    (void)state;
    adz_manual_seed(7);
    assert_int_equal(mkdir(temporary_path("1_Pooling"), 0777), 0);
    write_text("modules.json", modules);
    for (unsigned i = 0; i < 2; ++i) {
        ADZ_SCOPE
        {
            static const char name[] = "sentence_embedding";
            adz_tensor *t[WEIGHTS];
            char pooling[64];
            const file_kind kind = { .pooling = i + 1 };
            snprintf(pooling, sizeof pooling, "{ \"pooling_mode\": \"%s\" }", poolings[i]);
            write_text("1_Pooling/config.json", pooling);
            draw_parts(parts, WEIGHTS, t);
            write_folder(parts, WEIGHTS, t, config);
            adz_tensor *want = result_of(temporary_folder, false, name);
            assert_true(adz_equal(result_of(write_gguf(t, 0, kind), false, name), want));
            /* Also the tables of positions and types may be in half precision and in blocks. */
            for (unsigned type = 1; type <= 8; type += 7) {
                want = result_of(write_gguf(t, type, kind), false, name);
                assert_true(adz_equal(result_of(write_gguf(t, type, kind), true, name), want));
            }
        }
    }
    remove(temporary_path("1_Pooling/config.json"));
    rmdir(temporary_path("1_Pooling"));
}

static void other_files_are_refused(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        adz_tensor *t[WEIGHTS];
        draw_parts(parts, WEIGHTS, t);
        const char *path = write_gguf(t, 0, (file_kind){ .pooling = 0 });
        assert_true(result_of(path, false, "sentence_embedding") == ADZ_NONE);
        assert_null(adz_pretrained_open(write_gguf(t, 0, (file_kind){ .pooling = 3 }), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "bert.pooling_type is 3");
        assert_null(adz_pretrained_open(write_gguf(t, 0, (file_kind){ .causal = true }), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "bert.attention.causal is true");
        assert_null(adz_pretrained_open(write_gguf(t, 0, (file_kind){ .no_epsilon = true }), NULL));
        expect_error(ADZ_ERR_FORMAT, "there is no bert.attention.layer_norm_epsilon");
        const file_kind no_types = { .missing = "token_types.weight" };
        assert_null(adz_pretrained_open(write_gguf(t, 0, no_types), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "there is no tensor token_types.weight");
        const file_kind no_bias = { .missing = "blk.0.attn_k.bias" };
        assert_null(adz_pretrained_open(write_gguf(t, 0, no_bias), NULL));
        expect_error(ADZ_ERR_FORMAT, "self.key.bias, which the configuration asks for");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_compute_as_folders),
        cmocka_unit_test(other_files_are_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
