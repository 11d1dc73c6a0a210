#include "autograd/ops/decomposition/batch.h"
#include "autograd/ops/decomposition/loops/matrix_lanes.h"
#include "autograd/ops/decomposition/qr.kernel.h"
#include "autograd/ops/decomposition/solve_triangular.h"
#include "autograd/ops/linalg/matmul.h"

/* QR factors, torch.linalg.qr.
 *
 *     a = q r,   q^T q = I, r upper with a diagonal that is not negative
 *     da = (dq + q copy(r dr^T - dq^T q)) r^-T,   copy(M) has the lower triangle of M on both sides
 *
 * a[..., m, n], q[..., m, k], r[..., k, n], k = min(m, n). If m < n, the formula is that of the
 * first m columns x of a = [x y] and r = [u v], in which y = q v gives dq + y dv^T, and dy = q dv.
 * The node saves q and r. */

KERNEL_TABLE_PRODUCT(qr);
KERNEL_TABLE_PRODUCT(qr_small);

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

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *q = adzi_saved_result(node, 0), *r = adzi_saved_result(node, 1);
    if (q == NULL || r == NULL) {
        return adzi_status(NULL);
    }
    const int64_t m = adzi_rows(q), n = adzi_columns(r);
    adz_tensor *dq = dy[0], *dr = dy[1];
    if (m >= n) {
        dx[0] = square_gradient(q, r, dq, dr);
        return adzi_status(dx[0]);
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
            return adzi_status(NULL);
        }
    }
    parts[0] = square_gradient(q, u, dq, dr);
    dx[0] = parts[0] != NULL && parts[1] != NULL ? adz_cat(parts, 2, -1) : NULL;
    return adzi_status(dx[0]);
}

const adzi_op adzi_op_qr = { .name = "qr", .backward = backward };

adz_tensor *adz_qr(adz_tensor *a, adz_tensor **r)
{
    adzi_call call;
    if (r != NULL) {
        *r = NULL;
    }
    if (!ADZI_ENTER(&call, qr, a) || !adzi_want_matrix(&call, 0, "a")) {
        return NULL;
    }
    const adz_dtype dtype = (adz_dtype)a->dtype;
    const int64_t m = adzi_rows(a), n = adzi_columns(a), k = m < n ? m : n;
    adz_tensor *from = adzi_compact("qr", a), *y[2] = { NULL, NULL };
    y[0] = from != NULL ? adzi_new_batch(&call, dtype, a, 2, m, k) : NULL;
    y[1] = y[0] != NULL ? adzi_new_batch(&call, dtype, a, 2, k, n) : NULL;
    if (y[1] == NULL) {
        return NULL;
    }
    adzi_qr_args args = { .a = from->data, .q = y[0]->data, .r = y[1]->data, .m = m, .n = n };
    const int64_t items = k > 0 ? adzi_items(a) : 0;
    if (!adzi_workers_begin("qr", &args.workers, items,
            adzi_qr_room(m, n) * (int64_t)adz_dtype_size(dtype),
            4 * (double)m * (double)n * (double)k,
            adzi_qr_in_lanes(m, n) ? ADZI_MATRIX_LANES : 1)) {
        return NULL;
    }
    if (!adzi_record(&call, 2, y, NULL, 0)) {
        adzi_workers_end(&args.workers);
        return NULL;
    }
    adzi_save_result(&call, 0, y[0]);
    adzi_save_result(&call, 1, y[1]);
    adzi_launch(adzi_qr_in_lanes(m, n) ? KERNEL_FOR(qr_small, dtype) : KERNEL_FOR(qr, dtype), &args,
        args.workers.count, 1);
    adzi_workers_end(&args.workers);
    if (r != NULL) {
        *r = y[1];
    }
    return adzi_leave(&call, y[0]);
}
