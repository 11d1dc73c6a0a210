#include "ops/op.h"
#include "ops/convert/q8_0.h"

/* Weights as blocks of Q8_0: 32 values become a scale in f16 and 32 signed bytes.
 *
 * x[..., D] is f32, y u8[..., D / 32, 34]. Bytes carry no gradient, so nothing is saved. */

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    const adz_tensor *x = in[0];
    const int64_t d = x->rank > 0 ? x->sizes[x->rank - 1] : 1;
    if (d % ADZI_Q8_0_VALUES != 0) {
        return adzi_error("quantize_q8_0", ADZ_ERR_SHAPE,
            "x%s: its last size must be a multiple of 32, because a block holds 32 values",
            adzi_text_shape(x));
    }
    int64_t numel;
    y->dtype = ADZ_U8;
    y->shape.rank = x->rank + 1;
    if (x->rank < ADZ_MAX_RANK) { /* the check refuses one dimension more */
        y->shape.sizes[x->rank - 1] = d / ADZI_Q8_0_VALUES;
        y->shape.sizes[x->rank] = ADZI_Q8_0_BYTES;
    }
    return adzi_check_sizes("quantize_q8_0", y->shape.rank, y->shape.sizes, ADZ_U8, &numel);
}

typedef struct {
    const float *x;
    uint8_t *y;
} quantize_args;

ADZI_ADDRESSES(quantize_args, x, y);

/* The scale of a block is its largest magnitude divided by 127. It is rounded to f16 after the
 * bytes are computed, as in the files of GGUF. Units are blocks. */
static void quantize(const void *block, int64_t begin, int64_t end)
{
    const quantize_args *args = block;
    for (int64_t i = begin; i < end; ++i) {
        adzi_q8_0_round(args->y + i * ADZI_Q8_0_BYTES, args->x + i * ADZI_Q8_0_VALUES);
    }
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    (void)block;
    const quantize_args args = { (const float *)(const void *)in[0]->data, (uint8_t *)y[0]->data };
    adzi_launch(quantize, quantize_args, &args, in[0]->numel / ADZI_Q8_0_VALUES,
        ADZI_POINTWISE_GRAIN / ADZI_Q8_0_VALUES);
}

const adzi_op adzi_op_quantize_q8_0 = {
    .name = "quantize_q8_0", .shape_rule = shape_rule, .dtypes = ADZ_DTYPE_BIT(ADZ_F32)
};

adz_tensor *adz_quantize_q8_0(adz_tensor *x)
{
    return ADZI_RUN(quantize_q8_0, launch, NULL, x);
}
