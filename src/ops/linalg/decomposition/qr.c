#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/loops/matrix_lanes.h"
#include "ops/linalg/decomposition/qr.h"
#include "ops/linalg/decomposition/qr.kernel.h"
#include "ops/linalg/decomposition/scale.h"
#include "ops/linalg/decomposition/singular.h"
#include "ops/linalg/decomposition/solve_triangular.h"
#include "ops/linalg/matmul.h"

/* QR factors, torch.linalg.qr.
 *
 *     a = q r,   q^T q = I, r upper with a diagonal that is not negative
 *     da = (dq + q copy(r dr^T - dq^T q)) r^-T,   copy(M) has the lower triangle of M on both sides
 *
 * a[..., m, n], q[..., m, k], r[..., k, n], k = min(m, n). If m < n, the formula is that of the
 * first m columns x of a = [x y] and r = [u v], in which y = q v gives dq + y dv^T, and dy = q dv.
 * The node saves q and r. Powers of two: Note [Scaled backwards] in scale.h. */

KERNEL_TABLE_PRODUCT(qr);
KERNEL_TABLE_PRODUCT(qr_small);
KERNEL_TABLE_PRODUCT(low_rank);

/* The gradient of the columns that q and the square r are made of. dq or dr may be NULL. */
static adz_tensor *square_gradient(adz_tensor *q, adz_tensor *r, adz_tensor *dq, adz_tensor *dr)
{
    adz_tensor *m = dr != NULL ? adzi_matmul(r, false, dr, true) : NULL;
    if (dq != NULL) {
        adz_tensor *of_q = adzi_matmul(dq, true, q, false);
        m = dr != NULL ? adz_sub(m, of_q) : adz_neg(of_q);
    }
    adz_tensor *both = adz_add(adz_tril(m, 0), adzi_mt(adz_tril(m, -1)));
    adz_tensor *sum = adz_matmul(q, both);
    sum = dq != NULL ? adz_add(dq, sum) : sum;
    return adzi_mt(adzi_solve_triangular(r, adzi_mt(sum), true, false, false));
}

/* The gradient for any shape. dq or dr may be NULL. */
static adz_tensor *gradient(adz_tensor *q, adz_tensor *r, adz_tensor *dq, adz_tensor *dr)
{
    const int64_t m = adzi_rows(q), n = adzi_columns(r);
    if (m >= n) {
        return square_gradient(q, r, dq, dr);
    }
    adz_tensor *u = adz_narrow(r, -1, 0, m), *v = adz_narrow(r, -1, m, n - m);
    adz_tensor *parts[2] = { NULL, dr == NULL ? adz_zeros_like(v) : NULL };
    if (dr != NULL) {
        adz_tensor *dv = adz_narrow(dr, -1, m, n - m);
        adz_tensor *more = adzi_matmul(adz_matmul(q, v), false, dv, true);
        parts[1] = adz_matmul(q, dv);
        dq = dq != NULL ? adz_add(dq, more) : more;
        dr = adz_narrow(dr, -1, 0, m);
        if (dq == NULL || dr == NULL) {
            return NULL;
        }
    }
    parts[0] = square_gradient(q, u, dq, dr);
    return parts[0] != NULL && parts[1] != NULL ? adz_cat(parts, 2, -1) : NULL;
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *q = adzi_saved_result(node, 0), *r = adzi_saved_result(node, 1);
    adz_tensor *size = q != NULL && r != NULL ? adzi_exponent(r) : NULL;
    adz_tensor *more[2] = { adz_neg(size), NULL };
    adz_tensor *scale = more[0] != NULL ? adzi_common_exponent(2, dy, more) : NULL;
    adz_tensor *both = adz_add(size, scale);
    if (both == NULL) {
        return adzi_status(NULL);
    }
    adz_tensor *dq = dy[0] != NULL ? adzi_unscale(dy[0], both) : NULL;
    adz_tensor *dr = dy[1] != NULL ? adzi_unscale(dy[1], scale) : NULL;
    r = adzi_unscale(r, size);
    if (r != NULL && (dy[0] == NULL || dq != NULL) && (dy[1] == NULL || dr != NULL)) {
        dx[0] = adzi_ldexp(gradient(q, r, dq, dr), scale);
    }
    return adzi_status(dx[0]);
}

