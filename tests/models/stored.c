/* Weights that stay as the files have them: results, memory while a model is opened, and files that
 * are mapped. Also factors of frequencies, which GGUF files have among their tensors. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../errors.h"
#include "../temporary.h"
#include "adze/adze.h"
#include "adze/models.h"
#include "gguf_writer.h"

enum {
    WIDTH = 128,
    WORDS = 2048,
    LAYERS = 2,
    HEADS = 4,
    WEIGHTS = 2 + 9 * LAYERS,
    OWN = 64,
    FREQUENCIES = 16
};

typedef enum { AS_F16, AS_BF16, AS_Q8_0, N_FORMS } form;

static const struct {
    adz_dtype dtype;
    unsigned type; /* in GGUF files */
} forms[N_FORMS] = { { ADZ_F16, 1 }, { ADZ_BF16, 30 }, { ADZ_U8, 8 } };

/* A weight: its names in folders and in GGUF files, its elements as f32 and as they are stored. */
typedef struct {
    char name[OWN], own[OWN];
    adz_tensor *value, *stored;
    unsigned type;
} weight;

static void set(weight *w, const char *name, const char *own, adz_shape shape, form as)
{
    const bool vector = shape.rank == 1;
    snprintf(w->name, OWN, "%s.weight", name);
    snprintf(w->own, OWN, "%s.weight", own);
    w->value = adz_div_number(adz_randn(shape, ADZ_F32), 16);
    w->stored = vector          ? w->value
                : as == AS_Q8_0 ? adz_quantize_q8_0(w->value)
                                : adz_to(w->value, forms[as].dtype);
    w->type = vector ? 0 : forms[as].type;
}

/* The weights of a Llama with a tied head, as a folder has them. */
static void make(weight *w, form as)
{
    static const char *const parts[][2] = { { "self_attn.q_proj", "attn_q" },
        { "self_attn.k_proj", "attn_k" }, { "self_attn.v_proj", "attn_v" },
        { "self_attn.o_proj", "attn_output" }, { "mlp.gate_proj", "ffn_gate" },
        { "mlp.up_proj", "ffn_up" }, { "mlp.down_proj", "ffn_down" },
        { "input_layernorm", "attn_norm" }, { "post_attention_layernorm", "ffn_norm" } };
    adz_manual_seed(5);
    set(&w[0], "model.embed_tokens", "token_embd", ADZ_SHAPE(WORDS, WIDTH), as);
    set(&w[1], "model.norm", "output_norm", ADZ_SHAPE(WIDTH), as);
    for (int i = 0; i < 9 * LAYERS; ++i) {
        char name[OWN / 2], own[OWN / 2];
        snprintf(name, sizeof name, "%s", parts[i % 9][0]);
        snprintf(own, sizeof own, "%s", parts[i % 9][1]);
        char path[OWN - 8], its[OWN - 8];
        snprintf(path, sizeof path, "model.layers.%d.%s", i / 9, name);
        snprintf(its, sizeof its, "blk.%d.%s", i / 9, own);
        set(&w[2 + i], path, its, i % 9 < 7 ? ADZ_SHAPE(WIDTH, WIDTH) : ADZ_SHAPE(WIDTH), as);
    }
}

static size_t bytes_of(const adz_tensor *t)
{
    return (size_t)adz_tensor_numel(t) * adz_dtype_size(adz_tensor_dtype(t));
}

/* Writes a folder; `more` are entries of config.json. */
static void write_folder(const weight *w, const char *more)
{
    static const char config[] =
        "{ \"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\":"
        " 128, \"intermediate_size\": 128, \"num_hidden_layers\": 2, \"num_attention_heads\": 4,"
        " \"vocab_size\": 2048, \"rms_norm_eps\": 1e-5, \"tie_word_embeddings\": true";
    FILE *file = fopen(temporary_path("config.json"), "wb");
    assert_non_null(file);
    fprintf(file, "%s%s }", config, more);
    fclose(file);
    adz_safetensors *out = adz_safetensors_new();
    for (int i = 0; i < WEIGHTS; ++i) {
        assert_int_equal(adz_safetensors_add(out, w[i].name, w[i].stored), ADZ_OK);
    }
    assert_int_equal(adz_safetensors_save(out, temporary_path("model.safetensors")), ADZ_OK);
    adz_safetensors_free(&out);
}

