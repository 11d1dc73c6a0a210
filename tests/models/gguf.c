/* GGUF files that the test writes: values, tensors of each type that is read, and files that claim
 * what is not there. */
#include <math.h>
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

static const char *written(const writer *w, size_t size)
{
    static char path[4096];
    snprintf(path, sizeof path, "%s", temporary_path("file.gguf"));
    remove(path); /* some file systems write a file to the disk when it is cut to nothing */
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(w->bytes, 1, size, file), size);
    fclose(file);
    return path;
}

/* Values of all types, and tensors F32, F16, BF16, Q8_0 and Q4_0. */
static void write_all(writer *w)
{
    w->size = 0;
    head(w, 5, 9);
    key(w, "general.architecture", 8);
    text(w, "llama");
    key(w, "i8", 1);
    number(w, 0xfe, 1);
    key(w, "i32", 5);
    number(w, 0xfffffffb, 4);
    key(w, "u64", 10);
    number(w, UINT64_MAX, 8);
    const float f = 0.25F;
    const double d = 1e-300;
    key(w, "f32", 6);
    put(w, &f, 4);
    key(w, "f64", 12);
    put(w, &d, 8);
    key(w, "flag", 7);
    number(w, 1, 1);
    key(w, "tokens", 9);
    number(w, 8, 4);
    number(w, 3, 8);
    text(w, "one");
    text(w, "");
    text(w, "three");
    key(w, "scores", 9);
    number(w, 6, 4);
    number(w, 2, 8);
    put(w, &f, 4);
    put(w, &f, 4);
    tensor(w, "plain", 2, 32, 0, 0);
    tensor(w, "half", 2, 32, 1, 256);
    tensor(w, "brain", 2, 32, 30, 384);
    tensor(w, "blocks", 2, 32, 8, 512);
    tensor(w, "small", 2, 32, 2, 608);
    align(w, 32);
    ADZ_SCOPE
    {
        adz_tensor *x = adz_reshape(adz_arange(-31, 33, 1, ADZ_F32), ADZ_SHAPE(2, 32));
        put(w, adz_tensor_data(x), 256);
        put(w, adz_tensor_data(adz_to(x, ADZ_F16)), 128);
        put(w, adz_tensor_data(adz_to(x, ADZ_BF16)), 128);
        put(w, adz_tensor_data(adz_quantize_q8_0(x)), 68);
    }
    align(w, 32);
    for (int i = 0; i < 36; ++i) {
        number(w, 0, 1);
    }
}

static void values_are_read(void **state)
{
    (void)state;
    static writer w;
    write_all(&w);
    adz_gguf *file = adz_gguf_open(written(&w, w.size));
    assert_non_null(file);
    assert_string_equal(adz_gguf_text(file, "general.architecture"), "llama");
    int64_t i = 0;
    double x = 0;
    bool flag = false;
    size_t count = 0, size = 9;
    assert_int_equal(adz_gguf_integer(file, "i8", &i), ADZ_OK);
    assert_int_equal(i, -2);
    assert_int_equal(adz_gguf_integer(file, "i32", &i), ADZ_OK);
    assert_int_equal(i, -5);
    assert_int_equal(adz_gguf_integer(file, "u64", &i), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "u64 is beyond int64");
    assert_int_equal(adz_gguf_real(file, "u64", &x), ADZ_OK);
    assert_true(x == 0x1p64);
    assert_int_equal(adz_gguf_real(file, "f64", &x), ADZ_OK);
    assert_true(x == 1e-300);
    assert_int_equal(adz_gguf_real(file, "i8", &x), ADZ_OK);
    assert_true(x == -2);
    assert_int_equal(adz_gguf_bool(file, "flag", &flag), ADZ_OK);
    assert_true(flag);
    assert_int_equal(adz_gguf_count(file, "tokens", &count), ADZ_OK);
    assert_int_equal(count, 3);
    assert_memory_equal(adz_gguf_text_at(file, "tokens", 2, &size), "three", 5);
    assert_int_equal(size, 5);
    assert_non_null(adz_gguf_text_at(file, "tokens", 1, &size));
    assert_int_equal(size, 0);
    assert_int_equal(adz_gguf_real_at(file, "scores", 1, &x), ADZ_OK);
    assert_true(x == 0.25);
    assert_null(adz_gguf_text_at(file, "tokens", 3, &size));
    expect_error(ADZ_ERR_INDEX, "tokens has 3 elements");
    assert_null(adz_gguf_text(file, "i8"));
    expect_error(ADZ_ERR_FORMAT, "i8 is an integer, but must be a text");
    assert_null(adz_gguf_text(file, "none"));
    expect_error(ADZ_ERR_ARGUMENT, "there is no value none");
    assert_int_equal(adz_gguf_real_at(file, "tokens", 0, &x), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "an array of texts, but must be an array of numbers");
    assert_int_equal(adz_gguf_kind_of(file, "scores"), ADZ_GGUF_KIND_ARRAY);
    assert_int_equal(adz_gguf_kind_of(file, "none"), ADZ_GGUF_KIND_NONE);
    adz_gguf_close(&file);
    assert_null(file);
}

