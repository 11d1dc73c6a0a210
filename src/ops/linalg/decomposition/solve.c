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

/* What a call gets. The node keeps the attributes alone. */
typedef struct {
    solve_attr at;
    adzi_lu factors; /* of a; NULL if they are not known yet */
    bool any;        /* matrices that are singular are no error */
} solve_arguments;

static adz_status shape_rule(adz_result *x, adz_tensor *const *in, void *block)
{
    const adz_tensor *a = in[0], *b = in[1];
    int *rank = &x->shape.rank;
    int64_t *sizes = x->shape.sizes;
    (void)block;
    if (adzi_columns(a) != adzi_rows(b)) {
        return adzi_error("solve", ADZ_ERR_SHAPE, "a%s and b%s do not fit: b needs %lld rows",
            adzi_text_shape(a), adzi_text_shape(b), (long long)adzi_columns(a));
    }
    if (!adzi_broadcast_batch("solve", a, b, rank, sizes)) {
        return adzi_status(NULL);
    }
    sizes[(*rank)++] = adzi_rows(b);
    sizes[(*rank)++] = adzi_columns(b);
    return ADZ_OK;
}

static bool prepare(adzi_call *call, adz_tensor **x, adz_tensor *const *in, void *block)
{
    solve_arguments *s = block;
    (void)call;
    if (s->factors.lu == NULL && !adzi_lu_factor("solve", in[0], !s->any, &s->factors)) {
        return false;
    }
    x[1] = s->factors.lu;
    x[2] = s->factors.pivots;
    return true;
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

static void launch(adz_tensor *const *x, adz_tensor *const *in, const void *block)
{
    const solve_arguments *s = block;
    adzi_copy(x[0], in[1]);
    adzi_lu_solve(&s->factors, x[0], s->at.transposed, false);
}

const adzi_op adzi_op_solve = { .name = "solve",
    .backward = backward,
    ADZI_ATTRIBUTES(solve_attr, fields),
    .shape_rule = shape_rule,
    .strided_inputs = 1u << 0 | 1u << 1 };

static adz_tensor *run(solve_arguments arguments, adz_tensor *a, adz_tensor *b)
{
    static const adzi_steps steps = {
        .check = adzi_check_system, .prepare = prepare, .save = save, .launch = launch, .n_kept = 2
    };
    return ADZI_RUN_STEPS(&adzi_op_solve, steps, &arguments, a, b);
}

adz_tensor *adzi_solve_with(const adzi_lu *factors, adz_tensor *a, adz_tensor *b, bool transposed)
{
    return run((solve_arguments){ .at = { transposed }, .factors = *factors }, a, b);
}

adz_tensor *adzi_solve_any(adz_tensor *a, adz_tensor *b, bool transposed)
{
    return run((solve_arguments){ .at = { transposed }, .any = true }, a, b);
}

adz_tensor *adz_solve(adz_tensor *a, adz_tensor *b)
{
    const adzi_lu unknown = { NULL, NULL };
    if (!adzi_check_tensor("solve", "a", a) || !adzi_check_tensor("solve", "b", b)) {
        return NULL;
    }
    if (!adzi_is_vectors(a, b)) {
        return adzi_solve_with(&unknown, a, b, false);
    }
    adz_tensor *column = adz_unsqueeze(b, -1);
    adz_tensor *x = column != NULL ? adzi_solve_with(&unknown, a, column, false) : NULL;
    return x != NULL ? adz_squeeze(x, -1) : NULL;
}
