#include <math.h>

#include "ops/facts.h"

/* The input has the bytes of the blocks as indices. */
static int call(const op_args *a, adz_tensor **out)
{
    return case_one(adz_dequantize_q8_0(adz_to(a->in[0], ADZ_U8)), out);
}

/* The value of every f16 is the scale of a block, and its bytes are all that there are. */
FACT(every_scale_and_byte_is_read)
{
    for (int bits = 0; bits < 1 << 16; bits += 61) {
        uint8_t block[ADZ_Q8_0_BYTES] = { (uint8_t)bits, (uint8_t)(bits >> 8) };
        for (int i = 0; i < 32; ++i) {
            block[2 + i] = (uint8_t)(i * 8 + bits % 8);
        }
        const uint16_t half = (uint16_t)bits;
        adz_tensor *scale = adz_to(adz_tensor_from(&half, ADZ_SHAPE(1), ADZ_F16), ADZ_F32);
        adz_tensor *y =
            adz_dequantize_q8_0(adz_tensor_from(block, ADZ_SHAPE(1, ADZ_Q8_0_BYTES), ADZ_U8));
        for (int i = 0; i < 32; ++i) {
            const double want =
                adz_tensor_at(scale, (int64_t[]){ 0 }) * (double)(int8_t)block[2 + i];
            const double got = adz_tensor_at(y, (int64_t[]){ i });
            assert_true(got == want || (isnan(got) && isnan(want)));
        }
    }
}

static const struct CMUnitTest facts[] = { cmocka_unit_test(every_scale_and_byte_is_read) };

/* Bytes whose blocks are not in the order of memory. */
#define IN_INDEX_T(n, ...)                                                                    \
    {                                                                                         \
        CASE_SIZES_(__VA_ARGS__), .fill = FILL_INDEX, .range = n, .layout = LAYOUT_TRANSPOSED \
    }

const op_case dequantize_q8_0_case = {
    .name = "dequantize_q8_0",
    .call = call,
    .samples = {
        { .in = { IN_INDEX(120, 3, 2, 34) } },
        { .in = { IN_INDEX(256, 5, 34) } },
        { .in = { IN_INDEX(3, 1, 2, 2, 34) } },
        { .in = { IN_INDEX(2, 0, 34) } },
        { .in = { IN_INDEX(2, 2, 0, 34) } },
        { .in = { IN_INDEX_T(120, 2, 3, 34) } },
    },
    .rejects = {
        { .in = { IN_INDEX(9, 3, 33) }, .status = ADZ_ERR_SHAPE, .says = "34" },
        { .in = { IN_INDEX(9, 34) }, .status = ADZ_ERR_SHAPE },
    },
    .not_differentiable = true,
    FACTS(facts),
};