/* The rows of queries and keys as llama.cpp orders them. */
static adz_tensor *in_pairs(adz_tensor *t)
{
    const adz_shape shape = adz_tensor_shape(t);
    const int64_t rows = shape.sizes[0], width = adz_tensor_numel(t) / rows;
    adz_tensor *halves = adz_reshape(t, ADZ_SHAPE(HEADS, 2, rows / HEADS / 2, width));
    return adz_reshape(adz_permute(halves, ADZ_DIMS(0, 2, 1, 3)), shape);
}

/* The sizes of the model as values of a file. */
static void put_numbers(writer *out)
{
    static const struct {
        const char *name;
        unsigned value;
    } numbers[] = { { "llama.embedding_length", WIDTH }, { "llama.feed_forward_length", WIDTH },
        { "llama.block_count", LAYERS }, { "llama.attention.head_count", HEADS } };
    for (int i = 0; i < 4; ++i) {
        key(out, numbers[i].name, 4);
        number(out, numbers[i].value, 4);
    }
}

/* Writes a file; `factors` of FREQUENCIES elements may be among its tensors. */
static const char *write_gguf(const weight *w, const float *factors)
{
    static char path[4096];
    static writer out;
    const float eps = 1e-5F;
    uint64_t offset = 0;
    out.size = 0;
    head(&out, WEIGHTS + (factors != NULL), 6);
    key(&out, "general.architecture", 8);
    text(&out, "llama");
    put_numbers(&out);
    key(&out, "llama.attention.layer_norm_rms_epsilon", 6);
    put(&out, &eps, 4);
    for (int i = 0; i < WEIGHTS; ++i) {
        const adz_shape shape = adz_tensor_shape(w[i].value);
        text(&out, w[i].own);
        number(&out, (uint64_t)shape.rank, 4);
        for (int k = shape.rank; k-- > 0;) {
            number(&out, (uint64_t)shape.sizes[k], 8);
        }
        number(&out, w[i].type, 4);
        number(&out, offset, 8);
        offset += bytes_of(w[i].stored); /* multiples of 32 */
    }
    if (factors != NULL) {
        text(&out, "rope_freqs.weight");
        number(&out, 1, 4);
        number(&out, FREQUENCIES, 8);
        number(&out, 0, 4);
        number(&out, offset, 8);
    }
    align(&out, 32);
    snprintf(path, sizeof path, "%s", temporary_path("stored.gguf"));
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fwrite(out.bytes, 1, out.size, file);
    for (int i = 0; i < WEIGHTS; ++i) {
        const bool turned = strstr(w[i].own, "attn_q.") || strstr(w[i].own, "attn_k.");
        adz_tensor *t = turned ? in_pairs(w[i].stored) : w[i].stored;
        assert_int_equal(fwrite(adz_tensor_data(t), 1, bytes_of(t), file), bytes_of(t));
    }
    if (factors != NULL) {
        fwrite(factors, sizeof *factors, FREQUENCIES, file);
    }
    fclose(file);
    return path;
}

/* ---- what opening takes --------------------------------------------------------------------- */

static adz_memory_info memory(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info;
}

static adz_pretrained_options options(bool as_stored, bool map)
{
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.as_stored = as_stored;
    o.map = map;
    return o;
}

static adz_tensor *logits_of(adz_module *model)
{
    const int64_t ids[] = { 3, 1, 2047, 15, 9, 2, 700, 0 };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *logits = NULL;
    ADZ_NO_GRAD
    {
        adz_values_add(in, "input_ids", adz_tensor_from(ids, ADZ_SHAPE(2, 4), ADZ_I64));
        assert_int_equal(adz_module_call(model, in, out), ADZ_OK);
        logits = adz_values_get(out, "logits");
    }
    adz_values_free(&in);
    adz_values_free(&out);
    return logits;
}

static adz_tensor *widened(const char *path)
{
    adz_module *model = adz_pretrained_open(path, NULL);
    assert_non_null(model);
    assert_int_equal(
        adz_tensor_dtype(adz_module_get_parameter(model, "model.embed_tokens.weight")), ADZ_F32);
    adz_tensor *logits = logits_of(model);
    adz_module_release(&model);
    return logits;
}

