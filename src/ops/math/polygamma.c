#include "ops/activation/activation.h"
#include "ops/elementwise.h"

/* Derivatives of the logarithm of the gamma function, torch.polygamma.
 *
 *     y  = derivative n of digamma(x)
 *     dx = dy polygamma(n + 1, x)
 *
 * x has any shape. The node saves x and keeps n as an attribute. */

KERNEL_TABLE_FLOAT(polygamma);

enum { MOST = 100 };

typedef struct {
    int n;
} polygamma_attr;

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const int n = adzi_attr(node, polygamma_attr)->n;
    dx[0] = adz_mul(dy[0], adz_polygamma(n + 1, adzi_saved_input(node, 0)));
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(polygamma_attr, n) };

const adzi_op adzi_op_polygamma = {
    .name = "polygamma", .backward = backward, ADZI_FIELDS(fields)
};

adz_tensor *adz_polygamma(int n, adz_tensor *x)
{
    const polygamma_attr attr = { n };
    if (n < 0 || n > MOST) {
        return adzi_fail(
            "polygamma", ADZ_ERR_ARGUMENT, "n is %d, but must be from 0 to %d", n, MOST);
    }
    if (n == 0) {
        return adz_digamma(x);
    }
    if (x != NULL && !adzi_is_none(x) && (x->dtype > ADZ_F64 && x->dtype <= ADZ_BOOL)) {
        x = adz_to(x, ADZ_F32);
    }
    return adzi_activate(&adzi_op_polygamma, x, polygamma_kernels[adzi_cpu_level],
        (double[ADZI_POINTWISE_PARAMS]){ n }, &attr, sizeof attr, NULL);
}
