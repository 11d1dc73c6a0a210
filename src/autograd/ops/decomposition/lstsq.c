#include "autograd/ops/decomposition/batch.h"
#include "autograd/ops/decomposition/solve_triangular.h"
#include "autograd/ops/linalg/matmul.h"

/* Least squares for matrices of full rank, torch.linalg.lstsq: a composition of qr, products and a
 * triangular solve.
 *
 *     m >= n:  a = q r,    x = r^-1 q^T b
 *     m <  n:  a^T = q r,  x = q r^-T b, the shortest solution */
adz_tensor *adz_lstsq(adz_tensor *a, adz_tensor *b)
{
    if (!adzi_check_tensor("lstsq", "a", a) || !adzi_check_tensor("lstsq", "b", b)) {
        return NULL;
    }
    if (a->rank < 2 || b->rank < 2 || adzi_rows(a) != adzi_rows(b)) {
        return adzi_fail("lstsq", ADZ_ERR_SHAPE, "a%s and b%s must be [..., m, n] and [..., m, k]",
            adzi_text_shape(a), adzi_text_shape(b));
    }
    adz_tensor *r;
    if (adzi_rows(a) >= adzi_columns(a)) {
        adz_tensor *q = adz_qr(a, &r);
        adz_tensor *projected = q != NULL ? adzi_matmul(q, true, b, false) : NULL;
        return projected != NULL ? adzi_solve_triangular(r, projected, true, false, false) : NULL;
    }
    adz_tensor *q = adz_qr(adzi_mt(a), &r);
    adz_tensor *x = q != NULL ? adzi_solve_triangular(r, b, true, true, false) : NULL;
    return x != NULL ? adz_matmul(q, x) : NULL;
}