static void tensors_are_read(void **state)
{
    (void)state;
    static writer w;
    write_all(&w);
    adz_gguf *file = adz_gguf_open(written(&w, w.size));
    assert_non_null(file);
    assert_int_equal(adz_gguf_tensor_count(file), 5);
    ADZ_SCOPE
    {
        static const char *const names[] = { "plain", "half", "brain", "blocks" };
        static const adz_dtype dtypes[] = { ADZ_F32, ADZ_F16, ADZ_BF16, ADZ_U8 };
        for (int i = 0; i < 4; ++i) {
            assert_int_equal(adz_gguf_tensor_index(file, names[i]), i);
            assert_string_equal(adz_gguf_tensor_name_at(file, (size_t)i), names[i]);
            const adz_shape shape = adz_gguf_tensor_shape_at(file, (size_t)i);
            assert_true(shape.rank == 2 && shape.sizes[0] == 2 && shape.sizes[1] == 32);
            assert_int_equal(adz_tensor_dtype(adz_gguf_read(file, names[i], false)), dtypes[i]);
            adz_tensor *y = adz_gguf_read(file, names[i], true);
            assert_int_equal(adz_tensor_dtype(y), ADZ_F32);
            for (int64_t k = 0; k < 64; ++k) {
                assert_true(fabs(adz_tensor_at(y, (int64_t[]){ k / 32, k % 32 }) -
                                 (double)(k - 31)) <= (i == 3 ? 0.13 : 0));
            }
        }
        assert_string_equal(adz_gguf_tensor_type_at(file, 4), "Q4_0");
        assert_null(adz_gguf_read(file, "small", true));
        expect_error(ADZ_ERR_UNSUPPORTED, "tensor small is Q4_0");
        assert_null(adz_gguf_read(file, "other", true));
        expect_error(ADZ_ERR_ARGUMENT, "there is no tensor other");
    }
    adz_gguf_close(&file);
}

/* ---- a model -------------------------------------------------------------------------------- */

enum { WIDTH = 8, INNER = 12, WORDS = 16, HEADS = 2, HEAD = 4, WEIGHTS = 12 };

/* The weights of a Llama of one layer: the names of transformers and of GGUF, rows and columns; 0
 * columns for a vector. */
static const struct weight {
    const char *name, *own;
    int rows, columns;
} weights[WEIGHTS] = { { "model.embed_tokens.weight", "token_embd.weight", WORDS, WIDTH },
    { "model.norm.weight", "output_norm.weight", WIDTH, 0 },
    { "lm_head.weight", "output.weight", WORDS, WIDTH },
    { "model.layers.0.self_attn.q_proj.weight", "blk.0.attn_q.weight", HEADS *HEAD, WIDTH },
    { "model.layers.0.self_attn.k_proj.weight", "blk.0.attn_k.weight", HEAD, WIDTH },
    { "model.layers.0.self_attn.v_proj.weight", "blk.0.attn_v.weight", HEAD, WIDTH },
    { "model.layers.0.self_attn.o_proj.weight", "blk.0.attn_output.weight", WIDTH, HEADS *HEAD },
    { "model.layers.0.mlp.gate_proj.weight", "blk.0.ffn_gate.weight", INNER, WIDTH },
    { "model.layers.0.mlp.up_proj.weight", "blk.0.ffn_up.weight", INNER, WIDTH },
    { "model.layers.0.mlp.down_proj.weight", "blk.0.ffn_down.weight", WIDTH, INNER },
    { "model.layers.0.input_layernorm.weight", "blk.0.attn_norm.weight", WIDTH, 0 },
    { "model.layers.0.post_attention_layernorm.weight", "blk.0.ffn_norm.weight", WIDTH, 0 } };

