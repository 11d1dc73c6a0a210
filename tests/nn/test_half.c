/* Operands and weights that are stored in half precision: results have the bits of operands that
 * were widened before. */
#include "adze/zoo.h"
#include "../nn.h"
#include "../temporary.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/registers.h"

enum { IDS = 24, ROWS = 512, WIDTH = 128, HIDDEN = 300 };

static const adz_dtype halves[] = { ADZ_F16, ADZ_BF16 };

static bool same_bits(adz_tensor *a, adz_tensor *b)
{
    adz_tensor *x = adz_contiguous(a), *y = adz_contiguous(b);
    const size_t bytes = (size_t)adz_tensor_numel(x) * adz_dtype_size(adz_tensor_dtype(x));
    return adz_tensor_dtype(x) == adz_tensor_dtype(y) &&
           adz_tensor_numel(x) == adz_tensor_numel(y) &&
           memcmp(adz_tensor_data_constant(x), adz_tensor_data_constant(y), bytes) == 0;
}

static adz_tensor *rounded(adz_tensor *t, adz_dtype half)
{
    return adz_to(adz_to(adz_detach(t), half), ADZ_F32);
}

/* ---- operators ------------------------------------------------------------------------------ */

static void matmul_reads_half_precision(void **state)
{
    (void)state;
    static const int64_t shapes[][2][4] = { { { 1, 1, 5, 7 }, { 1, 1, 7, 3 } },
        { { 2, 3, 5, 70 }, { 1, 3, 70, 9 } }, { { 2, 1, 40, 33 }, { 2, 3, 33, 50 } },
        { { 3, 2, 1, 64 }, { 1, 1, 64, 300 } } };
    ADZ_SCOPE
    {
        for (unsigned i = 0; i < 4 * 2 * 2 * 4; ++i) {
            const int64_t *sa = shapes[i / 16][0], *sb = shapes[i / 16][1];
            const bool ta = i & 1, tb = i & 2, first = i & 4;
            const adz_dtype half = halves[i / 8 % 2];
            adz_tensor *a = adz_randn(ADZ_SHAPE(sa[0], sa[1], sa[ta ? 3 : 2], sa[ta ? 2 : 3]), 0);
            adz_tensor *b = adz_randn(ADZ_SHAPE(sb[0], sb[1], sb[tb ? 3 : 2], sb[tb ? 2 : 3]), 0);
            adz_tensor *stored = adz_to(first ? a : b, half);
            adz_tensor *ha = first ? stored : a, *hb = first ? b : stored;
            adz_tensor *wa = adz_to(ha, ADZ_F32), *wb = adz_to(hb, ADZ_F32);
#define OP(x, flag) (flag ? adz_transpose(x, -1, -2) : x)
            adz_tensor *y = adz_matmul(OP(ha, ta), OP(hb, tb));
            assert_true(same_bits(y, adz_matmul(OP(wa, ta), OP(wb, tb))));
#undef OP
        }
    }
}

static void half_precision_with_another_dtype_is_refused(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        adz_tensor *half = adz_ones(ADZ_SHAPE(3, 3), ADZ_BF16);
        assert_null(adz_matmul(half, half));
        expect_error(ADZ_ERR_DTYPE, "input 0[3, 3] is bfloat16, which is for storage only");
        assert_null(adz_matmul(adz_ones(ADZ_SHAPE(3, 3), ADZ_F64), half));
        expect_error(ADZ_ERR_DTYPE, "input 1[3, 3] is bfloat16, which is for storage only");
        assert_null(adz_linear(adz_ones(ADZ_SHAPE(3, 3), ADZ_F64), half, ADZ_NONE));
        expect_error(ADZ_ERR_DTYPE, "x is float64, weight bfloat16; convert one with adz_to");
        assert_null(
            adz_linear(adz_ones(ADZ_SHAPE(3, 3), ADZ_F32), half, adz_ones(ADZ_SHAPE(3), ADZ_BF16)));
        expect_error(ADZ_ERR_DTYPE, "x is float32, weight bfloat16, bias bfloat16");
    }
}

