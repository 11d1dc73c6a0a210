#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/qr.h"
#include "ops/linalg/decomposition/solve_triangular.h"
#include "ops/linalg/matmul.h"

/* Least squares, torch.linalg.lstsq.
 *
 * The driver gels is a composition of qr, products and a triangular solve:
 *
 *     m >= n:  a = q r,    x = r^-1 q^T b
 *     m <  n:  a^T = q r,  x = q r^-T b, the shortest solution
 *
 * The rank is tested column by column (low_rank in qr.kernel.c), so that columns of different units
 * count alike. The driver gelsy is x = pinv(a) b. Its gradient holds as long as the rank stays. */

/* Full rank, by QR factors. */
static adz_tensor *by_qr(adz_tensor *a, adz_tensor *b)
{
    const bool tall = adzi_rows(a) >= adzi_columns(a);
    adz_tensor *r = NULL, *q = adzi_qr_of_full_rank(tall ? a : adzi_mt(a), &r, a);
    if (q == NULL) {
        return NULL;
    }
    if (tall) {
        adz_tensor *projected = adzi_matmul(q, true, b, false);
        return projected != NULL ? adzi_solve_triangular(r, projected, true, false, false) : NULL;
    }
    adz_tensor *x = adzi_solve_triangular(r, b, true, true, false);
    return x != NULL ? adz_matmul(q, x) : NULL;
}

/* The solution by a driver of the caller's choice. */
adz_tensor *adz_lstsq_by(adz_tensor *a, adz_tensor *b, adz_lstsq_driver driver)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("lstsq", "a", a) || !adzi_check_tensor("lstsq", "b", b)) {
        return NULL;
    }
    if (driver != ADZ_LSTSQ_GELS && driver != ADZ_LSTSQ_GELSY) {
        return adzi_fail("lstsq", ADZ_ERR_ARGUMENT,
            "driver %d is unknown; it must be ADZ_LSTSQ_GELS or ADZ_LSTSQ_GELSY", (int)driver);
    }
    const bool vectors = a->rank >= 2 && adzi_is_vectors(a, b);
    if (a->rank < 2 || b->rank < 1 ||
        adzi_rows(a) != b->sizes[vectors ? b->rank - 1 : b->rank - 2]) {
        return adzi_fail("lstsq", ADZ_ERR_SHAPE,
            "a%s and b%s must be [..., m, n] and [..., m, k], or vectors [..., m]",
            adzi_text_shape(a), adzi_text_shape(b));
    }
    adz_tensor *right = vectors ? adz_unsqueeze(b, -1) : b, *x = NULL;
    if (driver == ADZ_LSTSQ_GELS) {
        x = right != NULL ? by_qr(a, right) : NULL;
    } else {
        adz_tensor *inverse = right != NULL ? adz_pinv(a, -1) : NULL;
        x = inverse != NULL ? adz_matmul(inverse, right) : NULL;
    }
    return x != NULL && vectors ? adz_squeeze(x, -1) : x;
}

/* The solution by QR, for matrices of full rank. */
adz_tensor *adz_lstsq(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    return adz_lstsq_by(a, b, ADZ_LSTSQ_GELS);
}
