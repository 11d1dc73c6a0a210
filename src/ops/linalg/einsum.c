#include "ops/linalg/einsum.h"

#include <string.h>

#include "ops/linalg/matmul.h"

/* Sums of products named by letters, torch.einsum, for one or two operands.
 *
 *     "bij,bjk->bik":  y[b][i][k] = sum_j a[b][i][j] * b[b][j][k]
 *
 * It is a composition of permute, reshape, sum and one matrix product, whose nodes carry the
 * gradients. Two operands go through these steps:
 *
 *     1. Repeated letters of one operand become a diagonal; letters that only it has are summed.
 *     2. Without a letter to sum over, the result is a product of broadcast operands.
 *     3. Otherwise letters are grouped: batch (in both and the result), rows (a and the result),
 *        columns (b and the result), inner (in both, summed). a becomes [batch, rows, inner] and b
 *        [batch, inner, columns], and matmul computes [batch, rows, columns].
 *     4. The result is split into its dimensions and permuted to the order that was asked for. */

/* ---- one operand --------------------------------------------------------------------------- */

/* A tensor and the labels of its dimensions (einsum.h). */
typedef struct {
    adz_tensor *t;
    int labels[ADZ_MAX_RANK];
} named;

/* The position of a label in a list, or -1. Lists have at most ADZ_MAX_RANK labels, so a linear
 * search is enough. */
static int find(const int *labels, int n, int label)
{
    for (int i = 0; i < n; ++i) {
        if (labels[i] == label) {
            return i;
        }
    }
    return -1;
}

/* Permutes the dimensions to the order of `labels`, which are those of the tensor. The result is a
 * view. If the order is right already, no node is recorded. A NULL tensor, from a step that failed,
 * stays NULL. */
static void reorder(named *a, const int *labels)
{
    if (a->t == NULL) {
        return;
    }
    int dims[ADZ_MAX_RANK] = { 0 }, rank = a->t->rank;
    bool same = true;
    for (int i = 0; i < rank; ++i) {
        dims[i] = find(a->labels, rank, labels[i]);
        same = same && dims[i] == i;
    }
    if (!same) {
        a->t = adz_permute(a->t, adz_dims_of(rank, dims));
        memcpy(a->labels, labels, (size_t)rank * sizeof *labels);
    }
}

/* Replaces dimensions i and j, which have one label and n elements each, by their diagonal. The two
 * become one dimension of n * n elements, of which every (n+1)-th is taken. The tape then has the
 * gradient of permute, reshape and slice, and needs no operator for diagonals. The other dimensions
 * keep their order behind the diagonal. */
static void diagonal(named *a, int i, int j)
{
    int dims[ADZ_MAX_RANK] = { i, j }, rank = a->t->rank, n = 2;
    int64_t size = a->t->sizes[i];
    adz_shape shape = { rank - 1, { size * size } };
    int labels[ADZ_MAX_RANK] = { a->labels[i] };
    for (int d = 0; d < rank; ++d) {
        if (d != i && d != j) {
            labels[n - 1] = a->labels[d];
            shape.sizes[n - 1] = a->t->sizes[d];
            dims[n++] = d;
        }
    }
    /* With i and j in front, the diagonal has stride n + 1 in the merged dimension. */
    adz_tensor *flat = adz_reshape(adz_permute(a->t, adz_dims_of(rank, dims)), shape);
    a->t = adz_slice(flat, 0, 0, size * size, size + 1);
    memcpy(a->labels, labels, sizeof labels);
}

/* Step 1: takes diagonals, and sums over dimensions that neither the result nor the other operand
 * has. Sums before the product make the product smaller. `which` is 0 for a and 1 for b. With one
 * operand the other list is empty, so every label that the result lacks is summed. */
