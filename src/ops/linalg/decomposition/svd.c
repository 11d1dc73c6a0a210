#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/jacobi.kernel.h"
#include "ops/linalg/decomposition/loops/room.h"
#include "ops/linalg/decomposition/scale.h"
#include "ops/linalg/matmul.h"

/* Singular values and vectors, torch.linalg.svd with full_matrices=False.
 *
 *     a = u diag(s) vh,   s descending
 *     da = u (skew(u^T du) / E s + s skew(vh dvh^T) / E + diag(ds)) vh
 *          + (I - u u^T) du / s vh + u / s dvh (I - vh^T vh),
 *
 * with skew(M) = M - M^T and E_ij = s_j^2 - s_i^2, where a quotient is 0 for i = j. E is computed
 * as (s_j - s_i) (s_j + s_i), and the sum divides s: squares lose digits and leave the range. The
 * node saves all results. Equal or zero singular values give a division by 0, as in PyTorch. Powers
 * of two: Note [Scaled backwards] in scale.h. */

KERNEL_TABLE_PRODUCT(svd);
KERNEL_TABLE_PRODUCT(svd_large);

/* skew(m) / (s_j - s_i). */
static adz_tensor *skew_over(adz_tensor *m, adz_tensor *gaps)
{
    return adz_div(adz_sub(m, adzi_mt(m)), gaps);
}

/* The gradient, from `du`, `middle` and `dvh`, any of which may be NULL: the middle part, and what
 * lies outside of the spaces of u or vh. */
static adz_tensor *of_vectors(
    adz_tensor *const *y, adz_tensor *s, adz_tensor *du, adz_tensor *middle, adz_tensor *dvh)
{
    adz_tensor *u = y[0], *vh = y[2], *of_u = NULL, *of_v = NULL;
    const int64_t m = adzi_rows(u), k = adzi_columns(u), n = adzi_columns(vh);
    adz_tensor *row = adzi_mt(s), *column = s, *eye = adz_eye(k, k, (adz_dtype)u->dtype);
    adz_tensor *gaps = adz_add(adz_sub(row, column), eye);
    adz_tensor *sums = adz_add(adz_add(row, column), eye);
    bool none = middle == NULL;
    if (du != NULL) {
        of_u = adzi_matmul(u, true, du, false);
        adz_tensor *part = adz_mul(skew_over(of_u, gaps), adz_div(row, sums));
        middle = none ? part : adz_add(middle, part);
        none = false;
    }
    if (dvh != NULL) {
        of_v = adzi_matmul(vh, false, dvh, true);
        adz_tensor *part = adz_mul(adz_div(column, sums), skew_over(of_v, gaps));
        middle = none ? part : adz_add(middle, part);
    }
    adz_tensor *da = adz_matmul(adz_matmul(u, middle), vh);
    if (du != NULL && m > k) {
        adz_tensor *beyond = adz_sub(du, adz_matmul(u, of_u));
        da = adz_add(da, adz_matmul(adz_div(beyond, row), vh));
    }
    if (dvh != NULL && n > k) {
        adz_tensor *beyond = adz_sub(dvh, adz_matmul(adzi_mt(of_v), vh));
        da = adz_add(da, adz_matmul(u, adz_div(beyond, column)));
    }
    return da;
}

/* The gradient with those of vectors: by singular values of about 1 and upstream gradients of about
 * 1. */
