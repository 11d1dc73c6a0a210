#include "ops/linalg/decomposition/singular.h"

#include <math.h>

#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/scale.h"
#include "ops/linalg/matmul.h"

/* Pseudo-inverses by Moore and Penrose, torch.linalg.pinv.
 *
 *     a = u diag(s) vh,   y = vh^T diag(1 / s, or 0 where s is small) u^T
 *     da = -(y K)^T + K y^T - (a y) K y^T + y^T y (dy^T - K a),   K = dy^T y,
 *
 * which is the formula for m <= n; the other one has its products in reverse order. The formula
 * holds as long as a change of a does not change its rank. It reads no singular values, so equal
 * ones do no harm. The node saves a and y. Powers of two: Note [Scaled backwards] in scale.h. */
static adz_tensor *gradient(adz_tensor *a, adz_tensor *y, adz_tensor *dy)
{
    adz_tensor *yt = adzi_mt(y), *gt = adzi_mt(dy);
    if (a == NULL || yt == NULL || gt == NULL) {
        return NULL;
    }
    if (adzi_rows(a) <= adzi_columns(a)) {
        adz_tensor *k = adz_matmul(gt, y), *kyt = adz_matmul(k, yt);
        adz_tensor *sum = adz_sub(kyt, adzi_mt(adz_matmul(y, k)));
        sum = adz_sub(sum, adz_matmul(adz_matmul(a, y), kyt));
        adz_tensor *rest = adz_sub(gt, adz_matmul(k, a));
        return adz_add(sum, adz_matmul(adz_matmul(yt, y), rest));
    }
    adz_tensor *k = adz_matmul(y, gt), *ytk = adz_matmul(yt, k);
    adz_tensor *sum = adz_sub(ytk, adzi_mt(adz_matmul(k, y)));
    sum = adz_sub(sum, adz_matmul(adz_matmul(ytk, y), a));
    adz_tensor *rest = adz_sub(gt, adz_matmul(a, k));
    return adz_add(sum, adz_matmul(rest, adz_matmul(y, yt)));
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *a = adzi_saved_input(node, 0), *y = adzi_saved_result(node, 0);
    adz_tensor *size = a != NULL && y != NULL ? adzi_exponent(a) : NULL;
    adz_tensor *scale = size != NULL ? adzi_exponent(dy[0]) : NULL;
    adz_tensor *g = adzi_unscale(dy[0], scale);
    g = gradient(adzi_unscale(a, size), adzi_ldexp(y, size), g);
    dx[0] = adzi_ldexp(g, adz_sub(scale, adz_mul_number(size, 2)));
    return adzi_status(dx[0]);
}

typedef struct {
    double rtol;
} pinv_attr;

static const adz_field fields[] = { ADZI_FIELD(pinv_attr, rtol) };

adz_tensor *adzi_large_values(const char *op, adz_tensor *a, adz_tensor *s, double rtol)
{
    if (!(rtol < 0)) {
        if (!(rtol >= 0 && rtol < (double)INFINITY)) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT,
                "rtol is %s; it must be finite, or negative for the default",
                adzi_text_number(rtol));
        }
    } else {
        rtol = adzi_default_rtol(a);
    }
    if (s == NULL) {
        return NULL;
    }
    if (s->numel == 0) {
        return adz_to(s, ADZ_BOOL);
    }
    return adz_gt(s, adz_mul_number(adz_amax(s, ADZ_DIMS(-1), ADZ_KEEPDIM), rtol));
}

/* The pseudo-inverse of a tensor that wants no gradient. */
static adz_tensor *compute(adz_tensor *a, double rtol)
{
    adz_tensor *u, *s, *vh,
        *large = adz_svd(a, &u, &s, &vh) == ADZ_OK ? adzi_large_values("pinv", a, s, rtol) : NULL;
    if (large == NULL) {
        return NULL;
    }
    adz_tensor *inverse = adz_masked_fill(adz_reciprocal(s), adz_logical_not(large), 0);
    return adzi_matmul(adz_mul(adzi_mt(vh), adz_unsqueeze(inverse, -2)), false, u, true);
}

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    pinv_attr at;
    adz_tensor *value;
} pinv_call;

static bool check(adzi_call *call, void *block)
{
    (void)block;
    return adzi_want_matrix(call, 0, "a");
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    y->shape.sizes[y->shape.rank - 2] = adzi_columns(in[0]);
    y->shape.sizes[y->shape.rank - 1] = adzi_rows(in[0]);
    return ADZ_OK;
}

static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    pinv_call *c = block;
    (void)call, (void)y;
    c->value = compute(adz_detach(in[0]), c->at.rtol);
    return c->value != NULL;
}

static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const pinv_call *c = block;
    (void)in;
    adzi_copy(y[0], c->value);
}

const adzi_op adzi_op_pinv = { .name = "pinv",
    .backward = backward,
    ADZI_ATTRIBUTES(pinv_attr, fields),
    .shape_rule = shape_rule,
    .saved_inputs = 1u << 0,
    .saved_results = 1u << 0,
    .strided_inputs = 1u << 0 };

/* rtol is a factor of the largest singular value. */
adz_tensor *adz_pinv(adz_tensor *a, double rtol)
{
    ADZI_COMPOSED();
    static const adzi_steps steps = { .check = check, .prepare = prepare, .launch = launch };
    return ADZI_RUN_STEPS(&adzi_op_pinv, steps, &(pinv_call){ .at = { rtol } }, a);
}
