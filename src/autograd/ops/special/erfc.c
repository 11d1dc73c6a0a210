#include "autograd/ops/elementwise.h"

/* One minus the error function, torch.erfc.
 *
 *     y  = 1 - erf x, accurate where erf is close to 1
 *     dx = -dy 2 / sqrt(pi) e^(-x^2)
 *
 * x has any shape. The node saves x. */

KERNEL_TABLE_FLOAT(erfc);

static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    y[0] = adz_number_sub(1, adz_erf(in[0]));
    return adzi_status(y[0]);
}

const adzi_op adzi_op_erfc = { .name = "erfc", .expression = expression };

adz_tensor *adz_erfc(adz_tensor *x)
{
    return adzi_unary(&adzi_op_erfc, x, erfc_kernels, ADZI_SAVES_X);
}
