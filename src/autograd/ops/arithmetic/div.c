#include "autograd/op.h"
#include "autograd/ops/numbers.h"

KERNEL_TABLE_FLOAT(div);

/* da = dy / b, db = -dy ((a / b) / b); the engine sums each back over what was broadcast. The order
 * of the divisions matters: dy / b overflows for a tiny b, and times a / b = 0 it would be NaN. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *b = adzi_saved_input(node, 1);
    if (adzi_needs(node, 0)) {
        dx[0] = adz_div(dy[0], b);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        adz_tensor *slope = adz_div(adz_div(adzi_saved_input(node, 0), b), b);
        dx[1] = adz_neg(adz_mul(dy[0], slope));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

const adzi_op adzi_op_div = { .name = "div", .backward = backward };

/* True division: integers become f32, at once, since the dtype that they promote to might not hold
 * one of rank 0: -1 beside u8. */
static bool to_floats(adzi_call *call)
{
    if (adzi_is_float((adz_dtype)call->in[0]->dtype) ||
        adzi_is_float((adz_dtype)call->in[1]->dtype)) {
        return adzi_promote(call, 0, 1);
    }
    if (!adzi_want_computable(call, 0) || !adzi_want_computable(call, 1)) {
        return false;
    }
    if (call->inplace) {
        adzi_error("div", ADZ_ERR_DTYPE,
            "a%s is %s, and a quotient is a float: it cannot be written there; use adz_div",
            adzi_text_shape(call->in[0]), adz_dtype_name((adz_dtype)call->in[0]->dtype));
        return false;
    }
    return adzi_convert(call, 0, ADZ_F32) && adzi_convert(call, 1, ADZ_F32);
}

static adz_tensor *divide(adz_tensor *a, adz_tensor *b, bool inplace)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, div, a, b) ||
        (inplace && !adzi_begin_inplace(&call, adzi_wants(&call, 1))) || !to_floats(&call)) {
        return NULL;
    }
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_broadcast("div", &rank, sizes, call.in[0], call.in[1])) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, (adz_dtype)call.in[0]->dtype, rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    adzi_save_input(&call, 1);
    if (adzi_wants(&call, 1)) {
        adzi_save_input(&call, 0);
    }
    adzi_pointwise(KERNEL_FOR(div, y->dtype), y, 2, call.in, NULL);
    return adzi_leave(&call, y);
}

adz_tensor *adz_div(adz_tensor *a, adz_tensor *b)
{
    return divide(a, b, false);
}

/* The number as it is divided: beside integers, too, a float, since their dtype might not hold it.
 */
static adz_tensor *number_beside(adz_tensor *a, double number)
{
    adz_tensor *t = adzi_number("div", a, number);
    if (t != NULL && !adzi_is_float((adz_dtype)t->dtype)) {
        t = adzi_scratch("div", ADZ_F32, 0, NULL);
        if (t != NULL) {
            adzi_fill(t, number);
        }
    }
    return t;
}

adz_tensor *adz_div_number(adz_tensor *a, double number)
{
    return divide(a, number_beside(a, number), false);
}

adz_tensor *adz_number_div(double number, adz_tensor *a)
{
    return divide(number_beside(a, number), a, false);
}

adz_tensor *adz_div_(adz_tensor *a, adz_tensor *b)
{
    return divide(a, b, true);
}

adz_tensor *adz_div_number_(adz_tensor *a, double number)
{
    return divide(a, adzi_number("div", a, number), true);
}