static void write_folder(adz_tensor *const *t)
{
    static const char config[] =
        "{ \"model_type\": \"llama\", \"architectures\": [\"LlamaForCausalLM\"], \"hidden_size\": 8,"
        " \"intermediate_size\": 12, \"num_hidden_layers\": 1, \"num_attention_heads\": 2,"
        " \"num_key_value_heads\": 1, \"vocab_size\": 16, \"rms_norm_eps\": 1e-5,"
        " \"rope_theta\": 100.0 }";
    FILE *file = fopen(temporary_path("config.json"), "wb");
    assert_non_null(file);
    fwrite(config, 1, sizeof config - 1, file);
    fclose(file);
    adz_safetensors *out = adz_safetensors_new();
    for (int i = 0; i < WEIGHTS; ++i) {
        assert_int_equal(adz_safetensors_add(out, weights[i].name, t[i]), ADZ_OK);
    }
    assert_int_equal(adz_safetensors_save(out, temporary_path("model.safetensors")), ADZ_OK);
    adz_safetensors_free(&out);
}

/* The rows of a head as llama.cpp orders them: 0, 2, 1, 3. */
static adz_tensor *reordered(adz_tensor *t, int heads)
{
    adz_tensor *halves = adz_reshape(t, ADZ_SHAPE(heads, 2, HEAD / 2, WIDTH));
    return adz_contiguous(adz_permute(halves, ADZ_DIMS(0, 2, 1, 3)));
}

static void integer(writer *w, const char *name, uint64_t value)
{
    key(w, name, 4);
    number(w, value, 4);
}

static void write_model(writer *w, adz_tensor *const *t, const char *more)
{
    const float eps = 1e-5F, theta = 100;
    size_t offset = 0;
    w->size = 0;
    head(w, WEIGHTS, more != NULL ? 9 : 8);
    key(w, "general.architecture", 8);
    text(w, "llama");
    integer(w, "llama.embedding_length", WIDTH);
    integer(w, "llama.feed_forward_length", INNER);
    integer(w, "llama.block_count", 1);
    integer(w, "llama.attention.head_count", HEADS);
    integer(w, "llama.attention.head_count_kv", 1);
    key(w, "llama.attention.layer_norm_rms_epsilon", 6);
    put(w, &eps, 4);
    key(w, "llama.rope.freq_base", 6);
    put(w, &theta, 4);
    if (more != NULL) {
        integer(w, more, 2);
    }
    for (int i = 0; i < WEIGHTS; ++i) {
        const struct weight *of = &weights[i];
        text(w, of->own);
        number(w, of->columns > 0 ? 2 : 1, 4);
        if (of->columns > 0) {
            number(w, (uint64_t)of->columns, 8);
        }
        number(w, (uint64_t)of->rows, 8);
        number(w, 0, 4);
        number(w, offset, 8);
        offset += (size_t)adz_tensor_numel(t[i]) * 4; /* multiples of 32 */
    }
    align(w, 32);
    for (int i = 0; i < WEIGHTS; ++i) {
        adz_tensor *stored = i == 3 ? reordered(t[i], HEADS) : i == 4 ? reordered(t[i], 1) : t[i];
        put(w, adz_tensor_data(stored), (size_t)adz_tensor_numel(stored) * 4);
    }
}

static adz_tensor *logits_of(const char *path)
{
    adz_module *model = adz_pretrained_open(path, NULL);
    assert_non_null(model);
    const int64_t ids[] = { 3, 1, 4, 15, 9, 2 };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "input_ids", adz_tensor_from(ids, ADZ_SHAPE(1, 6), ADZ_I64));
    assert_int_equal(adz_module_call(model, in, out), ADZ_OK);
    adz_tensor *logits = adz_values_get(out, "logits");
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&model);
    return logits;
}

