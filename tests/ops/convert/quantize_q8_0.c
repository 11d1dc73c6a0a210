#include <math.h>

#include "ops/facts.h"

static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_quantize_q8_0(adz_to(a->in[0], ADZ_F32)), out);
}

/* The largest magnitude becomes 127, and halves are rounded away from zero. */
FACT(blocks_hold_a_scale_and_bytes)
{
    float x[64] = { 127, -63.5F, 0.5F, -0.5F, 0.49F, 1, -127 };
    x[32] = -254;
    x[33] = 3;
    adz_tensor *y = adz_quantize_q8_0(adz_tensor_from(x, ADZ_SHAPE(1, 64), ADZ_F32));
    assert_int_equal(adz_tensor_rank(y), 3);
    const uint8_t *b = adz_tensor_data(y);
    const uint8_t want[] = { 0x00, 0x3c, 127, (uint8_t)-64, 1, (uint8_t)-1, 0, 1, (uint8_t)-127 };
    const uint8_t second[] = { 0x00, 0x40, (uint8_t)-127, 2 };
    assert_memory_equal(b, want, sizeof want);
    assert_memory_equal(b + ADZ_Q8_0_BYTES, second, sizeof second);
    for (int i = 7; i < 32; ++i) {
        assert_int_equal(b[2 + i], 0);
    }
}

FACT(errors_are_those_of_the_header)
{
    adz_tensor *x = adz_randn(ADZ_SHAPE(40, 96), ADZ_F32);
    adz_tensor *y = adz_dequantize_q8_0(adz_quantize_q8_0(x));
    const float *a = adz_tensor_data_f32(x), *b = adz_tensor_data_f32(y);
    for (int block = 0; block < 40 * 3; ++block, a += 32, b += 32) {
        float most = 0;
        for (int i = 0; i < 32; ++i) {
            most = fmaxf(most, fabsf(a[i]));
        }
        for (int i = 0; i < 32; ++i) {
            assert_true(fabsf(a[i] - b[i]) <= most / 127 * (0.5F + 127 * 0x1p-11F));
        }
    }
}

FACT(faults_stay_visible)
{
    for (int i = 0; i < 3; ++i) {
        float x[32] = { 1, 2, 3 };
        x[17] = i == 0 ? NAN : i == 1 ? INFINITY : 3e38F;
        adz_tensor *y = adz_quantize_q8_0(adz_tensor_from(x, ADZ_SHAPE(32), ADZ_F32));
        const double value = adz_tensor_at(adz_dequantize_q8_0(y), (int64_t[]){ 17 });
        assert_true(isnan(value) || isinf(value));
    }
    adz_tensor *zero = adz_dequantize_q8_0(adz_quantize_q8_0(adz_zeros(ADZ_SHAPE(32), ADZ_F32)));
    assert_true(adz_tensor_at(zero, (int64_t[]){ 5 }) == 0);
}

/* Below 2^-25 * 127 the scale is 0 in f16. */
FACT(small_values_become_0)
{
    for (int i = 0; i < 3; ++i) {
        float x[32] = { 0 };
        x[3] = i == 0 ? 1e-45F : i == 1 ? 1e-38F : 3e-6F;
        x[4] = -x[3];
        adz_tensor *q = adz_quantize_q8_0(adz_tensor_from(x, ADZ_SHAPE(32), ADZ_F32));
        adz_tensor *y = adz_dequantize_q8_0(q);
        assert_true(adz_tensor_at(q, (int64_t[]){ 0, 2 }) == 0);
        assert_true(adz_tensor_at(q, (int64_t[]){ 0, 5 }) == (i < 2 ? 0 : 127));
        for (int64_t k = 0; k < 32; ++k) {
            assert_true(adz_tensor_at(y, &k) == 0);
        }
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(blocks_hold_a_scale_and_bytes),
    cmocka_unit_test(errors_are_those_of_the_header),
    cmocka_unit_test(faults_stay_visible),
    cmocka_unit_test(small_values_become_0),
};

const op_case quantize_q8_0_case = {
    .name = "quantize_q8_0",
    .call = call,
    .samples = {
        { .in = { IN(3, 64) } },
        { .in = { IN_T(2, 3, 32) } },
        { .in = { IN(96) } },
        { .in = { IN(2, 0) } },
        { .in = { IN(0, 32) } },
        { .in = { IN(1, 32) } },
    },
    .rejects = {
        { .in = { IN(3, 33) }, .status = ADZ_ERR_SHAPE, .says = "multiple of 32" },
        { .in = { IN_0 }, .status = ADZ_ERR_SHAPE },
        { .in = { IN(1, 1, 1, 1, 1, 1, 1, 32) }, .status = ADZ_ERR_SHAPE },
    },
    .not_differentiable = true,
    FACTS(facts),
};
