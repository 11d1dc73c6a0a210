/* fastai's PositionalEncoding: pos[T] becomes [T, D], sin(pos * freq) then cos(pos * freq), with
 * freq_i = 10000^(-2 i / D). */
#include <math.h>

#include "adze/nn/fastai_attention.h"
#include "adze/ops/convert.h"
#include "adze/ops/linalg.h"
#include "adze/ops/math.h"
#include "adze/ops/shape.h"
#include "nn/zoo/fastai/text.h"
#include "nn/zoo/zoo.h"

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

ADZ_OPTIONS_INIT(adz_fastai_positional_encoding_options_init,
    adz_fastai_positional_encoding_options, ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS)

static adz_tensor *frequencies(int64_t d, adz_dtype dtype)
{
    adz_tensor *freq = adz_empty(ADZ_SHAPE(d / 2 + d % 2), ADZ_F64);
    for (int64_t i = 0; freq != NULL && i < adz_tensor_numel(freq); ++i) {
        adz_tensor_data_f64(freq)[i] = 1 / pow(10000, (double)(2 * i) / (double)d);
    }
    return adz_to(freq, dtype);
}

adz_module *adz_fastai_positional_encoding_new(
    int64_t d, const adz_fastai_positional_encoding_options *options)
{
    static const char op[] = "adz_fastai_positional_encoding_new";
    adz_fastai_positional_encoding_options o = ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!adz_check_parameter_dtype(op, o.dtype) || !adz_check_size(op, "d", d, 1)) {
        return NULL;
    }
    adz_scope *scope = adz_scope_open();
    adz_module *self = adz_module_new(&positional_encoding_type, 0);
    bool good =
        self != NULL && adz_module_add_buffer(self, "freq", frequencies(d, o.dtype), true) != NULL;
    return zoo_built(scope, self, good);
}
