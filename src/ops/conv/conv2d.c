#include "ops/conv/conv.h"

/* Convolutions of images, torch.nn.functional.conv2d. The code of all convolutions is in conv.c. */

const adzi_op adzi_op_conv2d = { .name = "conv2d",
    .backward = adzi_conv_backward,
    .fields = adzi_conv_fields,
    .n_fields = ADZI_CONV_FIELDS,
    .attributes_size = sizeof(adzi_conv),
    .expression = adzi_conv_expression,
    .shape_rule = adzi_conv_rule,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL(ADZI_CONV_BIAS) };

adz_tensor *adz_conv2d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options)
{
    return adzi_conv_public(&adzi_op_conv2d, x, weight, bias, options);
}