/* A file computes with the bits of the folder that has the same weights. */
static void models_are_those_of_folders(void **state)
{
    (void)state;
    static writer w;
    ADZ_SCOPE
    {
        adz_tensor *t[WEIGHTS];
        for (int i = 0; i < WEIGHTS; ++i) {
            const adz_shape shape = weights[i].columns > 0
                                        ? ADZ_SHAPE(weights[i].rows, weights[i].columns)
                                        : ADZ_SHAPE(weights[i].rows);
            t[i] = adz_randn(shape, ADZ_F32);
        }
        write_folder(t);
        adz_tensor *want = logits_of(temporary_folder);
        write_model(&w, t, NULL);
        adz_tensor *got = logits_of(written(&w, w.size));
        assert_true(adz_equal(want, got));
        write_model(&w, t, "llama.rope.scaling.factor"); /* linear, without a type */
        assert_false(adz_equal(want, logits_of(written(&w, w.size))));
        write_model(&w, t, "llama.expert_count");
        assert_null(adz_pretrained_open(written(&w, w.size), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "llama.expert_count is one that adze does not know");
        write_model(&w, t, "llama.rope.dimension_count");
        assert_null(adz_pretrained_open(written(&w, w.size), NULL));
        expect_error(ADZ_ERR_UNSUPPORTED, "rope.dimension_count is 2");
        write_model(&w, t, NULL);
        memset((char *)memmem(w.bytes, w.size, "freq_base", 9) + 13, 0x7f, 4);
        memset((char *)memmem(w.bytes, w.size, "freq_base", 9) + 15, 0xff, 1);
        assert_null(adz_pretrained_open(written(&w, w.size), NULL));
        expect_error(ADZ_ERR_FORMAT, "llama.rope.freq_base is nan");
        write_all(&w);
        assert_null(adz_pretrained_open(written(&w, w.size), NULL));
        expect_error(ADZ_ERR_FORMAT, "there is no llama.attention.layer_norm_rms_epsilon");
    }
}

/* ---- bad files ------------------------------------------------------------------------------ */

static size_t live_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_bytes;
}

static void refuse(const writer *w, adz_status status, const char *says)
{
    const size_t before = live_bytes();
    adz_reset_peak_memory();
    assert_null(adz_gguf_open(written(w, w->size)));
    expect_error(status, says);
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    assert_int_equal(info.live_bytes, before);
    assert_true(info.peak_bytes - before < 1 << 20);
}

/* A file that ends anywhere is refused, and nothing stays behind. */
static void every_cut_is_refused(void **state)
{
    (void)state;
    static writer w;
    write_all(&w);
    const size_t before = live_bytes();
    for (size_t size = 0; size < w.size; ++size) {
        adz_gguf *file = adz_gguf_open(written(&w, size));
        assert_null(file);
        adz_status code = adz_error_take(NULL, 0);
        assert_int_equal(code, ADZ_ERR_FORMAT);
        assert_int_equal(live_bytes(), before);
    }
}

static void counts_beyond_the_file_are_refused(void **state)
{
    (void)state;
    static writer w;
    w.size = 0;
    head(&w, UINT64_MAX, 0);
    refuse(&w, ADZ_ERR_FORMAT, "more entries than the file has bytes for");
    w.size = 0;
    head(&w, 0, UINT64_MAX / 16);
    refuse(&w, ADZ_ERR_FORMAT, "more entries than the file has bytes for");
    w.size = 0;
    head(&w, 0, 1);
    key(&w, "long", 8);
    number(&w, UINT64_MAX - 3, 8);
    refuse(&w, ADZ_ERR_FORMAT, "value long ends behind the file");
    w.size = 0;
    head(&w, 0, 1);
    key(&w, "many", 9);
    number(&w, 8, 4);
    number(&w, INT64_MAX, 8);
    refuse(&w, ADZ_ERR_FORMAT, "value many has more elements than the file has bytes for");
    w.size = 0;
    head(&w, 0, 1);
    number(&w, UINT64_MAX, 8);
    number(&w, 0, 8);
    refuse(&w, ADZ_ERR_FORMAT, "value number 0 ends behind the file");
}

/* One entry that is wrong, in a file that is right otherwise. */
static void write_tensor(writer *w, uint64_t rows, uint64_t columns, unsigned type, uint64_t offset)
{
    w->size = 0;
    head(w, 1, 0);
    tensor(w, "weight", rows, columns, type, offset);
    align(w, 32);
    for (int i = 0; i < 256; ++i) {
        number(w, 0, 1);
    }
}

