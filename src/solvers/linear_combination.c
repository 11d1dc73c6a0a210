/* The operator of linear combinations, and its gradient. */
#include "solvers/linear_combination.h"

#include <string.h>

#include "ops/op.h"

KERNEL_TABLE_FLOAT(linear_combination);
KERNEL_TABLE_FLOAT(linear_combination_backward);

/* The attributes of a node, whose inputs are the base, if there is one, and the terms. Extra 0 has
 * the weights if there are several rows, or the length h if launches have computed it. */
typedef struct combination_attr {
    bool based, measured; /* there is a base; extra 0 is h */
    int n;
    int64_t rows;
    double h, a[ADZI_COMBINATION_TERMS];
} combination_attr;

/* The elements of several rows for which a thread is worth its start. */
static int64_t grain_of(int64_t rows)
{
    return rows < ADZI_POINTWISE_GRAIN ? ADZI_POINTWISE_GRAIN / rows : 1;
}

static adzi_combination_args arguments_of(
    const combination_attr *attr, const adz_tensor *weights, int64_t numel)
{
    adzi_combination_args c = {
        .numel = numel,
        .rows = attr->rows,
        .n = attr->n,
        .h = attr->h,
        .weights = weights != NULL ? (const double *)(const void *)weights->data : NULL,
    };
    memcpy(c.a, attr->a, sizeof c.a);
    return c;
}

/* ---- the backward ---------------------------------------------------------------------------- */

/* dx_j as an expression of dy. `extra` is that of the node, or NULL. */
static adz_tensor *term(const adzi_node *node, adz_tensor *dy, adz_tensor *extra, int j)
{
    const combination_attr *attr = adzi_attr(node, combination_attr);
    adz_tensor *weights = attr->measured ? NULL : extra;
    adz_tensor *scaled = attr->measured ? adz_mul(dy, adz_to(extra, (adz_dtype)dy->dtype))
                                        : adz_mul_number(dy, attr->h);
    if (weights == NULL) {
        return adz_mul_number(scaled, attr->a[j]);
    }
    int64_t sizes[ADZ_MAX_RANK] = { attr->rows };
    for (int d = 1; d < dy->rank; ++d) {
        sizes[d] = 1;
    }
    adz_tensor *column = adz_to(adz_select(weights, 1, j), (adz_dtype)dy->dtype);
    column = adz_reshape(column, adz_shape_of(dy->rank, sizes));
    return adz_sum(adz_mul(scaled, column), ADZ_DIMS(0), ADZ_DROPDIM);
}

static adz_status expression(
    adzi_node *node, adz_tensor **dx, adz_tensor *dy, adz_tensor *extra, int first)
{
    const bool many = extra != NULL && !adzi_attr(node, combination_attr)->measured;
    for (int i = 0; i < node->n_inputs; ++i) {
        if (adzi_needs(node, i)) {
            dx[i] = i >= first ? term(node, dy, extra, i - first)
                    : many     ? adz_sum(dy, ADZ_DIMS(0), ADZ_DROPDIM)
                               : dy;
            if (dx[i] == NULL) {
                return adzi_status(NULL);
            }
        }
    }
    return ADZ_OK;
}

static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const char *op = node->op->name;
    const combination_attr *attr = adzi_attr(node, combination_attr);
    adz_tensor *extra = node->n_extras > 0 ? adzi_saved_extra(node, 0) : NULL;
    const adz_tensor *weights = attr->measured ? NULL : extra;
    const int first = attr->based;
    if (node->n_extras > 0 && extra == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_self()->grad_enabled) {
        return expression(node, dx, dy[0], extra, first);
    }
    adz_tensor *g = adzi_compact(op, dy[0]);
    const int rank = weights != NULL ? dy[0]->rank - 1 : dy[0]->rank;
    const int64_t *sizes = dy[0]->sizes + (weights != NULL);
    adzi_combination_args c =
        arguments_of(attr, weights, attr->rows > 0 ? dy[0]->numel / attr->rows : 0);
    c.length = attr->measured ? (const double *)(const void *)extra->data : NULL;
    for (int i = 0; i < node->n_inputs && g != NULL; ++i) {
        if (!adzi_needs(node, i)) {
            continue;
        }
        if (i < first && weights == NULL) {
            dx[i] = dy[0];
            continue;
        }
        dx[i] = adzi_scratch(op, (adz_dtype)g->dtype, rank, sizes);
        if (dx[i] == NULL) {
            return adzi_status(NULL);
        }
        *(i < first ? &c.dbase : &c.dx[i - first]) = dx[i]->data;
    }
    if (g == NULL) {
        return adzi_status(NULL);
    }
    c.dy = g->data;
    adzi_launch(KERNEL_FOR(linear_combination_backward, g->dtype), adzi_combination_args, &c,
        c.numel, grain_of(c.rows));
    return ADZ_OK;
}

