#include "ops/linalg/decomposition/batch.h"
#include "ops/linalg/decomposition/jacobi.kernel.h"
#include "ops/linalg/decomposition/loops/room.h"
#include "ops/linalg/decomposition/scale.h"
#include "ops/linalg/matmul.h"

/* Eigenvalues and eigenvectors of symmetric matrices, torch.linalg.eigh.
 *
 *     a v_i = w_i v_i,   w ascending, v^T v = I
 *     da = v (diag(dw) + (M - M^T) / 2 / E) v^T,   M = v^T dv, E_ij = w_j - w_i,
 *
 * where a quotient is 0 for i = j. The symmetric part of M belongs to changes of v that are no
 * rotations, which no symmetric a makes. PyTorch 2.15 keeps it, so that its gradient is not
 * symmetric. One triangle of a is read. The node saves w and v. Equal eigenvalues give a division
 * by 0 if dv is not NULL, as in PyTorch. Powers of two: Note [Scaled backwards] in scale.h. */

KERNEL_TABLE_PRODUCT(eigh);
KERNEL_TABLE_PRODUCT(eigh_large);

typedef struct {
    bool upper;
} eigh_attr;

/* diag(dw) + (M - M^T) / 2 / E from values of about 1. dw may be NULL. */
static adz_tensor *middle_of(adz_tensor *w, adz_tensor *v, adz_tensor *dw, adz_tensor *dv)
{
    const int64_t n = adzi_columns(v);
    adz_tensor *gaps = adz_sub(adz_unsqueeze(w, -2), adz_unsqueeze(w, -1));
    adz_tensor *m = adzi_matmul(v, true, dv, false);
    adz_tensor *turns = adz_mul_number(adz_sub(m, adzi_mt(m)), 0.5);
    turns = adz_div(turns, adz_add(gaps, adz_eye(n, n, (adz_dtype)v->dtype)));
    return dw != NULL ? adz_add(adzi_diagonal_matrix(dw, n), turns) : turns;
}

/* The gradient with that of vectors: values and upstream gradients are scaled to about 1. */
static adz_tensor *scaled(adz_tensor *w, adz_tensor *v, adz_tensor *const *dy)
{
    adz_tensor *column = adz_unsqueeze(w, -1),
               *size = column != NULL ? adzi_exponent(column) : NULL;
    adz_tensor *parts[2] = { dy[0] != NULL ? adz_unsqueeze(dy[0], -1) : NULL, dy[1] };
    adz_tensor *more[2] = { NULL, adz_neg(size) };
    adz_tensor *scale = more[1] != NULL ? adzi_common_exponent(2, parts, more) : NULL;
    adz_tensor *dw = dy[0] != NULL ? adz_squeeze(adzi_unscale(parts[0], scale), -1) : NULL;
    adz_tensor *dv = adzi_unscale(dy[1], adz_add(size, scale));
    w = adz_squeeze(adzi_unscale(column, size), -1);
    if (w == NULL || dv == NULL || (dy[0] != NULL && dw == NULL)) {
        return NULL;
    }
    adz_tensor *half = adz_matmul(v, middle_of(w, v, dw, dv));
    return adzi_ldexp(adzi_matmul(half, false, v, true), scale);
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *w = adzi_saved_result(node, 0), *v = adzi_saved_result(node, 1);
    if (w == NULL || v == NULL) {
        return adzi_status(NULL);
    }
    if (dy[1] == NULL) {
        adz_tensor *middle = adzi_diagonal_matrix(dy[0], adzi_columns(v));
        dx[0] = adzi_matmul(adz_matmul(v, middle), false, v, true);
    } else {
        dx[0] = scaled(w, v, dy);
    }
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(eigh_attr, upper) };

/* w[..., n] and v[..., n, n]. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    adzi_batch_of_vectors(&y[0], adzi_columns(in[0]));
    return ADZ_OK;
}

/* Computes the results. They come before the recording, because a matrix may have none. */
static bool compute(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    const eigh_attr *at = block;
    const adz_tensor *a = in[0];
    (void)call;
    const int64_t n = adzi_columns(a), size = (int64_t)adz_dtype_size((adz_dtype)a->dtype);
    const bool large = n > adzi_jacobi_most(a->dtype == ADZ_F32);
    const adz_tensor *found = adzi_new_info("eigh", a);
    if (found == NULL) {
        return false;
    }
    adzi_eigh_args args = { .a = a->data,
        .w = y[0]->data,
        .v = y[1]->data,
        .n = n,
        .upper = at->upper,
        .found = (int64_t *)(void *)found->data };
    const int64_t bytes = large ? adzi_eigh_bytes(n, size) : 2 * n * n * size;
    const adzi_work work = { .batch = found->numel,
        .bytes = bytes,
        .multiplies = (large ? 10 : 40) * (double)n * (double)n * (double)n,
        .together = large ? 1 : ADZI_JACOBI_LANES };
    if (!adzi_workers_begin("eigh", &args.workers, work)) {
        return false;
    }
    const adzi_kernel kernel =
        large ? KERNEL_FOR(eigh_large, a->dtype) : KERNEL_FOR(eigh, a->dtype);
    adzi_launch(kernel, adzi_eigh_args, &args, args.workers.count, 1);
    adzi_workers_end(&args.workers);
    return adzi_check_info("eigh", found, a, "a",
        "has no eigenvalues: an element is not finite, or the steps did not converge");
}

const adzi_op adzi_op_eigh = { .name = "eigh",
    .backward = backward,
    ADZI_ATTRIBUTES(eigh_attr, fields),
    .shape_rule = shape_rule,
    .n_results = 2,
    .saved_results = 1u << 0 | 1u << 1 };

adz_tensor *adz_eigh(adz_tensor *a, bool upper, adz_tensor **vectors)
{
    static const adzi_steps steps = { .check = adzi_check_square, .prepare = compute };
    adz_tensor *v = NULL;
    adz_tensor *w = ADZI_RUN_SEVERAL(&v, &adzi_op_eigh, steps, &(eigh_attr){ upper }, a);
    if (vectors != NULL) {
        *vectors = w != NULL ? v : NULL;
    }
    return w;
}