static void wrong_tensors_are_refused(void **state)
{
    (void)state;
    static writer w;
    write_tensor(&w, 2, 32, 0, 32);
    refuse(&w, ADZ_ERR_FORMAT, "tensor weight ends behind the file");
    write_tensor(&w, 2, 32, 0, 7);
    refuse(&w, ADZ_ERR_FORMAT, "tensor weight begins at an offset that is not aligned");
    write_tensor(&w, 2, 32, 0, UINT64_MAX - 31);
    refuse(&w, ADZ_ERR_FORMAT, "tensor weight ends behind the file");
    write_tensor(&w, UINT64_C(1) << 33, UINT64_C(1) << 33, 0, 0);
    refuse(&w, ADZ_ERR_FORMAT, "tensor weight has sizes that overflow");
    write_tensor(&w, 2, 33, 8, 0);
    refuse(&w, ADZ_ERR_FORMAT, "tensor weight has rows that are no whole blocks");
    write_tensor(&w, 2, 2, 77, 0);
    adz_gguf *file = adz_gguf_open(written(&w, w.size));
    assert_non_null(file);
    assert_null(adz_gguf_read(file, "weight", false));
    expect_error(ADZ_ERR_UNSUPPORTED, "tensor weight is unknown (type 77)");
    adz_gguf_close(&file);
}

static void wrong_values_are_refused(void **state)
{
    (void)state;
    static writer w;
    w.size = 0;
    head(&w, 0, 1);
    key(&w, "odd", 13);
    number(&w, 0, 8);
    refuse(&w, ADZ_ERR_FORMAT, "value odd is of an unknown type");
    w.size = 0;
    head(&w, 0, 1);
    key(&w, "nested", 9);
    number(&w, 9, 4);
    number(&w, 0, 8);
    refuse(&w, ADZ_ERR_UNSUPPORTED, "value nested is an array of arrays");
    w.size = 0;
    head(&w, 0, 1);
    key(&w, "flag", 7);
    number(&w, 2, 1);
    number(&w, 0, 8);
    refuse(&w, ADZ_ERR_FORMAT, "value flag is a bool that is neither 0 nor 1");
    w.size = 0;
    head(&w, 0, 2);
    for (int i = 0; i < 2; ++i) {
        key(&w, "same", 4);
        number(&w, 1, 4);
    }
    refuse(&w, ADZ_ERR_FORMAT, "value same is there twice");
    w.size = 0;
    head(&w, 0, 1);
    key(&w, "general.alignment", 4);
    number(&w, 24, 4);
    refuse(&w, ADZ_ERR_FORMAT, "general.alignment is no power of two");
    w.size = 0;
    put(&w, "GGUX", 4);
    number(&w, 3, 4);
    refuse(&w, ADZ_ERR_FORMAT, "does not begin with GGUF");
    w.size = 0;
    put(&w, "GGUF", 4);
    number(&w, 1, 4);
    refuse(&w, ADZ_ERR_UNSUPPORTED, "another version of GGUF than 2 and 3");
    assert_null(adz_gguf_open("/nowhere/file.gguf"));
    expect_error(ADZ_ERR_IO, "/nowhere/file.gguf cannot be opened: there is no such file");
    expect_null(adz_gguf_open(NULL) == NULL, "adz_gguf_open", "path");
}

/* Random changes of bytes never do harm: the file opens, or an error is recorded. */
static void random_changes_do_no_harm(void **state)
{
    (void)state;
    static writer w, changed;
    write_all(&w);
    adz_on_error(adz_quiet, NULL);
    uint64_t word = 88172645463325252u;
    for (int turn = 0; turn < 3000; ++turn) {
        changed = w;
        for (int i = 0; i < 1 + turn % 3; ++i) {
            word ^= word << 13;
            word ^= word >> 7;
            word ^= word << 17;
            changed.bytes[word % (turn % 2 == 0 ? 64 : w.size)] = (unsigned char)(word >> 32);
        }
        adz_gguf *file = adz_gguf_open(written(&changed, changed.size));
        ADZ_SCOPE
        {
            for (size_t i = 0; i < adz_gguf_tensor_count(file); ++i) {
                (void)adz_gguf_read(file, adz_gguf_tensor_name_at(file, i), i % 2 == 0);
            }
        }
        assert_true(file != NULL || adz_error_code() != ADZ_OK);
        adz_gguf_close(&file);
        adz_error_clear();
    }
    adz_on_error(NULL, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_are_read),
        cmocka_unit_test(tensors_are_read),
        cmocka_unit_test(models_are_those_of_folders),
        cmocka_unit_test(every_cut_is_refused),
        cmocka_unit_test(counts_beyond_the_file_are_refused),
        cmocka_unit_test(wrong_tensors_are_refused),
        cmocka_unit_test(wrong_values_are_refused),
        cmocka_unit_test(random_changes_do_no_harm),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