static const adzi_op linear_combination_op = {
    .size = sizeof(adzi_op), .name = "linear_combination", .backward = backward
};

/* ---- the forward ----------------------------------------------------------------------------- */

/* One row as a chain of operators that an export knows. */
static adz_tensor *chain(adz_tensor *base, double h, adz_tensor *const *x, const double *a, int n)
{
    adz_tensor *sum = adz_mul_number(x[0], a[0]);
    for (int j = 1; j < n; ++j) {
        sum = adz_add_scaled(sum, x[j], a[j]);
    }
    return base != NULL ? adz_add_scaled(base, sum, h) : h == 1 ? sum : adz_mul_number(sum, h);
}

/* The call with the weights in `attr`, or in the tensor `extra`, which may be the length h instead.
 */
static adz_tensor *call(adz_tensor **inputs, const combination_attr *attr, adz_tensor *extra)
{
    adzi_call call;
    const adz_tensor *weights = attr->measured ? NULL : extra;
    adzi_combination_args c = arguments_of(attr, weights, inputs[0]->numel);
    int64_t sizes[ADZ_MAX_RANK] = { attr->rows };
    const int more = weights != NULL, first = attr->based;
    if (!adzi_enter(&call, &linear_combination_op, "a term", inputs, attr->n + first, 0)) {
        return NULL;
    }
    for (int i = 0; i < call.n_in; ++i) {
        const adz_tensor *t = adzi_compact(linear_combination_op.name, call.in[i]);
        if (t == NULL) {
            return NULL;
        }
        *(i < first ? &c.base : &c.x[i - first]) = t->data;
    }
    memcpy(sizes + more, inputs[0]->sizes, (size_t)inputs[0]->rank * sizeof *sizes);
    adz_tensor *y = adzi_new(&call, (adz_dtype)inputs[0]->dtype, inputs[0]->rank + more, sizes);
    if (y == NULL || !adzi_record_extra(&call, 1, &y, extra != NULL, attr, sizeof *attr)) {
        return NULL;
    }
    if (extra != NULL) {
        adzi_save_extra(&call, 0, extra);
    }
    c.length = attr->measured ? (const double *)(const void *)extra->data : NULL;
    c.y = y->data;
    adzi_launch(KERNEL_FOR(linear_combination, y->dtype), adzi_combination_args, &c, c.numel,
        grain_of(c.rows));
    return adzi_leave(&call, y);
}

adz_tensor *adzi_linear_combination(
    adz_tensor *base, double h, adz_tensor *const *x, const double *a, int n)
{
    adz_tensor *inputs[ADZI_CALL_INPUTS] = { base };
    const int first = base != NULL;
    combination_attr attr = { .based = base != NULL, .rows = 1, .h = h };
    for (int j = 0; j < n; ++j) {
        if (a[j] != 0 || (attr.n == 0 && j == n - 1)) {
            attr.a[attr.n] = a[j];
            inputs[first + attr.n++] = x[j];
        }
    }
    return adzi_self()->tracer != NULL ? chain(base, h, inputs + first, attr.a, attr.n)
                                       : call(inputs, &attr, NULL);
}

adz_tensor *adzi_linear_combinations(
    adz_tensor *base, double h, adz_tensor *const *x, int n, adz_tensor *weights)
{
    adz_tensor *inputs[ADZI_CALL_INPUTS] = { base };
    const combination_attr attr = {
        .based = base != NULL, .n = n, .rows = weights->sizes[0], .h = h
    };
    memcpy(inputs + (base != NULL), x, (size_t)n * sizeof *x);
    return call(inputs, &attr, weights);
}

/* ---- numbers that are computed on the way ---------------------------------------------------- */

