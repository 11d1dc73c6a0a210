#include "autograd/op.h"
#include "autograd/engine.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(add);
KERNEL_TABLE_ALL(add_scaled);

typedef struct {
    double alpha;
} add_attr;

/* da = dy, db = alpha dy; the engine sums each back over what was broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    double alpha = adzi_attr(node, add_attr)->alpha;
    if (adzi_needs(node, 0)) {
        dx[0] = dy[0];
    }
    if (adzi_needs(node, 1)) {
        dx[1] = alpha == 1 ? dy[0] : adz_mul_number(dy[0], alpha);
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD(add_attr, alpha) };

const adzi_op adzi_op_add = { .name = "add", .backward = backward, ADZI_FIELDS(fields) };

static adz_tensor *add(adz_tensor *a, adz_tensor *b, double alpha, bool inplace)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, add, a, b) || (inplace && !adzi_begin_inplace(&call, false)) ||
        !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)call.in[0]->dtype;
    if (!adzi_number_fits("add", "alpha", alpha, adzi_is_float(dtype) ? dtype : ADZ_I64)) {
        return NULL;
    }
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_broadcast("add", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, dtype, rank, sizes);
    add_attr attr = { alpha };
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_pointwise(alpha == 1 ? KERNEL_FOR(add, dtype) : KERNEL_FOR(add_scaled, dtype), y, 2,
        call.in, &(double[ADZI_POINTWISE_PARAMS]){ alpha }[0]);
    return adzi_leave(&call, y);
}

adz_tensor *adz_add(adz_tensor *a, adz_tensor *b)
{
    return add(a, b, 1, false);
}

adz_tensor *adz_add_scaled(adz_tensor *a, adz_tensor *b, double alpha)
{
    return add(a, b, alpha, false);
}

adz_tensor *adz_add_number(adz_tensor *a, double number)
{
    return add(a, adzi_number("add", a, number), 1, false);
}

adz_tensor *adz_add_number_(adz_tensor *a, double number)
{
    return add(a, adzi_number("add", a, number), 1, true);
}

adz_tensor *adz_add_(adz_tensor *a, adz_tensor *b)
{
    return add(a, b, 1, true);
}

adz_tensor *adz_add_scaled_(adz_tensor *a, adz_tensor *b, double alpha)
{
    return add(a, b, alpha, true);
}

/* Without the tape: how the engine sums gradients. */
void adzi_accumulate(adz_tensor *a, const adz_tensor *b)
{
    adz_tensor other = *b;
    adz_tensor *in[2] = { a, &other };
    adzi_pointwise(KERNEL_FOR(add, a->dtype), a, 2, in, NULL);
}