/* The gradient of the f32 operand has the bits of a product with the widened other one. */
static void gradients_flow_past_half_precision(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        for (int i = 0; i < 4; ++i) {
            const bool transposed = i % 2 == 1;
            adz_tensor *w = adz_to(transposed ? adz_randn(ADZ_SHAPE(20, 33), ADZ_F32)
                                              : adz_randn(ADZ_SHAPE(33, 20), ADZ_F32),
                halves[i / 2]);
            adz_tensor *x = adz_randn(ADZ_SHAPE(6, 20), ADZ_F32), *g[2][2];
            for (int wide = 0; wide < 2; ++wide) {
                adz_tensor *leaf = adz_requires_grad_(adz_clone(x), true);
                adz_tensor *weight = wide ? adz_to(w, ADZ_F32) : w;
                weight = transposed ? adz_transpose(weight, 0, 1) : weight;
                adz_tensor *y = adz_linear_relu(leaf, weight, ADZ_NONE);
                y = adz_add(y, adz_matmul(leaf, adz_transpose(weight, 0, 1)));
                assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
                g[wide][0] = y;
                g[wide][1] = adz_tensor_grad(leaf);
            }
            assert_true(same_bits(g[0][0], g[1][0]));
            assert_true(same_bits(g[0][1], g[1][1]));
        }
    }
}

/* ---- modules -------------------------------------------------------------------------------- */

static adz_module *network(void)
{
    return ADZ_SEQUENTIAL(adz_embedding_new(ROWS, WIDTH, NULL), adz_linear_new(WIDTH, HIDDEN, NULL),
        adz_relu_new(), adz_layer_norm_new(ADZ_SHAPE(HIDDEN), NULL),
        adz_gpt2_conv1d_new(WIDTH, HIDDEN, NULL), adz_linear_new(WIDTH, ROWS, NULL));
}

static adz_tensor *some_ids(void)
{
    return adz_randint(0, ROWS, ADZ_SHAPE(IDS), ADZ_I64);
}

static size_t live_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_bytes;
}

/* Rounds the weights of a network, which keeps them in f32. */
static void round_weights(adz_module *m, adz_dtype half)
{
    adz_tensor_list all = adz_module_parameters(m);
    for (size_t i = 0; i < all.count; ++i) {
        if (adz_tensor_rank(all.items[i]) == 2) {
            ADZ_NO_GRAD
            {
                adz_copy_(all.items[i], rounded(all.items[i], half));
            }
        }
    }
}

