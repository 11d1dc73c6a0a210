/* Weights in blocks of Q8_0: results have the bits of weights that were widened before. */
#include "adze/zoo.h"
#include "../nn.h"

enum { IDS = 24, ROWS = 512, WIDTH = 128 };

static bool same_bits(adz_tensor *a, adz_tensor *b)
{
    adz_tensor *x = adz_contiguous(a), *y = adz_contiguous(b);
    const size_t bytes = (size_t)adz_tensor_numel(x) * adz_dtype_size(adz_tensor_dtype(x));
    return adz_tensor_numel(x) == adz_tensor_numel(y) &&
           memcmp(adz_tensor_data_constant(x), adz_tensor_data_constant(y), bytes) == 0;
}

static size_t live_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_bytes;
}

/* A linear layer of blocks has the bits of one of widened blocks, its gradient by x too, with and
 * without a graph for the backward. */
static void linear_reads_blocks(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        for (int rows = 1; rows <= 40; rows += 13) {
            adz_tensor *q = adz_quantize_q8_0(adz_randn(ADZ_SHAPE(200, 96), ADZ_F32)), *g[2][3];
            adz_tensor *x = adz_randn(ADZ_SHAPE(2, rows, 96), ADZ_F32);
            adz_tensor *bias = adz_randn(ADZ_SHAPE(200), ADZ_F32);
            for (int wide = 0; wide < 2; ++wide) {
                adz_tensor *leaf = adz_requires_grad_(adz_clone(x), true);
                adz_tensor *weight = wide ? adz_dequantize_q8_0(q) : q;
                adz_tensor *y = adz_linear(leaf, weight, bias);
                adz_tensor *z = adz_add(y, adz_linear_relu(leaf, weight, bias));
                adz_tensor *loss = adz_sum(adz_square(z), ADZ_ALL_DIMS, ADZ_DROPDIM);
                adz_tensor *dx;
                adz_backward_options options = ADZ_BACKWARD_OPTIONS;
                options.create_graph = true;
                assert_int_equal(
                    adz_autograd_grad(&loss, NULL, 1, &leaf, 1, &options, &dx), ADZ_OK);
                assert_int_equal(adz_backward(loss), ADZ_OK);
                g[wide][0] = z;
                g[wide][1] = adz_tensor_grad(leaf);
                g[wide][2] = dx;
            }
            for (int i = 0; i < 3; ++i) {
                assert_true(same_bits(g[0][i], g[1][i]));
            }
        }
    }
}

static void blocks_that_do_not_fit_are_refused(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        adz_tensor *q = adz_quantize_q8_0(adz_ones(ADZ_SHAPE(3, 64), ADZ_F32));
        assert_null(adz_linear(adz_ones(ADZ_SHAPE(2, 32), ADZ_F32), q, ADZ_NONE));
        expect_error(ADZ_ERR_SHAPE, "blocks of Q8_0");
        assert_null(adz_linear(adz_ones(ADZ_SHAPE(2, 64), ADZ_F64), q, ADZ_NONE));
        expect_error(ADZ_ERR_DTYPE, "x is float64, weight uint8");
        adz_module *odd = adz_linear_new(33, 4, NULL), *conv = adz_gpt2_conv1d_new(32, 32, NULL);
        assert_int_equal(adz_module_quantize_weights(odd), ADZ_ERR_SHAPE);
        expect_error(ADZ_ERR_SHAPE, "multiples of 32");
        assert_int_equal(adz_module_quantize_weights(conv), ADZ_ERR_UNSUPPORTED);
        expect_error(ADZ_ERR_UNSUPPORTED, "Conv1D cannot be stored in blocks");
        assert_int_equal(adz_tensor_dtype(adz_module_get_parameter(odd, "weight")), ADZ_F32);
        adz_module_release(&odd);
        adz_module_release(&conv);
    }
}

/* A network whose weights are blocks computes with the bits of one whose weights were rounded. It
 * takes little more than a byte per weight, and its state comes back. */
static void networks_keep_blocks(void **state)
{
    (void)state;
    ADZ_SCOPE
    {
        adz_module *m = ADZ_SEQUENTIAL(adz_embedding_new(ROWS, WIDTH, NULL),
            adz_linear_new(WIDTH, 2 * WIDTH, NULL), adz_relu_new(),
            adz_linear_new(2 * WIDTH, ROWS, NULL));
        adz_module *wide = adz_module_copy(m);
        adz_tensor_list all = adz_module_parameters(wide);
        for (size_t i = 0; i < all.count; ++i) {
            if (adz_tensor_rank(all.items[i]) == 2) {
                ADZ_NO_GRAD
                {
                    adz_copy_(all.items[i], adz_dequantize_q8_0(adz_quantize_q8_0(all.items[i])));
                }
            }
        }
        const size_t before = live_bytes();
        assert_int_equal(adz_module_quantize_weights(m), ADZ_OK);
        const size_t weights = ROWS * WIDTH + 2 * WIDTH * WIDTH + 2 * WIDTH * ROWS;
        assert_true(before - live_bytes() > (size_t)(2.9 * (double)weights));
        adz_tensor *ids = adz_randint(0, ROWS, ADZ_SHAPE(IDS), ADZ_I64),
                   *y = adz_module_forward(m, ids);
        assert_true(same_bits(y, adz_module_forward(wide, ids)));
        assert_int_equal(adz_module_requires_grad_(m, true), ADZ_ERR_DTYPE);
        expect_error(ADZ_ERR_DTYPE, "is uint8, which is not trained");
        assert_int_equal(adz_module_quantize_weights(m), ADZ_OK);
        assert_int_equal(adz_module_to(m, ADZ_F32), ADZ_OK);
        assert_int_equal(adz_tensor_rank(adz_module_get_parameter(m, "1.weight")), 2);
        assert_true(same_bits(y, adz_module_forward(m, ids)));
        adz_module_release(&m);
        adz_module_release(&wide);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(linear_reads_blocks),
        cmocka_unit_test(blocks_that_do_not_fit_are_refused),
        cmocka_unit_test(networks_keep_blocks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
