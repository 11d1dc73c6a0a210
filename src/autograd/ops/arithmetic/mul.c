#include "autograd/op.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_ALL(mul);

/* da = dy b, db = dy a; the engine sums each back over what was broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    for (int i = 0; i < 2; ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = adz_mul(dy[0], adzi_saved_input(node, 1 - i));
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    return ADZ_OK;
}

const adzi_op adzi_op_mul = { .name = "mul", .backward = backward };

static adz_tensor *mul(adz_tensor *a, adz_tensor *b, bool inplace)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, mul, a, b) ||
        (inplace && !adzi_begin_inplace(&call, adzi_wants(&call, 1))) ||
        !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_broadcast("mul", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    for (int i = 0; i < 2; ++i) {
        if (adzi_wants(&call, i)) {
            adzi_save_input(&call, 1 - i);
        }
    }
    adzi_pointwise(KERNEL_FOR(mul, y->dtype), y, 2, call.in, NULL);
    return adzi_leave(&call, y);
}

adz_tensor *adz_mul(adz_tensor *a, adz_tensor *b)
{
    return mul(a, b, false);
}

adz_tensor *adz_mul_number(adz_tensor *a, double number)
{
    return mul(a, adzi_number("mul", a, number), false);
}

adz_tensor *adz_mul_(adz_tensor *a, adz_tensor *b)
{
    return mul(a, b, true);
}

adz_tensor *adz_mul_number_(adz_tensor *a, double number)
{
    return mul(a, adzi_number("mul", a, number), true);
}
