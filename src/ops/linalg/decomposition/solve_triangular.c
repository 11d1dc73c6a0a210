#include "ops/linalg/decomposition/solve_triangular.h"

#include "ops/linalg/decomposition/batch.h"
#include "ops/options.h"
#include "ops/linalg/decomposition/solve_triangular.kernel.h"
#include "ops/linalg/matmul.h"

/* Systems with a triangular matrix, torch.linalg.solve_triangular.
 *
 *     op(a) x = b
 *     db = op(a)^-T dx,   d op(a) = -triangle(db x^T)
 *
 * a[..., n, n], b[..., n, k]; leading dimensions broadcast. Only one triangle of a is read, so the
 * gradient of the other one is 0. The node saves a and x. Transposed operands are read where they
 * are. */

KERNEL_TABLE_PRODUCT(solve_triangular);
KERNEL_TABLE_PRODUCT(zero_diagonal);

typedef struct {
    bool upper, transposed, unitriangular;
} triangular_attr;

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const triangular_attr *at = adzi_attr(node, triangular_attr);
    adz_tensor *a = adzi_saved_input(node, 0);
    adz_tensor *db = adzi_solve_triangular(a, dy[0], at->upper, !at->transposed, at->unitriangular);
    if (adzi_needs(node, 0)) {
        adz_tensor *x = adzi_saved_result(node, 0);
        adz_tensor *da =
            at->transposed ? adzi_matmul(x, false, db, true) : adzi_matmul(db, false, x, true);
        const int64_t off = at->unitriangular ? 1 : 0;
        dx[0] = adz_neg(at->upper ? adz_triu(da, off) : adz_tril(da, -off));
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    dx[1] = db;
    return adzi_status(db);
}

static const adz_field fields[] = { ADZI_FIELD(triangular_attr, upper),
    ADZI_FIELD(triangular_attr, transposed), ADZI_FIELD(triangular_attr, unitriangular) };

static adz_status shape_rule(adz_result *x, adz_tensor *const *in, void *block)
{
    const adz_tensor *a = in[0], *b = in[1];
    int *rank = &x->shape.rank;
    int64_t *sizes = x->shape.sizes;
    (void)block;
    if (adzi_columns(a) != adzi_rows(b)) {
        return adzi_error("solve_triangular", ADZ_ERR_SHAPE,
            "a%s and b%s do not fit: b needs %lld rows, or as many columns with left = false",
            adzi_text_shape(a), adzi_text_shape(b), (long long)adzi_columns(a));
    }
    if (!adzi_broadcast_batch("solve_triangular", a, b, rank, sizes)) {
        return adzi_status(NULL);
    }
    sizes[(*rank)++] = adzi_rows(b);
    sizes[(*rank)++] = adzi_columns(b);
    return ADZ_OK;
}

/* Solves for x, which holds b. Fails if an element of a diagonal is 0. Where each item has its own
 * matrix, the solve looks for zeros, so that a is read once. */
static bool solve(adz_tensor *a, adz_tensor *x, adzi_triangular_args args)
{
    const adz_tensor *found = args.unit ? NULL : adzi_new_info("solve_triangular", a);
    if (!args.unit && found == NULL) {
        return false;
    }
    args.found = found != NULL ? (int64_t *)(void *)found->data : NULL;
    if (found != NULL && (x->numel == 0 || adzi_batch_count(x) != found->numel)) {
        args.batch = adzi_batch_dims_of(a, a->rank - 2, a->sizes);
        adzi_launch(KERNEL_FOR(zero_diagonal, a->dtype), adzi_triangular_args, &args, found->numel,
            adzi_batch_grain((double)args.n));
        args.found = NULL;
    }
    args.x = x->data;
    args.batch = adzi_batch_dims_of(a, x->rank - 2, x->sizes);
    if (x->numel > 0) {
        const double work = (double)args.n * (double)args.n * (double)args.k;
        adzi_launch(KERNEL_FOR(solve_triangular, a->dtype), adzi_triangular_args, &args,
            adzi_batch_count(x), adzi_batch_grain(work));
    }
    return found == NULL || adzi_check_info("solve_triangular", found, a, "a",
                                "is singular: element %lld of its diagonal is 0");
}

/* The solve comes before the record, because a may be singular. */
static bool compute(adzi_call *call, adz_tensor **x, adz_tensor *const *in, void *block)
{
    const triangular_attr *at = block;
    adzi_matrix m;
    (void)call;
    adz_tensor *t = adzi_matrix_of("solve_triangular", in[0], &m);
    if (t == NULL) {
        return false;
    }
    const adzi_triangular_args args = { .a = m.data,
        .ld = m.ld,
        .transposed = at->transposed != m.transposed,
        .upper = at->upper != at->transposed,
        .unit = at->unitriangular,
        .n = adzi_rows(x[0]),
        .k = adzi_columns(x[0]) };
    adzi_copy(x[0], in[1]);
    return solve(t, x[0], args);
}

/* x is read only for the gradient of a. */
static void save(adzi_call *call, adz_tensor *const *x, const void *block)
{
    (void)block;
    adzi_save_input(call, 0);
    if (adzi_wants(call, 0)) {
        adzi_save_result(call, 0, x[0]);
    }
}

const adzi_op adzi_op_solve_triangular = { .name = "solve_triangular",
    .backward = backward,
    ADZI_ATTRIBUTES(triangular_attr, fields),
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 0 | 1u << 1 };

adz_tensor *adzi_solve_triangular(
    adz_tensor *a, adz_tensor *b, bool upper, bool transposed, bool unitriangular)
{
    static const adzi_steps steps = {
        .check = adzi_check_system, .prepare = compute, .save = save
    };
    triangular_attr attr = { upper, transposed, unitriangular };
    return ADZI_RUN_STEPS(&adzi_op_solve_triangular, steps, &attr, a, b);
}

static const adz_field options_rows[] = {
    ADZ_FIELD(adz_solve_triangular_options, left, .value = true),
    ADZ_FIELD(adz_solve_triangular_options, unitriangular, .value = false),
};

ADZ_OPTIONS_TABLE(adz_solve_triangular_options, ADZ_SOLVE_TRIANGULAR_OPTIONS, options_rows)

/* x a = b is a^T x^T = b^T. */
adz_tensor *adz_solve_triangular(
    adz_tensor *a, adz_tensor *b, bool upper, const adz_solve_triangular_options *options)
{
    adz_solve_triangular_options o;
    if (!ADZI_OPTIONS_TAKE("solve_triangular", adz_solve_triangular_options,
            ADZ_SOLVE_TRIANGULAR_OPTIONS, &o, options)) {
        return NULL;
    }
    if (o.left) {
        return adzi_solve_triangular(a, b, upper, false, o.unitriangular);
    }
    if (!adzi_check_tensor("solve_triangular", "a", a) ||
        !adzi_check_tensor("solve_triangular", "b", b)) {
        return NULL;
    }
    if (b->rank < 2) {
        return adzi_fail("solve_triangular", ADZ_ERR_SHAPE,
            "b%s is no matrix: it needs two dimensions", adzi_text_shape(b));
    }
    return adzi_mt(adzi_solve_triangular(a, adzi_mt(b), upper, true, o.unitriangular));
}
