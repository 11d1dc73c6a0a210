/* GPT-2 in folders and in GGUF files, whose projections are transposed, and weights of it that stay
 * as they are stored. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../errors.h"
#include "adze/models.h"
#include "gguf_parts.h"

enum { WIDTH = 64, HEADS = 2, WORDS = 40, POSITIONS = 256, WEIGHTS = 16 };

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
    "{ \"model_type\": \"gpt2\", \"architectures\": [\"GPT2LMHeadModel\"], \"n_embd\": 64,"
    " \"n_head\": 2, \"n_layer\": 1, \"n_positions\": 256, \"vocab_size\": 40 }";

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

/* ---- weights of a folder that stay as they are ---------------------------------------------- */

static adz_memory_info memory(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info;
}

/* Writes a folder whose matrices have a dtype, and returns the bytes of its weights. */
static size_t write_folder_as(adz_tensor *const *t, adz_dtype dtype)
{
    adz_tensor *made[WEIGHTS];
    size_t bytes = 0;
    for (int i = 0; i < WEIGHTS; ++i) {
        made[i] = parts[i].columns > 0 ? adz_to(t[i], dtype) : t[i];
        bytes += part_bytes(made[i]);
    }
    write_folder(parts, WEIGHTS, made, config);
    return bytes;
}

static adz_module *open_stored(const char *folder, bool map)
{
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.as_stored = true;
    o.map = map;
    adz_module *model = adz_pretrained_open(folder, &o);
    assert_non_null(model);
    return model;
}

/* Every matrix has the dtype of the file, and every vector is f32. */
static void expect_dtypes(adz_module *model, adz_dtype dtype)
{
    adz_named_list all = adz_module_named_parameters(model);
    assert_int_equal(all.count, WEIGHTS); /* the head is the table of the tokens */
    for (size_t i = 0; i < all.count; ++i) {
        const bool matrix = adz_tensor_rank(all.items[i].tensor) == 2;
        assert_int_equal(adz_tensor_dtype(all.items[i].tensor), matrix ? dtype : ADZ_F32);
    }
    assert_ptr_equal(adz_module_get_parameter(model, "transformer.wte.weight"),
        adz_module_get_parameter(model, "lm_head.weight"));
}

static adz_tensor *generated(adz_module *model, bool cached)
{
    static const int64_t ids[] = { 3, 1, 39, 15 };
    adz_generate_options o = ADZ_GENERATE_OPTIONS;
    o.max_new_tokens = 10;
    o.cache = cached ? adz_pretrained_cache_new(model, 2, 12) : NULL;
    return adz_generate(model, (adz_tensor_from)(ids, ADZ_SHAPE(2, 2), ADZ_I64), &o);
}

/* A model that stays as it is stored takes the memory of its file and MORE bytes of modules, names
 * and masks, while it is opened and afterwards. In f32 its weights would take twice as much. */
static void check_memory(adz_dtype dtype, size_t bytes)
{
    enum { MORE = 40000 };
    const size_t before = memory().live_bytes;
    adz_reset_peak_memory();
    adz_module *model = open_stored(temporary_folder, false);
    const size_t peak = memory().peak_bytes - before, live = memory().live_bytes - before;
    assert_true(live >= bytes && live <= peak && peak < bytes + MORE);
    expect_dtypes(model, dtype);
    adz_module_release(&model);
    adz_reset_peak_memory();
    model = open_stored(temporary_folder, true);
    assert_true(memory().peak_bytes - before < MORE);
    expect_dtypes(model, dtype);
    adz_module_release(&model);
}

/* Saves the model of the folder, and opens it as it is stored: its dtypes and results are those of
 * the first folder. */
static void check_saved(adz_dtype dtype, adz_tensor *want)
{
    adz_dtype table, inner;
    char folder[4096];
    snprintf(folder, sizeof folder, "%s", temporary_path("saved"));
    adz_module *model = open_stored(temporary_folder, false);
    assert_int_equal(adz_pretrained_save(model, folder), ADZ_OK);
    adz_module_release(&model);
    model = open_stored(folder, false);
    expect_dtypes(model, dtype);
    adz_module_release(&model);
    assert_true(adz_equal(logits_of(folder, true, &table, &inner), want));
    remove(temporary_path("saved/config.json"));
    remove(temporary_path("saved/model.safetensors"));
    assert_int_equal(rmdir(folder), 0);
}

/* Stored weights cannot be trained, but a gradient flows through them, and widens none of them. */
static void check_gradients(adz_module *stored, adz_module *widened)
{
    adz_module *const both[] = { stored, widened };
    adz_tensor *gradients[2];
    for (int i = 0; i < 2; ++i) {
        adz_tensor *bias = adz_module_get_parameter(both[i], "transformer.h.0.ln_1.bias");
        adz_tensor_list all = adz_module_parameters(both[i]);
        for (size_t k = 0; k < all.count; ++k) {
            if (adz_tensor_dtype(all.items[k]) == ADZ_F32) {
                assert_non_null(adz_requires_grad_(all.items[k], false));
            }
        }
        assert_non_null(adz_requires_grad_(bias, true));
        adz_tensor *y = adz_module_forward(
            both[i], (adz_reshape)(adz_arange(0, 6, 1, ADZ_I64), ADZ_SHAPE(1, 6)));
        assert_int_equal(adz_backward(adz_sum(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        gradients[i] = adz_tensor_grad(bias);
        assert_non_null(gradients[i]);
    }
    assert_true(adz_allclose(gradients[0], gradients[1], 1e-5, 1e-5, false));
    adz_tensor *weight = adz_module_get_parameter(stored, "transformer.h.0.mlp.c_fc.weight");
    assert_null(adz_requires_grad_(weight, true));
    expect_error(ADZ_ERR_DTYPE, "requires_grad");
}

static void folders_stay_as_stored(void **state)
{
    static const adz_dtype dtypes[] = { ADZ_F16, ADZ_BF16 };
    (void)state;
    adz_manual_seed(8);
    for (int i = 0; i < 2; ++i) {
        ADZ_SCOPE
        {
            adz_tensor *t[WEIGHTS];
            adz_dtype table, inner;
            draw_parts(parts, WEIGHTS, t);
            const size_t bytes = write_folder_as(t, dtypes[i]);
            check_memory(dtypes[i], bytes);
            adz_tensor *want = logits_of(temporary_folder, false, &table, &inner);
            assert_true(adz_equal(logits_of(temporary_folder, true, &table, &inner), want));
            check_saved(dtypes[i], want);
            adz_module *stored = open_stored(temporary_folder, true);
            adz_module *widened = adz_pretrained_open(temporary_folder, NULL);
            adz_tensor *tokens = generated(widened, false);
            assert_non_null(tokens);
            assert_true(adz_equal(generated(stored, false), tokens));
            assert_true(adz_equal(generated(stored, true), tokens));
            check_gradients(stored, widened);
            assert_int_equal(adz_module_to(stored, ADZ_F32), ADZ_OK);
            expect_dtypes(stored, ADZ_F32);
            adz_module_release(&stored);
            adz_module_release(&widened);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_compute_as_folders),
        cmocka_unit_test(folders_stay_as_stored),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