/* Opens a model whose weights of `bytes` bytes stay as they are, and returns its logits. Beside
 * them there may be the largest projection in another order, and MORE bytes of modules and names.
 */
static adz_tensor *stored(const char *path, form as, bool map, size_t bytes)
{
    enum { MORE = 200000 };
    const adz_pretrained_options o = options(true, map);
    const size_t before = memory().live_bytes;
    adz_reset_peak_memory();
    adz_module *model = adz_pretrained_open(path, &o);
    assert_non_null(model);
    const size_t peak = memory().peak_bytes - before, live = memory().live_bytes - before;
    assert_true(peak < (map ? bytes / 2 : bytes) + MORE);
    assert_true(map ? live < bytes / 2 + MORE : live >= bytes);
    adz_tensor *table = adz_module_get_parameter(model, "model.embed_tokens.weight");
    assert_int_equal(adz_tensor_dtype(table), forms[as].dtype);
    assert_ptr_equal(table, adz_module_get_parameter(model, "lm_head.weight"));
    assert_int_equal(
        adz_tensor_dtype(adz_module_get_parameter(model, "model.layers.1.self_attn.k_proj.weight")),
        forms[as].dtype);
    assert_int_equal(
        adz_tensor_dtype(adz_module_get_parameter(model, "model.norm.weight")), ADZ_F32);
    adz_tensor *logits = logits_of(model);
    adz_module_release(&model);
    return logits;
}

/* Results have the bits of weights that were widened, and no weight is widened at any time. */
static void stored_weights_are_multiplied(void **state)
{
    (void)state;
    for (form as = 0; as < N_FORMS; ++as) {
        ADZ_SCOPE
        {
            weight w[WEIGHTS];
            make(w, as);
            const char *path = write_gguf(w, NULL);
            size_t bytes = 0;
            for (int i = 0; i < WEIGHTS; ++i) {
                bytes += bytes_of(w[i].stored);
            }
            adz_tensor *want = widened(path);
            assert_true(adz_equal(stored(path, as, false, bytes), want));
            assert_true(adz_equal(stored(path, as, true, bytes), want));
            if (as != AS_Q8_0) {
                write_folder(w, "");
                assert_true(adz_equal(widened(temporary_folder), want));
                assert_true(adz_equal(stored(temporary_folder, as, false, bytes), want));
                assert_true(adz_equal(stored(temporary_folder, as, true, bytes), want));
            }
        }
    }
}

/* The model outlives the name of its mapped file, and what it changes stays its own. */
static void mapped_weights_are_private(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        weight w[WEIGHTS];
        make(w, AS_F16);
        const char *path = write_gguf(w, NULL);
        const adz_pretrained_options o = options(true, true);
        adz_module *model = adz_pretrained_open(path, &o);
        adz_module *other = adz_pretrained_open(path, &o);
        assert_non_null(model);
        assert_non_null(other);
        adz_tensor *want = logits_of(model);
        adz_tensor *table = adz_module_get_parameter(model, "model.embed_tokens.weight");
        assert_non_null(adz_zero_(table));
        assert_false(adz_equal(logits_of(model), want));
        adz_module_release(&model);
        assert_int_equal(unlink(path), 0);
        assert_true(adz_equal(logits_of(other), want));
        adz_module_release(&other);
    }
}

