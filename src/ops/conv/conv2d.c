#include "ops/conv/conv.h"

/* The code of all convolutions is in conv.c. */

const adzi_op adzi_op_conv2d = { .name = "conv2d",
    .backward = adzi_conv_backward,
    .fields = adzi_conv_fields,
    .n_fields = ADZI_CONV_FIELDS,
    .expression = adzi_conv_expression };

adz_tensor *adz_conv2d(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options)
{
    return adzi_conv_public(false, 2, x, weight, bias, options);
}