/* The sum as a chain of operators that an export knows. */
static adz_tensor *chain_by(adz_tensor *base, adz_tensor *h, adz_tensor *const *x, const double *a,
    adz_tensor *weights, int n)
{
    adz_tensor *sum = NULL;
    for (int j = 0; j < n; ++j) {
        if (weights != NULL) {
            adz_tensor *weight = adz_to(adz_select(weights, 0, j), (adz_dtype)x[j]->dtype);
            adz_tensor *term = adz_mul(x[j], weight);
            sum = j == 0 ? term : adz_add(sum, term);
        } else {
            sum = j == 0 ? adz_mul_number(x[j], a[j]) : adz_add_scaled(sum, x[j], a[j]);
        }
        if (sum == NULL) {
            return NULL;
        }
    }
    sum = h != NULL ? adz_mul(sum, adz_to(h, (adz_dtype)sum->dtype)) : sum;
    return base != NULL ? adz_add(base, sum) : sum;
}

/* The sum by weights that launches have computed, which has no gradient. */
static adz_tensor *sum_by(
    adz_tensor *base, const adz_tensor *h, adz_tensor *const *x, const adz_tensor *weights, int n)
{
    const char *op = linear_combination_op.name;
    adzi_combination_args c = { .rows = 1, .h = 1, .n = n };
    for (int j = 0; j < n; ++j) {
        const adz_tensor *term = adzi_compact(op, x[j]);
        if (term == NULL) {
            return NULL;
        }
        c.x[j] = term->data;
    }
    const adz_tensor *from = base != NULL ? adzi_compact(op, base) : NULL;
    adz_tensor *y = adzi_scratch(op, (adz_dtype)x[0]->dtype, x[0]->rank, x[0]->sizes);
    if (y == NULL || (base != NULL && from == NULL)) {
        return NULL;
    }
    c.base = from != NULL ? from->data : NULL;
    c.length = h != NULL ? (const double *)(const void *)h->data : NULL;
    c.weights = (const double *)(const void *)weights->data;
    c.y = y->data;
    c.numel = y->numel;
    adzi_launch(
        KERNEL_FOR(linear_combination, y->dtype), adzi_combination_args, &c, c.numel, grain_of(1));
    return y;
}

adz_tensor *adzi_linear_combination_by(adz_tensor *base, adz_tensor *h, adz_tensor *const *x,
    const double *a, adz_tensor *weights, int n)
{
    adz_tensor *inputs[ADZI_CALL_INPUTS] = { base };
    const int first = base != NULL;
    combination_attr attr = { .based = base != NULL, .measured = h != NULL, .rows = 1, .h = 1 };
    for (int j = 0; j < n; ++j) {
        if (weights != NULL || a[j] != 0) {
            attr.a[attr.n] = weights == NULL ? a[j] : 0;
            inputs[first + attr.n++] = x[j];
        }
    }
    if (adzi_self()->tracer != NULL) {
        return chain_by(base, h, inputs + first, attr.a, weights, attr.n);
    }
    return weights != NULL ? sum_by(base, h, inputs + first, weights, attr.n)
                           : call(inputs, &attr, h);
}

bool adzi_linear_combinations_back(adz_tensor *h, adz_tensor *weights, adz_tensor *range,
    adz_tensor *dy, adz_tensor **dbase, adz_tensor **dx, int n)
{
    const char *op = linear_combination_op.name;
    adzi_combination_args c = { .numel = 1,
        .n = n,
        .length = (const double *)(const void *)h->data,
        .weights = (const double *)(const void *)weights->data,
        .range = (const int64_t *)(const void *)range->data,
        .dy = dy->data };
    for (int d = 1; d < dy->rank; ++d) {
        c.numel *= dy->sizes[d];
    }
    for (int j = -1; j < n; ++j) {
        adz_tensor *g = adzi_scratch(op, (adz_dtype)dy->dtype, dy->rank - 1, dy->sizes + 1);
        if (g == NULL) {
            return false;
        }
        *(j < 0 ? dbase : &dx[j]) = g;
        *(j < 0 ? &c.dbase : &c.dx[j]) = g->data;
    }
    adzi_capture_name(op);
    adzi_launch(KERNEL_FOR(linear_combination_backward, dy->dtype), adzi_combination_args, &c,
        c.numel, grain_of(1));
    return true;
}
