/* GGUF files of the architecture gpt2, whose projections are transposed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../errors.h"
#include "../temporary.h"
#include "adze/adze.h"
#include "adze/models.h"
#include "gguf_writer.h"

enum { WIDTH = 32, HEADS = 2, WORDS = 40, POSITIONS = 16, WEIGHTS = 16 };

/* The weights of a GPT-2 of one layer; 0 columns for a vector. Both dimensions are those of the
 * folder. */
static const struct {
    const char *name, *own;
    int rows, columns;
    bool transposed;
} parts[WEIGHTS] = { { "transformer.wte.weight", "token_embd.weight", WORDS, WIDTH, false },
    { "transformer.wpe.weight", "position_embd.weight", POSITIONS, WIDTH, false },
    { "transformer.ln_f.weight", "output_norm.weight", WIDTH, 0, false },
    { "transformer.ln_f.bias", "output_norm.bias", WIDTH, 0, false },
    { "transformer.h.0.ln_1.weight", "blk.0.attn_norm.weight", WIDTH, 0, false },
    { "transformer.h.0.ln_1.bias", "blk.0.attn_norm.bias", WIDTH, 0, false },
    { "transformer.h.0.attn.c_attn.weight", "blk.0.attn_qkv.weight", WIDTH, 3 * WIDTH, true },
    { "transformer.h.0.attn.c_attn.bias", "blk.0.attn_qkv.bias", 3 * WIDTH, 0, false },
    { "transformer.h.0.attn.c_proj.weight", "blk.0.attn_output.weight", WIDTH, WIDTH, true },
    { "transformer.h.0.attn.c_proj.bias", "blk.0.attn_output.bias", WIDTH, 0, false },
    { "transformer.h.0.ln_2.weight", "blk.0.ffn_norm.weight", WIDTH, 0, false },
    { "transformer.h.0.ln_2.bias", "blk.0.ffn_norm.bias", WIDTH, 0, false },
    { "transformer.h.0.mlp.c_fc.weight", "blk.0.ffn_up.weight", WIDTH, 4 * WIDTH, true },
    { "transformer.h.0.mlp.c_fc.bias", "blk.0.ffn_up.bias", 4 * WIDTH, 0, false },
    { "transformer.h.0.mlp.c_proj.weight", "blk.0.ffn_down.weight", 4 * WIDTH, WIDTH, true },
    { "transformer.h.0.mlp.c_proj.bias", "blk.0.ffn_down.bias", WIDTH, 0, false } };

static void write_folder(adz_tensor *const *t)
{
    static const char config[] =
        "{ \"model_type\": \"gpt2\", \"architectures\": [\"GPT2LMHeadModel\"], \"n_embd\": 32,"
        " \"n_head\": 2, \"n_layer\": 1, \"n_positions\": 16, \"vocab_size\": 40 }";
    FILE *file = fopen(temporary_path("config.json"), "wb");
    assert_non_null(file);
    fwrite(config, 1, sizeof config - 1, file);
    fclose(file);
    adz_safetensors *out = adz_safetensors_new();
    for (int i = 0; i < WEIGHTS; ++i) {
        assert_int_equal(adz_safetensors_add(out, parts[i].name, t[i]), ADZ_OK);
    }
    assert_int_equal(adz_safetensors_save(out, temporary_path("model.safetensors")), ADZ_OK);
    adz_safetensors_free(&out);
}

/* How a file stores matrices: 0 F32, 1 F16, 8 Q8_0. */
static adz_tensor *stored(adz_tensor *t, unsigned type)
{
    return type == 8 ? adz_quantize_q8_0(t) : type == 1 ? adz_to(t, ADZ_F16) : t;
}

static size_t bytes_of(const adz_tensor *t)
{
    return (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t));
}

/* The sizes of the model as values of a file. */
static void put_numbers(writer *w)
{
    static const struct {
        const char *name;
        unsigned value;
    } numbers[] = { { "gpt2.embedding_length", WIDTH }, { "gpt2.feed_forward_length", 4 * WIDTH },
        { "gpt2.block_count", 1 }, { "gpt2.attention.head_count", HEADS },
        { "gpt2.context_length", POSITIONS } };
    for (int i = 0; i < 5; ++i) {
        key(w, numbers[i].name, 4);
        number(w, numbers[i].value, 4);
    }
}

