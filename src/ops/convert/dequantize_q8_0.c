#include <math.h>

#include "ops/op.h"
#include "ops/convert/q8_0.h"

/* The weights of blocks of Q8_0, a scale in f16 times 32 signed bytes.
 *
 * x is u8[..., B, 34], y f32[..., 32 B]. Bytes carry no gradient, so nothing is saved. */

/* The shape rule relies on two dimensions or more, so bytes that are no blocks are refused before
 * it runs. */
static bool check(adzi_call *call, void *block)
{
    (void)block;
    const adz_tensor *x = call->in[0];
    if (!adzi_is_q8_0(x)) {
        adzi_error("dequantize_q8_0", ADZ_ERR_SHAPE,
            "x%s %s must be uint8 [..., blocks, 34], as adz_quantize_q8_0 makes it",
            adzi_text_shape(x), adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    return true;
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    int64_t numel;
    y->dtype = ADZ_F32;
    y->shape.rank = in[0]->rank - 1;
    y->shape.sizes[y->shape.rank - 1] *= ADZI_Q8_0_VALUES;
    return adzi_check_sizes("dequantize_q8_0", y->shape.rank, y->shape.sizes, ADZ_F32, &numel);
}

typedef struct {
    const uint8_t *x;
    float *y;
} dequantize_args;

ADZI_ADDRESSES(dequantize_args, x, y);

/* Units are blocks. */
static void dequantize(const void *block, int64_t begin, int64_t end)
{
    const dequantize_args *args = block;
    adzi_q8_0_widen(args->y + begin * ADZI_Q8_0_VALUES, args->x + begin * ADZI_Q8_0_BYTES,
        (end - begin) * ADZI_Q8_0_VALUES);
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)block;
    const dequantize_args args = { (const uint8_t *)in[0]->data, (float *)(void *)y[0]->data };
    adzi_launch(dequantize, dequantize_args, &args, y[0]->numel / ADZI_Q8_0_VALUES,
        ADZI_POINTWISE_GRAIN / ADZI_Q8_0_VALUES);
}

/* f32 of the bits of an f16, which come as two bytes in f32, shaped [..., 1]. */
static adz_tensor *scale_of(adz_tensor *low, adz_tensor *high)
{
    /* A sign, five bits of the exponent and ten digits, of which the high byte has two. */
    adz_tensor *negative = adz_to(adz_ge_number(high, 128), ADZ_F32);
    adz_tensor *rest = adz_sub(high, adz_mul_number(negative, 128));
    adz_tensor *exponent = adz_floor(adz_mul_number(rest, 0.25));
    adz_tensor *digits =
        adz_add(adz_mul_number(adz_sub(rest, adz_mul_number(exponent, 4)), 256), low);
    adz_tensor *normal =
        adz_mul(adz_add_number(digits, 1024), adz_exp2(adz_add_number(exponent, -25)));
    adz_tensor *value =
        adz_where(adz_eq_number(exponent, 0), adz_mul_number(digits, 0x1p-24), normal);
    /* The largest exponent is that of infinity and NaN, the exponent 0 that of subnormal numbers.
     */
    adz_tensor *beyond = adz_where(
        adz_eq_number(digits, 0), adz_full_like(value, INFINITY), adz_full_like(value, NAN));
    value = adz_where(adz_eq_number(exponent, 31), beyond, value);
    return adz_mul(value, adz_add_number(adz_mul_number(negative, -2), 1));
}

/* Exports write this. All its values are exact in f32. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adz_tensor *x = in[0];
    adz_shape shape = adz_shape_of(x->rank - 1, x->sizes);
    shape.sizes[shape.rank - 1] *= ADZI_Q8_0_VALUES;
    /* The bytes of the values are signed: those above 127 stand for a number below 0. */
    adz_tensor *wide = adz_to(x, ADZ_F32);
    adz_tensor *bytes = adz_narrow(wide, -1, 2, ADZI_Q8_0_VALUES);
    adz_tensor *above = adz_to(adz_gt_number(bytes, 127), ADZ_F32);
    adz_tensor *scale = scale_of(adz_narrow(wide, -1, 0, 1), adz_narrow(wide, -1, 1, 1));
    bytes = adz_sub(bytes, adz_mul_number(above, 256));
    y[0] = adz_reshape(adz_mul(bytes, scale), shape);
    return adzi_status(y[0]);
}

const adzi_op adzi_op_dequantize_q8_0 = {
    .name = "dequantize_q8_0", .expression = expression, .shape_rule = shape_rule
};

adz_tensor *adz_dequantize_q8_0(adz_tensor *x)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_dequantize_q8_0, steps, NULL, x);
}