static void stored_weights_compute_as_rounded_ones(void **state)
{
    (void)state;
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_module *m = network(), *wide = adz_module_copy(m);
        adz_tensor *ids = some_ids();
        round_weights(wide, halves[i]);
        assert_int_equal(adz_module_store_weights(m, halves[i]), ADZ_OK);
        adz_tensor_list a = adz_module_parameters(m), b = adz_module_parameters(wide);
        for (size_t k = 0; k < a.count; ++k) {
            const bool weight = adz_tensor_rank(a.items[k]) == 2;
            assert_int_equal(adz_tensor_dtype(a.items[k]), weight ? halves[i] : ADZ_F32);
            assert_int_equal(adz_tensor_requires_grad(a.items[k]), !weight);
        }
        adz_tensor *y = adz_module_forward(m, ids), *z = adz_module_forward(wide, ids);
        assert_int_equal(adz_tensor_dtype(y), ADZ_F32);
        assert_true(same_bits(y, z));
        assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        assert_int_equal(adz_backward(adz_sum(z, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        for (size_t k = 0; k < a.count; ++k) {
            adz_tensor *grad = adz_tensor_grad(a.items[k]);
            assert_true((grad == NULL) == (adz_tensor_rank(a.items[k]) == 2));
            assert_true(grad == NULL || same_bits(grad, adz_tensor_grad(b.items[k])));
        }
        adz_module_release(&m);
        adz_module_release(&wide);
        adz_scope_close(scope);
    }
}

static void stored_weights_take_half_the_memory(void **state)
{
    (void)state;
    const size_t weights = 2 * ROWS * WIDTH + 2 * WIDTH * HIDDEN;
    const size_t before = live_bytes();
    adz_module *m = network();
    const size_t whole = live_bytes() - before;
    assert_int_equal(adz_module_store_weights(m, ADZ_BF16), ADZ_OK);
    const size_t half = live_bytes() - before;
    assert_true(whole > 4 * weights && half >= 2 * weights && half <= whole - 2 * weights + 4096);
    adz_module_release(&m);
}

/* The peak of a product stays far below the 16 MB of a widened weight. */
static void no_whole_weight_is_widened(void **state)
{
    (void)state;
    if (!adzi_has_fused() && adzi_blas_missing() == NULL) {
        skip(); /* BLAS gets a widened copy */
    }
    adz_scope *scope = adz_scope_open();
    adz_set_num_threads(2);
    adz_set_skip_init(true);
    adz_module *m = adz_linear_new(1024, 4096, NULL);
    adz_set_skip_init(false);
    assert_int_equal(adz_module_store_weights(m, ADZ_BF16), ADZ_OK);
    for (int64_t rows = 1; rows <= 128; rows *= 2) {
        adz_tensor *x = adz_ones(ADZ_SHAPE(rows, 1024), ADZ_F32);
        adz_reset_peak_memory();
        const size_t at = live_bytes();
        assert_non_null(adz_module_forward(m, x));
        adz_memory_info info;
        adz_get_memory_info(&info, sizeof info);
        const size_t y = (size_t)rows * 4096 * sizeof(float);
        assert_true(info.peak_bytes - at < y + (8u << 20));
    }
    adz_set_num_threads(0);
    adz_module_release(&m);
    adz_scope_close(scope);
}

static adz_module *awd_lstm_lm(void)
{
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    adz_module *parts[2] = { adz_fastai_awd_lstm_new(61, 20, 24, 2, NULL) };
    o.tie_encoder = adz_module_get_child(parts[0], "encoder");
    parts[1] = adz_fastai_linear_decoder_new(61, 20, &o);
    return adz_fastai_sequential_rnn_new(parts, 2);
}

/* Language models, whose decoder shares the table of the embedding, compute as with rounded
 * weights. */
static void language_models_store_weights(void **state)
{
    (void)state;
    adz_gpt2_options gpt2 = ADZ_GPT2_OPTIONS;
    gpt2.vocab_size = 61;
    gpt2.n_positions = gpt2.n_ctx = 16;
    gpt2.n_embd = 32;
    gpt2.n_layer = gpt2.n_head = 2;
    for (int i = 0; i < 2; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_module *m = i == 0 ? adz_gpt2_lm_head_model_new(&gpt2) : awd_lstm_lm();
        assert_non_null(m);
        adz_module_eval(m);
        assert_int_equal(adz_module_store_weights(m, ADZ_BF16), ADZ_OK);
        adz_module *wide = adz_module_copy(m);
        assert_non_null(wide);
        assert_int_equal(adz_module_to(wide, ADZ_F32), ADZ_OK);
        adz_tensor *ids = adz_randint(0, 61, ADZ_SHAPE(3, 9), ADZ_I64);
        adz_tensor *y = adz_module_forward(m, ids), *z = adz_module_forward(wide, ids);
        assert_non_null(y);
        assert_true(same_bits(y, z));
        adz_module_release(&m);
        adz_module_release(&wide);
        adz_scope_close(scope);
    }
}

static void stored_weights_are_not_trained(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = network();
    adz_backward(adz_sum(adz_module_forward(m, some_ids()), ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_tensor *weight = adz_module_get_parameter(adz_module_child_at(m, 1), "weight");
    assert_non_null(adz_tensor_grad(weight));
    assert_int_equal(adz_module_store_weights(m, ADZ_F16), ADZ_OK);
    assert_null(adz_tensor_grad(weight));
    assert_null(adz_requires_grad_(weight, true));
    expect_error(ADZ_ERR_DTYPE, "is float16; only float32 and float64 have gradients");
    assert_int_equal(adz_module_requires_grad_(m, true), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "is float16, which is not trained; call adz_module_to");
    assert_null(adz_adam_new(adz_module_parameters(m), 0.1, NULL));
    expect_error(ADZ_ERR_DTYPE, "is float16, not float32 or float64");
    assert_int_equal(adz_module_to(m, ADZ_F32), ADZ_OK);
    assert_int_equal(adz_tensor_dtype(weight), ADZ_F32);
    assert_int_equal(adz_module_requires_grad_(m, true), ADZ_OK);
    adz_optimizer *adam = adz_adam_new(adz_module_parameters(m), 0.1, NULL);
    assert_non_null(adam);
    adz_optimizer_release(&adam);
    adz_module_release(&m);
    adz_scope_close(scope);
}

static void what_cannot_be_stored_is_refused(void **state)
{
    (void)state;
    adz_module *m = network();
    assert_int_equal(adz_module_store_weights(m, ADZ_F32), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "float32; weights are stored as float16 or bfloat16");
    assert_int_equal(adz_module_to(m, ADZ_BF16), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "adz_module_store_weights");
    expect_null(adz_module_store_weights(NULL, ADZ_F16) == ADZ_ERR_NULL, "adz_module_store_weights",
        "module");
    adz_module_to(m, ADZ_F64);
    assert_int_equal(adz_module_store_weights(m, ADZ_F16), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "a weight[512, 128] is float64; call adz_module_to with ADZ_F32");
    adz_module_to(m, ADZ_F32);
    for (int at = 1, done = 0; !done; ++at) { /* refused memory changes nothing */
        adzi_alloc_fail_at(at);
        const adz_status status = adz_module_store_weights(m, ADZ_F16);
        done = !adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        adz_tensor_list all = adz_module_parameters(m);
        for (size_t i = 0; i < all.count && !done; ++i) {
            assert_int_equal(adz_tensor_dtype(all.items[i]), ADZ_F32);
        }
        assert_int_equal(status, done ? ADZ_OK : ADZ_ERR_MEMORY);
        adz_error_take(NULL, 0);
    }
    adz_module_release(&m);
}

/* A state in half precision loads into stored weights as it is, and into f32 ones widened. A tied
 * weight is stored once. */
static void states_keep_half_precision(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = network(), *other = network(), *wide = network();
    adz_tensor *ids = some_ids();
    adz_module_store_weights(m, ADZ_BF16);
    adz_module_store_weights(other, ADZ_BF16);
    adz_state_dict *saved = adz_module_state_dict(m);
    assert_int_equal(adz_module_load_state_dict(other, saved, true), ADZ_OK);
    assert_int_equal(adz_module_load_state_dict(wide, saved, true), ADZ_OK);
    ADZ_NO_GRAD
    {
        adz_tensor *y = adz_module_forward(m, ids);
        assert_true(same_bits(y, adz_module_forward(other, ids)));
        assert_true(same_bits(y, adz_module_forward(wide, ids)));
        adz_module *copy = adz_module_copy(m);
        assert_true(same_bits(y, adz_module_forward(copy, ids)));
        adz_module_release(&copy);
    }
    adz_state_dict_free(&saved);
    adz_state_dict *whole = adz_module_state_dict(wide);
    assert_int_equal(adz_module_load_state_dict(m, whole, true), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "(float32 given, bfloat16 here)");
    adz_state_dict_free(&whole);
    adz_module_release(&m);
    adz_module_release(&other);
    adz_module_release(&wide);
    adz_scope_close(scope);
}

typedef struct call {
    adz_module *module;
    adz_tensor *x;
} call;

static adz_tensor *forward(void *user)
{
    const call *c = user;
    return adz_module_forward(c->module, c->x);
}

/* A plan reads the weights as they are stored, and packs no copies of them. */
static void plans_read_stored_weights(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = network();
    adz_module_store_weights(m, ADZ_BF16);
    call c = { m, adz_keep(adz_randint(0, ROWS, ADZ_SHAPE(200), ADZ_I64)) };
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.module = m;
    options.pack_weights = true;
    adz_plan *plan = adz_plan_new(forward, &c, &options);
    assert_non_null(plan);
    for (int run = 0; run < 4; ++run) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    adz_plan_info info;
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && info.packed_bytes == 0);
    assert_true(same_bits(adz_plan_output(plan), forward(&c)));
    adz_plan_free(&plan);
    adz_release(&c.x);
    adz_module_release(&m);
    adz_scope_close(scope);
}

/* An ONNX file converts the weights, because its products have one dtype. */
static void exports_convert_stored_weights(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_module *m = adz_linear_new(8, 5, NULL);
    adz_module_store_weights(m, ADZ_BF16);
    const char *path = temporary_path("half.onnx");
    assert_int_equal(
        adz_module_write_onnx(m, adz_ones(ADZ_SHAPE(2, 8), ADZ_F32), path, NULL), ADZ_OK);
    size_t length = 0;
    unsigned char *text = read_file(path, &length);
    bool casts = false;
    for (size_t i = 0; i + 4 <= length; ++i) {
        casts = casts || memcmp(text + i, "Cast", 4) == 0;
    }
    assert_true(casts);
    free(text);
    adz_module_release(&m);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(matmul_reads_half_precision),
        cmocka_unit_test(half_precision_with_another_dtype_is_refused),
        cmocka_unit_test(gradients_flow_past_half_precision),
        cmocka_unit_test(stored_weights_compute_as_rounded_ones),
        cmocka_unit_test(stored_weights_take_half_the_memory),
        cmocka_unit_test(no_whole_weight_is_widened),
        cmocka_unit_test(language_models_store_weights),
        cmocka_unit_test(stored_weights_are_not_trained),
        cmocka_unit_test(what_cannot_be_stored_is_refused),
        cmocka_unit_test(states_keep_half_precision),
        cmocka_unit_test(plans_read_stored_weights),
        cmocka_unit_test(exports_convert_stored_weights),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
