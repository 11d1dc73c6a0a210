#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/lu.h"
#include "ops/linalg/matmul.h"

/* Systems of linear equations, torch.linalg.solve.
 *
 *     a x = b            (transposed: a^T x = b)
 *     db = a^-T dx,   da = -db x^T
 *
 * a[..., n, n], b[..., n, k]; leading dimensions broadcast. The node saves a, its LU factors and x.
 * Gradients of every order use these factors: they are solves of the same node kind, whose inputs
 * are a and another right-hand side. */

typedef struct {
    bool transposed;
} solve_attr;

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const bool transposed = adzi_attr(node, solve_attr)->transposed;
    const adzi_lu factors = adzi_saved_lu(node);
    adz_tensor *a = adzi_saved_input(node, 0);
    if (factors.pivots == NULL || a == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *db = adzi_solve_with(&factors, a, dy[0], !transposed);
    if (adzi_needs(node, 0)) {
        adz_tensor *x = adzi_saved_result(node, 0);
        dx[0] =
            adz_neg(transposed ? adzi_matmul(x, false, db, true) : adzi_matmul(db, false, x, true));
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    dx[1] = db;
    return adzi_status(db);
}

static const adz_field fields[] = { ADZI_FIELD(solve_attr, transposed) };

const adzi_op adzi_op_solve = { .name = "solve", .backward = backward, ADZI_FIELDS(fields) };

/* Makes x, records and solves. `factors` may hold NULL: a is factored then. */
static adz_tensor *solve(const adzi_lu *known, adz_tensor *a, adz_tensor *b, bool transposed)
{
    adzi_call call;
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!ADZI_ENTER(&call, solve, a, b) || !adzi_want_square(&call, 0, "a") ||
        !adzi_want_matrix(&call, 1, "b") || !adzi_promote(&call, 0, 1)) {
        return NULL;
    }
    a = call.in[0];
    b = call.in[1];
    if (adzi_columns(a) != adzi_rows(b)) {
        return adzi_fail("solve", ADZ_ERR_SHAPE, "a%s and b%s do not fit: b needs %lld rows",
            adzi_text_shape(a), adzi_text_shape(b), (long long)adzi_columns(a));
    }
    adzi_lu factors;
    if (!adzi_broadcast_lead("solve", a, b, &rank, sizes) ||
        (known == NULL && !adzi_lu_factor("solve", a, true, &factors))) {
        return NULL;
    }
    factors = known != NULL ? *known : factors;
    sizes[rank++] = adzi_rows(b);
    sizes[rank++] = adzi_columns(b);
    const solve_attr attr = { transposed };
    adz_tensor *x = adzi_new(&call, (adz_dtype)a->dtype, rank, sizes);
    if (x == NULL ||
        ((call.record || call.told) && !adzi_record_extra(&call, 1, &x, 2, &attr, sizeof attr))) {
        return NULL;
    }
    adzi_save_lu(&call, &factors);
    adzi_save_input(&call, 0);
    if (adzi_wants(&call, 0)) {
        adzi_save_result(&call, 0, x);
    }
    adzi_copy(x, b);
    adzi_lu_solve(&factors, x, transposed, false);
    return adzi_leave(&call, x);
}

adz_tensor *adzi_solve_with(const adzi_lu *factors, adz_tensor *a, adz_tensor *b, bool transposed)
{
    return solve(factors, a, b, transposed);
}

adz_tensor *adz_solve(adz_tensor *a, adz_tensor *b)
{
    if (!adzi_check_tensor("solve", "a", a) || !adzi_check_tensor("solve", "b", b)) {
        return NULL;
    }
    if (!adzi_is_vectors(a, b)) {
        return solve(NULL, a, b, false);
    }
    adz_tensor *column = adz_unsqueeze(b, -1);
    adz_tensor *x = column != NULL ? solve(NULL, a, column, false) : NULL;
    return x != NULL ? adz_squeeze(x, -1) : NULL;
}
