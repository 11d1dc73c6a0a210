#include "ops/linalg/decomposition/solve_triangular.h"

/* Systems whose matrix is known by its Cholesky factor, torch.cholesky_solve: two triangular
 * solves.
 *
 *     y y^T x = b          (upper: y^T y x = b) */
adz_tensor *adz_cholesky_solve(adz_tensor *b, adz_tensor *factor, bool upper)
{
    ADZI_COMPOSED();
    adz_tensor *half = adzi_solve_triangular(factor, b, upper, upper, false);
    return half != NULL ? adzi_solve_triangular(factor, half, upper, !upper, false) : NULL;
}
