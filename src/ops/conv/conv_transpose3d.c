#include "ops/conv/conv.h"

/* Transposed convolutions of volumes, torch.nn.functional.conv_transpose3d: the gradient of conv3d
 * to its input. The code of all convolutions is in conv.c. */

const adzi_op adzi_op_conv_transpose3d = { .name = "conv_transpose3d",
    .backward = adzi_conv_transpose_backward,
    .fields = adzi_conv_fields,
    .n_fields = ADZI_CONV_FIELDS,
    .attributes_size = sizeof(adzi_conv),
    .expression = adzi_conv_transpose_expression,
    .shape_rule = adzi_conv_transpose_rule,
    .dtypes = ADZ_DTYPES_FLOATS,
    .optional_inputs = ADZI_OPTIONAL(ADZI_CONV_BIAS) };

adz_tensor *adz_conv_transpose3d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options)
{
    return adzi_conv_public(&adzi_op_conv_transpose3d, x, weight, bias, options);
}
