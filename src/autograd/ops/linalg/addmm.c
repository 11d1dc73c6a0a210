#include "autograd/op.h"
#include "autograd/ops/linalg/matmul.h"
#include "autograd/ops/numbers.h"

static bool check(const adz_tensor *c, const adz_tensor *a, const adz_tensor *b)
{
    if (a->rank != 2 || b->rank != 2 || a->sizes[1] != b->sizes[0]) {
        adzi_error("addmm", ADZ_ERR_SHAPE,
            "a%s and b%s are not two matrices, a as wide as b is high", adzi_text_shape(a),
            adzi_text_shape(b));
        return false;
    }
    int64_t sizes[2] = { a->sizes[0], b->sizes[1] };
    bool fits = c->rank <= 2;
    for (int d = 0; d < c->rank && fits; ++d) {
        int64_t size = c->sizes[c->rank - 1 - d];
        fits = size == 1 || size == sizes[1 - d];
    }
    if (!fits) {
        adzi_error("addmm", ADZ_ERR_SHAPE, "c%s does not broadcast to the product %s",
            adzi_text_shape(c), adzi_text_sizes(2, sizes));
    }
    return fits;
}

/* beta c + alpha a b; with beta 0, c counts for nothing but its shape, NaN included. */
adz_tensor *adz_addmm(adz_tensor *c, adz_tensor *a, adz_tensor *b, double beta, double alpha)
{
    if (!adzi_check_tensor("addmm", "c", c) || !adzi_check_tensor("addmm", "a", a) ||
        !adzi_check_tensor("addmm", "b", b) || !check(c, a, b)) {
        return NULL;
    }
    adz_dtype dtype = adz_promote_types(
        (adz_dtype)c->dtype, adz_promote_types((adz_dtype)a->dtype, (adz_dtype)b->dtype));
    if (!adzi_number_fits("addmm", "beta", beta, dtype) ||
        !adzi_number_fits("addmm", "alpha", alpha, dtype)) {
        return NULL;
    }
    adz_tensor *product = adzi_matmul(a, false, b, false);
    if (beta == 0) {
        return alpha == 1 ? product : adz_mul_number(product, alpha);
    }
    return adz_add_scaled(beta == 1 ? c : adz_mul_number(c, beta), product, alpha);
}
