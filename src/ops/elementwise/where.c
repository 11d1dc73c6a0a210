#include "ops/elementwise/elementwise.h"
#include "ops/numbers.h"

/* Selects elements of two tensors by a condition, torch.where.
 *
 *     y  = a where cond, else b
 *     da = dy where cond, else 0
 *     db = 0 where cond, else dy
 *
 * cond is bool; a and b are promoted to one dtype. All three broadcast to y. The node saves cond
 * alone, because the values of a and b matter to no derivative. A NaN that is not selected reaches
 * neither y nor a gradient.
 *
 * It has its own file: the columns of the table are for one and for two tensors. */

KERNEL_TABLE_ALL(where);
KERNEL_TABLE_FLOAT(where_backward);

/* Selects between dy and 0 instead of multiplying by 0, because an infinite dy times 0 would be
 * NaN. The engine then sums the gradients of broadcast inputs over the broadcast dimensions. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    /* The 0 is a tensor of rank 0, which broadcasts. */
    adz_tensor *cond = adzi_saved_input(node, 0), *zero = adzi_number("where", dy[0], 0);
    if (adzi_needs(node, 1)) {
        dx[1] = adz_where(cond, dy[0], zero);
        if (dx[1] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 2)) {
        dx[2] = adz_where(cond, zero, dy[0]);
        return adzi_status(dx[2]);
    }
    return ADZ_OK;
}

/* One kernel selects dy or 0 without a tensor of zeros. p[0] is 1 for the gradient of a and 0 for
 * that of b. dy is not written over, because the second gradient still reads it. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *cond = adzi_saved_input(node, 0);
    /* Inputs 1 and 2 are a and b. Each gradient has the shape of y. */
    for (int i = 1; i <= 2; ++i) {
        if (!adzi_needs(node, i)) {
            continue;
        }
        dx[i] = cond != NULL ? adzi_scratch_like("where", dy[0]) : NULL;
        if (dx[i] == NULL) {
            return adzi_status(NULL);
        }
        adzi_pointwise(KERNEL_FOR(where_backward, dy[0]->dtype), dx[i], 2,
            (adz_tensor *[]){ dy[0], cond }, (double[ADZI_POINTWISE_PARAMS]){ i == 1 });
    }
    return ADZ_OK;
}

static bool check(adzi_call *call, void *attr)
{
    (void)attr;
    return adzi_want_mask(call, 0) && adzi_promote(call, 1, 2);
}

/* The dtype is that of the values, and not that of the condition. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *attr)
{
    (void)attr;
    y->dtype = (adz_dtype)in[1]->dtype;
    return ADZ_OK;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *attr)
{
    (void)attr;
    adzi_pointwise(KERNEL_FOR(where, y[0]->dtype), y[0], 3, in, NULL);
}

/* Inputs 1 and 2 are the values, input 0 is the condition, which wants no gradient. */
const adzi_op adzi_op_where = { .name = "where",
    .backward = backward,
    .fused = fused,
    .shape_rule = shape_rule,
    .saved_inputs = 1u << 0,
    .strided_inputs = 1u << 0 | 1u << 1 | 1u << 2,
    .broadcasts = true };

adz_tensor *adz_where(adz_tensor *cond, adz_tensor *a, adz_tensor *b)
{
    static const adzi_steps steps = { .check = check, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_where, steps, NULL, cond, a, b);
}