static adz_tensor *scaled(adz_tensor *const *y, adz_tensor *const *dy)
{
    adz_tensor *s = adz_unsqueeze(y[1], -1), *size = s != NULL ? adzi_exponent(s) : NULL;
    adz_tensor *smaller = adz_neg(size);
    adz_tensor *parts[3] = { dy[0], dy[1] != NULL ? adz_unsqueeze(dy[1], -1) : NULL, dy[2] };
    adz_tensor *more[3] = { smaller, NULL, smaller };
    adz_tensor *scale = smaller != NULL ? adzi_common_exponent(3, parts, more) : NULL;
    adz_tensor *both = adz_add(size, scale);
    if (both == NULL) {
        return NULL;
    }
    adz_tensor *du = dy[0] != NULL ? adzi_unscale(dy[0], both) : NULL;
    adz_tensor *dvh = dy[2] != NULL ? adzi_unscale(dy[2], both) : NULL;
    adz_tensor *middle = NULL;
    if (dy[1] != NULL) {
        adz_tensor *ds = adz_squeeze(adzi_unscale(parts[1], scale), -1);
        middle = adzi_diagonal_matrix(ds, adzi_columns(y[0]));
    }
    s = adzi_unscale(s, size);
    const bool failed = (dy[0] != NULL && du == NULL) || (dy[1] != NULL && middle == NULL) ||
                        (dy[2] != NULL && dvh == NULL) || s == NULL;
    return failed ? NULL : adzi_ldexp(of_vectors(y, s, du, middle, dvh), scale);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *y[3];
    for (int i = 0; i < 3; ++i) {
        y[i] = adzi_saved_result(node, i);
        if (y[i] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (dy[0] == NULL && dy[2] == NULL) {
        adz_tensor *middle = adzi_diagonal_matrix(dy[1], adzi_columns(y[0]));
        dx[0] = adz_matmul(adz_matmul(y[0], middle), y[2]);
    } else {
        dx[0] = scaled(y, dy);
    }
    return adzi_status(dx[0]);
}

/* u[..., m, k], s[..., k] and vh[..., k, n]. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    const int64_t m = adzi_rows(in[0]), n = adzi_columns(in[0]), k = m < n ? m : n;
    (void)block;
    adzi_batch_of_matrices(&y[0], m, k);
    adzi_batch_of_vectors(&y[1], k);
    adzi_batch_of_matrices(&y[2], k, n);
    return ADZ_OK;
}

/* Computes the results. They come before the recording, because a matrix may have none. */
static bool compute(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    const adz_tensor *a = in[0];
    (void)call, (void)block;
    const int64_t m = adzi_rows(a), n = adzi_columns(a), k = m < n ? m : n;
    const int64_t size = (int64_t)adz_dtype_size((adz_dtype)a->dtype);
    const bool large = k > adzi_jacobi_most(a->dtype == ADZ_F32);
    const adz_tensor *found = adzi_new_info("svd", a);
    if (found == NULL || k == 0) {
        return found != NULL;
    }
    adzi_svd_args args = { .a = a->data,
        .u = y[0]->data,
        .s = y[1]->data,
        .vh = y[2]->data,
        .m = m,
        .n = n,
        .found = (int64_t *)(void *)found->data };
    const int64_t bytes = large ? adzi_svd_bytes(m + n - k, k, size) : (m * n + k * k) * size;
    const adzi_work work = { .batch = found->numel,
        .bytes = bytes,
        .multiplies = (large ? 20 : 40) * (double)m * (double)n * (double)k,
        .together = large ? 1 : ADZI_JACOBI_LANES };
    if (!adzi_workers_begin("svd", &args.workers, work)) {
        return false;
    }
    const adzi_kernel kernel = large ? KERNEL_FOR(svd_large, a->dtype) : KERNEL_FOR(svd, a->dtype);
    adzi_launch(kernel, adzi_svd_args, &args, args.workers.count, 1);
    adzi_workers_end(&args.workers);
    return adzi_check_info("svd", found, a, "a",
        "has no singular values: an element is not finite, or the steps did not converge");
}

const adzi_op adzi_op_svd = { .name = "svd",
    .backward = backward,
    .shape_rule = shape_rule,
    .n_results = 3,
    .saved_results = 1u << 0 | 1u << 1 | 1u << 2 };

adz_status adz_svd(adz_tensor *a, adz_tensor **u, adz_tensor **s, adz_tensor **vh)
{
    static const adzi_steps steps = { .check = adzi_check_matrix, .prepare = compute };
    adz_tensor *y[3] = { NULL, NULL, NULL }, **const results[3] = { u, s, vh };
    y[0] = ADZI_RUN_SEVERAL(&y[1], &adzi_op_svd, steps, NULL, a);
    for (int i = 0; i < 3; ++i) {
        if (results[i] != NULL) {
            *results[i] = y[0] != NULL ? y[i] : NULL;
        }
    }
    return adzi_status(y[0]);
}
