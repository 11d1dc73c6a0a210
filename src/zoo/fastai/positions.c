/* fastai's PositionalEncoding: pos[T] becomes [T, D], sin(pos * freq) then cos(pos * freq), with
 * freq_i = 10000^(-2 i / D). */
#include "adze/zoo/fastai_attention.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/convert.h"
#include "adze/ops/linalg.h"
#include "adze/ops/math.h"
#include "adze/ops/shape.h"
#include "fastai/text.h"
#include "zoo.h"

static adz_tensor *forward(adz_module *self, adz_tensor *pos)
{
    adz_tensor *freq = adz_module_buffer_at(self, 0);
    if (!adz_check_tensor(adz_module_name(self), "pos", pos)) {
        return NULL;
    }
    if (adz_tensor_rank(pos) != 1) {
        return zoo_fail(
            adz_module_name(self), ADZ_ERR_SHAPE, "pos%s must be [T]", adz_text_shape(pos));
    }
    adz_tensor *angles = adz_outer(adz_to(pos, adz_tensor_dtype(freq)), freq);
    adz_tensor *parts[] = { adz_sin(angles), adz_cos(angles) };
    return adz_cat(parts, 2, 1);
}

static const adz_module_type positional_encoding_type = {
    .size = sizeof(adz_module_type),
    .name = "PositionalEncoding",
    .forward = forward,
};

static const adz_field fields[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_positional_encoding_options),
};

ADZ_OPTIONS_TABLE(
    adz_fastai_positional_encoding_options, ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS, fields)

static adz_tensor *frequencies(int64_t d, adz_dtype dtype)
{
    adz_tensor *exponents = adz_div_number(adz_arange(0, (double)d, 2, ADZ_F64), (double)d);
    adz_tensor *powers = adz_pow(adz_full(ADZ_SHAPE(1), 10000, ADZ_F64), exponents);
    return adz_to(adz_reciprocal(powers), dtype);
}

adz_module *adz_fastai_positional_encoding_new(
    int64_t d, const adz_fastai_positional_encoding_options *options)
{
    static const char op[] = "adz_fastai_positional_encoding_new";
    adz_fastai_positional_encoding_options o;
    if (!adz_options_take(op, &adz_fastai_positional_encoding_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "d", d, 1)) {
        return NULL;
    }
    adz_scope *scope = adz_scope_open();
    adz_module *self = adz_module_new(&positional_encoding_type, 0);
    bool good =
        self != NULL && adz_module_add_buffer(self, "freq", frequencies(d, o.dtype), true) != NULL;
    return adzi_zoo_built(scope, self, good);
}
