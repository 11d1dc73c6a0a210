/* Arguments of the sweep that are tensors. The scope of the call owns them. */
#include "objects.h"

const char *const tensor_names[TENSOR_CHOICES] = { "matrix", "leaf", "graph", "ids", "vector",
    "scalar", "cube", "mask", "id", "id matrix", "four", "bytes", "f64", "transposed", "row",
    "square mask", "leaf f32", "loss", "none", "scores", "gates", "gate bias", "empty", "half",
    "expanded", "rank 8", "not finite", "wrong ids", "largest ids", "GRU gates", "GRU bias",
    "definite", "times", "five", "grid", "theta", "id four", "id five" };

static adz_tensor *numbers(adz_shape shape, adz_dtype dtype)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; ++i) {
        n *= shape.sizes[i];
    }
    adz_tensor *t = adz_mul_number(adz_arange(1, (double)n + 1, 1, ADZ_F64), 1 / ((double)n + 1));
    return adz_to(adz_reshape(t, shape), dtype);
}

static adz_tensor *ids(int64_t a, int64_t b, int64_t c)
{
    const int64_t all[3] = { a, b, c };
    return adz_tensor_from(all, ADZ_SHAPE(3), ADZ_I64);
}

static adz_tensor *special_tensor(size_t choice)
{
    static const float not_finite[] = { __builtin_nanf(""), __builtin_inff(), -__builtin_inff(), 1,
        0, -1, 1e38f, 1e-45f, -0.0f };
    switch (choice) {
    case 19:
        return numbers(ADZ_SHAPE(3, 3, 3), ADZ_F64);
    case 20:
        return numbers(ADZ_SHAPE(12, 3), ADZ_F32);
    case 21:
        return numbers(ADZ_SHAPE(12), ADZ_F32);
    case 22:
        return adz_zeros(ADZ_SHAPE(0, 3), ADZ_F32);
    case 23:
        return numbers(ADZ_SHAPE(3, 3), ADZ_F16);
    case 24:
        return adz_expand(numbers(ADZ_SHAPE(3, 1), ADZ_F32), ADZ_SHAPE(3, 3));
    case 25:
        return numbers(ADZ_SHAPE(1, 1, 1, 1, 1, 1, 3, 3), ADZ_F32);
    case 26:
        return adz_tensor_from(not_finite, ADZ_SHAPE(3, 3), ADZ_F32);
    case 27:
        return ids(-1, 3, 1000);
    case 29:
        return numbers(ADZ_SHAPE(9, 3), ADZ_F32);
    case 30:
        return numbers(ADZ_SHAPE(9), ADZ_F32);
    case 31:
        return adz_eye(3, 3, ADZ_F32);
    case 32:
        return adz_linspace(-1, 1, 2, ADZ_F32);
    case 33:
        return numbers(ADZ_SHAPE(3, 3, 3, 3, 3), ADZ_F32);
    case 34:
        return numbers(ADZ_SHAPE(3, 2, 2, 2), ADZ_F32);
    case 35:
        return numbers(ADZ_SHAPE(3, 2, 3), ADZ_F32);
    case 36:
        return adz_zeros(ADZ_SHAPE(3, 3, 3, 3), ADZ_I64);
    case 37:
        return adz_zeros(ADZ_SHAPE(3, 3, 3, 3, 3), ADZ_I64);
    default:
        return ids(INT64_MAX, INT64_MIN, INT64_MIN + 1);
    }
}

adz_tensor *tensor_make(size_t choice)
{
    adz_shape square = ADZ_SHAPE(3, 3);
    switch (choice) {
    case 0:
        return numbers(square, ADZ_F32);
    case 1:
        return adz_requires_grad_(numbers(square, ADZ_F64), true);
    case 2:
        return adz_mul_number(adz_requires_grad_(numbers(square, ADZ_F32), true), 1);
    case 3:
        return ids(0, 1, 2);
    case 4:
        return numbers(ADZ_SHAPE(3), ADZ_F32);
    case 5:
        return numbers(ADZ_SHAPE_SCALAR, ADZ_F32);
    case 6:
        return numbers(ADZ_SHAPE(3, 3, 3), ADZ_F32);
    case 7:
        return adz_gt(numbers(square, ADZ_F32), adz_scalar(0.3, ADZ_F32));
    case 8:
        return adz_scalar(1, ADZ_I64);
    case 9:
        return adz_expand(ids(0, 1, 2), square);
    case 10:
        return numbers(ADZ_SHAPE(3, 3, 3, 3), ADZ_F32);
    case 11:
        return adz_ones(square, ADZ_U8);
    case 12:
        return numbers(square, ADZ_F64);
    case 13:
        return adz_transpose(numbers(square, ADZ_F32), 0, 1);
    case 14:
        return numbers(ADZ_SHAPE(1, 3), ADZ_F32);
    case 15:
        return adz_ones(ADZ_SHAPE(3, 3, 1), ADZ_BOOL);
    case 16:
        return adz_requires_grad_(numbers(square, ADZ_F32), true);
    case 17:
        return adz_sum(
            adz_requires_grad_(numbers(square, ADZ_F32), true), ADZ_ALL_DIMS, ADZ_DROPDIM);
    case 18:
        return ADZ_NONE;
    default:
        return special_tensor(choice);
    }
}