/* q[..., m, k] and r[..., k, n]. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const int64_t m = adzi_rows(in[0]), n = adzi_columns(in[0]), k = m < n ? m : n;
    (void)block;
    adzi_batch_of_matrices(&y[0], m, k);
    adzi_batch_of_matrices(&y[1], k, n);
    return ADZ_OK;
}

/* Computes the factors y[2] of `from`. */
static bool factorise(const adz_tensor *from, adz_tensor *const *y)
{
    const int64_t m = adzi_rows(from), n = adzi_columns(from), k = m < n ? m : n;
    const adz_dtype dtype = (adz_dtype)from->dtype;
    adzi_qr_args args = { .a = from->data, .q = y[0]->data, .r = y[1]->data, .m = m, .n = n };
    const bool in_lanes = adzi_qr_in_lanes(m, n);
    const adzi_work work = { .batch = k > 0 ? adzi_batch_count(from) : 0,
        .bytes = adzi_qr_room(m, n) * (int64_t)adz_dtype_size(dtype),
        .multiplies = 4 * (double)m * (double)n * (double)k,
        .together = in_lanes ? ADZI_MATRIX_LANES : 1 };
    if (!adzi_workers_begin("qr", &args.workers, work)) {
        return false;
    }
    adzi_launch(in_lanes ? KERNEL_FOR(qr_small, dtype) : KERNEL_FOR(qr, dtype), adzi_qr_args, &args,
        args.workers.count, 1);
    adzi_workers_end(&args.workers);
    return true;
}

/* Fails if an r has no full rank to rounding, or is not finite. */
static bool has_full_rank(const adz_tensor *r, adz_tensor *named)
{
    const adz_tensor *found = adzi_new_info("lstsq", named);
    if (found == NULL) {
        return false;
    }
    const int64_t n = adzi_columns(r);
    const adzi_low_rank_args args = { .r = r->data,
        .found = (int64_t *)(void *)found->data,
        .n = n,
        .rtol = adzi_default_rtol(named) };
    adzi_launch(KERNEL_FOR(low_rank, r->dtype), adzi_low_rank_args, &args, found->numel,
        adzi_batch_grain((double)n * (double)n / 2));
    return adzi_check_info("lstsq", found, named, "a",
        adzi_rows(named) >= adzi_columns(named)
            ? "has no full rank to rounding, or an element that is not finite: column %lld depends on the columns before it; ADZ_LSTSQ_GELSY gives the shortest solution"
            : "has no full rank to rounding, or an element that is not finite: row %lld depends on the rows before it; ADZ_LSTSQ_GELSY gives the shortest solution");
}

/* The factors come before the recording. Unless `named` is NULL, this fails for a matrix without
 * full rank. */
static bool compute(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *named)
{
    (void)call;
    return factorise(in[0], y) && (named == NULL || has_full_rank(y[1], named));
}

const adzi_op adzi_op_qr = { .name = "qr",
    .backward = backward,
    .shape_rule = shape_rule,
    .n_results = 2,
    .saved_results = 1u << 0 | 1u << 1 };

adz_tensor *adzi_qr_of_full_rank(adz_tensor *a, adz_tensor **r, adz_tensor *named)
{
    static const adzi_steps steps = { .check = adzi_check_matrix, .prepare = compute };
    adz_tensor *second = NULL;
    adz_tensor *q = ADZI_RUN_SEVERAL(&second, &adzi_op_qr, steps, named, a);
    if (r != NULL) {
        *r = q != NULL ? second : NULL;
    }
    return q;
}

adz_tensor *adz_qr(adz_tensor *a, adz_tensor **r)
{
    return adzi_qr_of_full_rank(a, r, NULL);
}
