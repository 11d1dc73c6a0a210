#include "ops/op.h"
#include "ops/linalg/matmul.h"
#include "ops/numbers.h"

/* A product plus a matrix, torch.addmm.
 *
 *     y  = beta * c + alpha * a b
 *     dc = beta * dy,   da = alpha * dy b^T,   db = alpha * a^T dy
 *
 * a[m, k], b[k, n], y[m, n]; c broadcasts to y. It is a composition of matmul, mul and add, whose
 * nodes carry the gradients. */

/* Checks the ranks, the inner sizes, and that c broadcasts to the product. */
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

/* With beta 0 the elements of c are not read, so that a NaN in c does not spread, as in BLAS. Its
 * dtype still counts. */
adz_tensor *adz_addmm(adz_tensor *c, adz_tensor *a, adz_tensor *b, double beta, double alpha)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("addmm", "c", c) || !adzi_check_tensor("addmm", "a", a) ||
        !adzi_check_tensor("addmm", "b", b) || !check(c, a, b)) {
        return NULL;
    }
    /* An integer result takes whole numbers only, so beta and alpha are checked against its
     * dtype. */
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