static void simplify(named *a, const adzi_einsum *plan, int which)
{
    /* A diagonal moves dimensions, so the search for repeated labels starts again after each one.
     */
    for (int j = 1; a->t != NULL && j < a->t->rank; ++j) {
        int i = find(a->labels, j, a->labels[j]);
        if (i >= 0) {
            diagonal(a, i, j);
            j = 0;
        }
    }
    int dims[ADZ_MAX_RANK], n = 0, kept = 0;
    for (int d = 0; a->t != NULL && d < a->t->rank; ++d) {
        int label = a->labels[d];
        /* A label that nobody else has can be summed at once. */
        bool other = find(plan->labels[!which], plan->rank[!which], label) >= 0;
        if (!other && find(plan->out, plan->n_out, label) < 0) {
            dims[n++] = d;
        } else {
            a->labels[kept++] = label;
        }
    }
    if (n > 0) {
        a->t = adz_sum(a->t, adz_dims_of(n, dims), ADZ_DROPDIM);
    }
}

/* ---- two operands -------------------------------------------------------------------------- */

/* Step 2: the operand in the dimensions of the result, with size 1 where it has no such label. Two
 * of these broadcast against each other, so one elementwise product gives outer products such as
 * "i,j->ij". */
static adz_tensor *in_result_dims(named *a, const adzi_einsum *plan)
{
    if (a->t == NULL) {
        return NULL;
    }
    int labels[ADZ_MAX_RANK], n = 0;
    int64_t sizes[ADZ_MAX_RANK];
    for (int i = 0; i < plan->n_out; ++i) {
        int d = find(a->labels, a->t->rank, plan->out[i]);
        sizes[i] = d < 0 ? 1 : a->t->sizes[d];
        if (d >= 0) {
            labels[n++] = plan->out[i];
        }
    }
    reorder(a, labels);
    return adz_reshape(a->t, adz_shape_of(plan->n_out, sizes));
}

/* The labels of both operands, grouped by their part in a matrix product. */
typedef struct {
    int batch[ADZ_MAX_RANK], rows[ADZ_MAX_RANK], columns[ADZ_MAX_RANK], inner[ADZ_MAX_RANK];
    int n_batch, n_rows, n_columns, n_inner;
} groups;

/* Step 3: labels of the result are batch, rows or columns. The other labels of a are summed; b has
 * them too, because simplify has removed the rest. For "bij,bjk->bik" the groups are b, i, k and j.
 */
static void classify(const named *a, const named *b, const adzi_einsum *plan, groups *g)
{
    /* The order of labels within a group is that of the result, or of a for summed ones. */
    memset(g, 0, sizeof *g);
    for (int i = 0; i < plan->n_out; ++i) {
        int label = plan->out[i];
        bool in_a = find(a->labels, a->t->rank, label) >= 0;
        bool in_b = find(b->labels, b->t->rank, label) >= 0;
        if (in_a && in_b) {
            g->batch[g->n_batch++] = label;
        } else if (in_a) {
            g->rows[g->n_rows++] = label;
        } else {
            g->columns[g->n_columns++] = label;
        }
    }
    for (int i = 0; i < a->t->rank; ++i) {
        if (find(plan->out, plan->n_out, a->labels[i]) < 0) {
            g->inner[g->n_inner++] = a->labels[i];
        }
    }
}

/* Appends labels to a list and returns its new length. */
static int append(int *labels, int n, const int *more, int count)
{
    for (int i = 0; i < count; ++i) {
        labels[n++] = more[i];
    }
    return n;
}

/* The operand as [batch..., first group, second group], a view wherever its strides allow. A size
 * of 1 that broadcasts is expanded within the groups. Among the batch dimensions matmul broadcasts
 * it. With more than ADZ_MAX_RANK - 2 batch dimensions, they are merged into one. */
