/* GGUF files of the architecture gpt2, whose projections are transposed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "../errors.h"
#include "adze/models.h"
#include "gguf_parts.h"

enum { WIDTH = 32, HEADS = 2, WORDS = 40, POSITIONS = 16, WEIGHTS = 16 };

/* The weights of a GPT-2 of one layer. */
static const gguf_part parts[WEIGHTS] = { { "transformer.wte.weight", "token_embd.weight", WORDS,
                                              WIDTH, false },
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

static const char config[] =
    "{ \"model_type\": \"gpt2\", \"architectures\": [\"GPT2LMHeadModel\"], \"n_embd\": 32,"
    " \"n_head\": 2, \"n_layer\": 1, \"n_positions\": 16, \"vocab_size\": 40 }";

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
    const float eps = 1e-5F;
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
    return write_parts(&w, parts, WEIGHTS, t, type);
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
        draw_parts(parts, WEIGHTS, t);
        adz_dtype table, inner;
        write_folder(parts, WEIGHTS, t, config);
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