/* A model of stored weights is saved in their dtype, and gets trainable by a conversion. */
static void stored_models_are_saved_and_converted(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        weight w[WEIGHTS];
        make(w, AS_BF16);
        write_folder(w, "");
        const adz_pretrained_options o = options(true, false);
        adz_module *model = adz_pretrained_open(temporary_folder, &o);
        assert_non_null(model);
        adz_tensor *want = logits_of(model);
        char folder[4096];
        snprintf(folder, sizeof folder, "%s", temporary_path("saved"));
        assert_int_equal(adz_pretrained_save(model, folder), ADZ_OK);
        adz_module *again = adz_pretrained_open(folder, &o);
        assert_non_null(again);
        adz_tensor *table = adz_module_get_parameter(again, "model.embed_tokens.weight");
        assert_int_equal(adz_tensor_dtype(table), ADZ_BF16);
        assert_true(adz_equal(logits_of(again), want));
        assert_null(adz_requires_grad_(table, true));
        expect_error(ADZ_ERR_DTYPE, "requires_grad");
        assert_int_equal(adz_module_to(again, ADZ_F32), ADZ_OK);
        assert_true(adz_equal(logits_of(again), want));
        adz_module_release(&model);
        adz_module_release(&again);
        remove(temporary_path("saved/config.json"));
        remove(temporary_path("saved/model.safetensors"));
        assert_int_equal(rmdir(folder), 0);
    }
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    adz_pretrained_options o = options(true, false);
    o.dtype = ADZ_F64;
    assert_null(adz_pretrained_open(temporary_folder, &o));
    expect_error(ADZ_ERR_ARGUMENT, "as_stored needs the dtype float32");
    ADZ_SCOPE
    {
        weight w[WEIGHTS];
        make(w, AS_Q8_0);
        o = options(true, false);
        write_folder(w, ", \"head_dim\": 1048576");
        assert_null(adz_pretrained_open(temporary_folder, &o));
        expect_error(ADZ_ERR_FORMAT, "1048576 features for each");
        write_folder(w, "");
        assert_null(adz_pretrained_open(temporary_folder, &o)); /* blocks are of GGUF alone */
        expect_error(ADZ_ERR_FORMAT, "model.embed_tokens.weight is [2048, 4, 34]");
    }
}

/* The factors of Llama 3 for a base of 10000 and heads of 32 features. */
static void make_factors(float *factors)
{
    for (int i = 0; i < FREQUENCIES; ++i) {
        const double frequency = pow(10000, -2.0 * i / 32), length = 2 * M_PI / frequency;
        const double part = (8192 / length - 1) / 3;
        factors[i] = length > 8192       ? 8
                     : length < 8192 / 4 ? 1
                                         : (float)(1 / ((1 - part) / 8 + part));
    }
}

static void factors_of_frequencies_are_those_of_llama(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        weight w[WEIGHTS];
        float factors[FREQUENCIES];
        make(w, AS_F16);
        make_factors(factors);
        adz_tensor *plain = widened(write_gguf(w, NULL));
        adz_tensor *got = widened(write_gguf(w, factors));
        assert_false(adz_equal(got, plain));
        write_folder(w,
            ", \"rope_scaling\": { \"rope_type\": \"llama3\", \"factor\": 8.0, \"low_freq_factor\": 1.0,"
            " \"high_freq_factor\": 4.0, \"original_max_position_embeddings\": 8192 }");
        assert_true(adz_equal(got, widened(temporary_folder)));
        factors[3] = 2;
        assert_null(adz_pretrained_open(write_gguf(w, factors), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "tensor rope_freqs.weight has other factors");
        factors[3] = NAN;
        assert_null(adz_pretrained_open(write_gguf(w, factors), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "tensor rope_freqs.weight has other factors");
    }
}

/* A tensor that has a weight's name in folders, and not in GGUF files, is none of the model's. */
static void names_of_folders_are_refused(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        weight w[WEIGHTS];
        float factors[FREQUENCIES] = { 0 };
        char head[4096] = { 0 };
        make(w, AS_F16);
        const char *path = write_gguf(w, factors);
        FILE *file = fopen(path, "r+b");
        assert_non_null(file);
        assert_true(fread(head, 1, sizeof head, file) > 0);
        char *name = memmem(head, sizeof head, "rope_freqs.weight", 17);
        assert_non_null(name);
        memcpy(name, "model.norm.weight", 17);
        rewind(file);
        assert_int_equal(fwrite(head, 1, sizeof head, file), sizeof head);
        fclose(file);
        assert_null(adz_pretrained_open(path, NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "model.norm.weight belongs to no part of the model");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stored_weights_are_multiplied),
        cmocka_unit_test(mapped_weights_are_private),
        cmocka_unit_test(stored_models_are_saved_and_converted),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(factors_of_frequencies_are_those_of_llama),
        cmocka_unit_test(names_of_folders_are_refused),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