static adz_tensor *as_matrices(named *a, const groups *g, const adzi_einsum *plan, const int *first,
    int n_first, const int *second, int n_second)
{
    /* Batch labels first, then the two groups that become rows and columns of a matrix. */
    int labels[ADZ_MAX_RANK], n = append(labels, 0, g->batch, g->n_batch);
    n = append(labels, n, first, n_first);
    n = append(labels, n, second, n_second);
    reorder(a, labels);
    if (a->t == NULL) {
        return NULL;
    }
    /* The shape that the product reads may have at most 8 dimensions. */
    bool one_batch = g->n_batch > ADZ_MAX_RANK - 2, grows = false;
    adz_shape full = adz_shape_of(n, a->t->sizes), shape = { 0 };
    for (int i = one_batch ? 0 : g->n_batch; i < n; ++i) {
        grows = grows || full.sizes[i] != plan->sizes[labels[i]];
        full.sizes[i] = plan->sizes[labels[i]];
    }
    if (one_batch) {
        shape.sizes[shape.rank++] = adzi_numel(g->n_batch, full.sizes);
    }
    for (int i = 0; i < g->n_batch && !one_batch; ++i) {
        shape.sizes[shape.rank++] = full.sizes[i];
    }
    shape.sizes[shape.rank++] = adzi_numel(n_first, full.sizes + g->n_batch);
    shape.sizes[shape.rank++] = adzi_numel(n_second, full.sizes + g->n_batch + n_first);
    return adz_reshape(grows ? adz_expand(a->t, full) : a->t, shape);
}

/* Steps 2 to 4 of the list at the top, for operands that simplify has prepared. Every step is an
 * operator of its own, so the product can be differentiated to any order. If one of them fails, it
 * returns NULL, and the steps after it pass the NULL on. */
static adz_tensor *contract(named *a, named *b, const adzi_einsum *plan)
{
    groups g;
    if (a->t == NULL || b->t == NULL) {
        return NULL;
    }
    classify(a, b, plan, &g);
    if (g.n_inner == 0) {
        return adz_mul(in_result_dims(a, plan), in_result_dims(b, plan));
    }
    adz_tensor *ma = as_matrices(a, &g, plan, g.rows, g.n_rows, g.inner, g.n_inner);
    adz_tensor *mb = as_matrices(b, &g, plan, g.inner, g.n_inner, g.columns, g.n_columns);
    adz_tensor *product = ma != NULL && mb != NULL ? adzi_matmul(ma, false, mb, false) : NULL;
    /* The result of the product is [batch..., rows, columns]. Its three parts are split into
     * labels. */
    named y = { product, { 0 } };
    int n = append(y.labels, 0, g.batch, g.n_batch);
    n = append(y.labels, n, g.rows, g.n_rows);
    n = append(y.labels, n, g.columns, g.n_columns);
    int64_t sizes[ADZ_MAX_RANK];
    for (int i = 0; i < n; ++i) {
        sizes[i] = plan->sizes[y.labels[i]];
    }
    y.t = adz_reshape(y.t, adz_shape_of(n, sizes));
    reorder(&y, plan->out);
    return y.t;
}

/* b is ADZ_NONE for an equation of one operand, such as a trace or a transpose. */
adz_tensor *adz_einsum(const char *equation, adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    adzi_einsum plan;
    if (equation == NULL) {
        return adzi_fail_null("einsum", "equation");
    }
    if (!adzi_check_tensor("einsum", "a", a)) {
        return NULL;
    }
    /* NULL is a failed call and not a missing operand, which is ADZ_NONE. */
    bool two = b == NULL || !adzi_is_none(b);
    if ((two && !adzi_check_tensor("einsum", "b", b)) ||
        !adzi_einsum_plan(&plan, equation, a, two ? b : NULL)) {
        return NULL;
    }
    named left = { a, { 0 } }, right = { b, { 0 } };
    memcpy(left.labels, plan.labels[0], sizeof left.labels);
    memcpy(right.labels, plan.labels[1], sizeof right.labels);
    simplify(&left, &plan, 0);
    /* One operand is done after diagonals and sums: its dimensions are put into the order of the
     * result. */
    if (!two) {
        reorder(&left, plan.out);
        return left.t;
    }
    simplify(&right, &plan, 1);
    return contract(&left, &right, &plan);
}