static const char *write_gguf(adz_tensor *const *t, unsigned type, const char *more)
{
    static writer w;
    static char path[512];
    const float eps = 1e-5F;
    adz_tensor *made[WEIGHTS];
    uint64_t offset = 0;
    w.size = 0;
    head(&w, WEIGHTS, 7 + (more != NULL));
    key(&w, "general.architecture", 8);
    text(&w, "gpt2");
    put_numbers(&w);
    key(&w, "gpt2.attention.layer_norm_epsilon", 6);
    put(&w, &eps, 4);
    if (more != NULL) {
        key(&w, more, 4);
        number(&w, 2, 4);
    }
    for (int i = 0; i < WEIGHTS; ++i) {
        adz_tensor *one = parts[i].transposed ? adz_contiguous(adz_transpose(t[i], 0, 1)) : t[i];
        const adz_shape shape = adz_tensor_shape(one);
        const unsigned as = shape.rank > 1 ? type : 0;
        made[i] = stored(one, as);
        text(&w, parts[i].own);
        number(&w, (uint64_t)shape.rank, 4);
        for (int k = shape.rank; k-- > 0;) {
            number(&w, (uint64_t)shape.sizes[k], 8);
        }
        number(&w, as, 4);
        number(&w, offset, 8);
        offset += (bytes_of(made[i]) + 31) / 32 * 32;
    }
    align(&w, 32);
    snprintf(path, sizeof path, "%s", temporary_path("gpt2.gguf"));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(w.bytes, 1, w.size, file);
    for (int i = 0; i < WEIGHTS; ++i) {
        static const char zeros[32];
        const size_t bytes = bytes_of(made[i]);
        fwrite(adz_tensor_data(made[i]), 1, bytes, file);
        fwrite(zeros, 1, (32 - bytes % 32) % 32, file);
    }
    fclose(file);
    return path;
}

static adz_tensor *logits_of(const char *path, bool as_stored, adz_dtype *table, adz_dtype *inner)
{
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.as_stored = as_stored;
    adz_module *model = adz_pretrained_open(path, &o);
    assert_non_null(model);
    *table = adz_tensor_dtype(adz_module_get_parameter(model, "transformer.wte.weight"));
    *inner = adz_tensor_dtype(adz_module_get_parameter(model, "transformer.h.0.mlp.c_fc.weight"));
    const int64_t ids[] = { 3, 1, 39, 15, 9, 2 };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *logits = NULL;
    ADZ_NO_GRAD
    {
        adz_values_add(in, "input_ids", adz_tensor_from(ids, ADZ_SHAPE(1, 6), ADZ_I64));
        assert_int_equal(adz_module_call(model, in, out), ADZ_OK);
        logits = adz_values_get(out, "logits");
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&model);
    return logits;
}

static void files_compute_as_folders(void **state)
{
    (void)state;
    adz_manual_seed(7);
    ADZ_SCOPE
    {
        adz_tensor *t[WEIGHTS];
        for (int i = 0; i < WEIGHTS; ++i) {
            t[i] = adz_randn(parts[i].columns > 0 ? ADZ_SHAPE(parts[i].rows, parts[i].columns)
                                                  : ADZ_SHAPE(parts[i].rows),
                ADZ_F32);
        }
        adz_dtype table, inner;
        write_folder(t);
        adz_tensor *want = logits_of(temporary_folder, false, &table, &inner);
        adz_tensor *got = logits_of(write_gguf(t, 0, NULL), false, &table, &inner);
        assert_true(adz_equal(got, want));
        want = logits_of(write_gguf(t, 1, NULL), false, &table, &inner);
        assert_true(table == ADZ_F32 && inner == ADZ_F32);
        got = logits_of(write_gguf(t, 1, NULL), true, &table, &inner);
        assert_true(table == ADZ_F16 && inner == ADZ_F16);
        assert_true(adz_equal(got, want));
        /* Blocks lie along rows, so transposed ones become f32. */
        want = logits_of(write_gguf(t, 8, NULL), false, &table, &inner);
        got = logits_of(write_gguf(t, 8, NULL), true, &table, &inner);
        assert_true(table == ADZ_U8 && inner == ADZ_F32);
        assert_true(adz_equal(got, want));
        assert_null(adz_pretrained_open(write_gguf(t, 0, "gpt2.rope.dimension_count"), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "gpt2.rope.dimension_count is one that adze does not");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_compute_as_folders),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
