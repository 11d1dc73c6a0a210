#include "ops/linalg/linear.h"

#include <string.h>

#include "ops/convert/q8_0.h"
#include "ops/linalg/matmul.h"
#include "ops/reduction/sum.h"
#include "base/context.h"
#include "tensor/gemm/loops.h"
#include "tensor/kernel/registers.h"

/* An affine map of rows, torch.nn.functional.linear.
 *
 *     y  = x w^T + b
 *     dx = dy w,   dw = dy^T x,   db = sum of the rows of dy
 *
 * x[..., D] is read as x[N, D], w[H, D], b[H] or ADZ_NONE, y[..., H]. All three are differentiable.
 * The node saves w if x wants a gradient, and x if w wants one. The bias is added in the epilogue
 * of the product, while a tile of y is in registers.
 *
 * The gradients are computed in one of three ways. An expression can be differentiated again. Two
 * products and a sum are the usual way. One pass over x and dy (linear_narrow) takes less time for
 * small layers with at most 4 inputs or outputs. */

/* dw, db and, for narrow outputs, dx of a small layer in one pass (linear.kernel.c). */
KERNEL_TABLE_PRODUCT(linear_narrow);

enum { X = ADZI_LINEAR_X, WEIGHT = ADZI_LINEAR_WEIGHT, BIAS = ADZI_LINEAR_BIAS };

/* Limits of layers that linear_narrow computes. Products take less time for larger ones, because
 * they go through the cache in blocks. */
enum {
    NARROW_INPUTS_WORK = 1 << 16, /* multiply-adds of a layer with narrow inputs */
    NARROW_OUTPUTS_X = 1 << 12,   /* elements of x, times the number of outputs and one */
    EQUAL = 4                     /* rows that stand for any number of equal ones: a tile */
};

/* The number of rows N of a tensor [..., D] that is read as [N, D]. A tensor [D] is one row,
 * because the product of no sizes is 1. */
static int64_t rows_of(const adz_tensor *t)
{
    return adzi_numel(t->rank - 1, t->sizes);
}

/* The gradients as expressions on [N, D] and [N, H], which can be differentiated again. dy may have
 * any layout: reshape copies it if rows cannot be merged. Each gradient is computed only if it is
 * wanted, because products are the cost of a backward. */
adz_status adzi_linear_gradients(adzi_node *node, adz_tensor **dx, adz_tensor *g)
{
    const int64_t n = rows_of(g), h = g->sizes[g->rank - 1];
    /* Leading dimensions are merged: each row is one sample. */
    adz_tensor *rows = adz_reshape(g, ADZ_SHAPE(n, h));
    if (rows == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, X)) {
        /* dx = dy w, in the shape of x. */
        adz_tensor *weight = adzi_saved_input(node, WEIGHT);
        weight = weight != NULL && adzi_is_q8_0(weight) ? adz_dequantize_q8_0(weight) : weight;
        dx[X] = adz_reshape(adzi_matmul(rows, false, weight, false), adzi_input_shape(node, X));
        if (dx[X] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, WEIGHT)) {
        /* dw = dy^T x. The flag transposes dy within the product, without a copy. */
        adz_tensor *x = adzi_saved_input(node, X);
        adz_tensor *xs = x != NULL ? adz_reshape(x, ADZ_SHAPE(n, x->sizes[x->rank - 1])) : NULL;
        dx[WEIGHT] = adzi_matmul(rows, true, xs, false);
        if (dx[WEIGHT] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, BIAS)) {
        dx[BIAS] = adz_sum(rows, ADZ_DIMS(0), ADZ_DROPDIM);
        return adzi_status(dx[BIAS]);
    }
    return ADZ_OK;
}

adz_tensor *adzi_linear_matrix(const char *op, adz_tensor *weight, adzi_matrix *matrix)
{
    if (weight == NULL || !adzi_is_q8_0(weight)) {
        return adzi_matrix_of(op, weight, matrix);
    }
    weight = adzi_compact(op, weight);
    if (weight != NULL) {
        *matrix = (adzi_matrix){ .data = weight->data,
            .stored = ADZI_STORED_Q8_0,
            .ld = weight->sizes[1] > 0 ? weight->sizes[1] * ADZI_Q8_0_VALUES : 1 };
    }
    return weight;
}

/* dx[N, D] = g[N, H] w[H, D] as one product off the tape. A weight that is a transposed view, as in
 * GPT-2, is read where it is. Any other layout that BLAS cannot read is copied first. */
static adz_tensor *gradient_of_x(adzi_node *node, const adz_tensor *g, int64_t n, int64_t h)
{
    adzi_matrix m;
    if (adzi_linear_matrix(node->op->name, adzi_saved_input(node, WEIGHT), &m) == NULL) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)g->dtype;
    const adz_shape shape = adzi_input_shape(node, X);
    int64_t sizes[ADZ_MAX_RANK], d = shape.sizes[shape.rank - 1];
    memcpy(sizes, g->sizes, sizeof sizes);
    sizes[g->rank - 1] = d;
    /* The product writes dx in the shape of x; leading dimensions are rows. */
    adz_tensor *dx = adzi_scratch(node->op->name, dtype, g->rank, sizes);
    if (dx != NULL) {
        adzi_gemm_run(&(adzi_gemm_args){ .dtype = dtype,
            .tb = m.transposed,
            .b_stored = m.stored,
            .m = n,
            .n = d,
            .k = h,
            .alpha = 1,
            .a = g->data,
            .lda = h,
            .b = m.data,
            .ldb = m.ld,
            .c = dx->data,
            .ldc = d,
            .batch = 1 });
    }
    return dx;
}

/* dw[H, D] = g^T x as one product off the tape, which sums over the N rows. If the weight is a
 * transposed view, its gradient becomes one too: the product is then dw^T = x^T g. An optimizer
 * then reads weight and gradient in one order of memory. The layout is known only if the node has
 * saved the weight, so dw is row-major where x needs no gradient. A row-major dw is written to its
 * place in a flat buffer if it has one. */
static adz_tensor *gradient_of_weight(adzi_node *node, const adz_tensor *g, int64_t n, int64_t h)
{
    adz_tensor *x = adzi_compact(node->op->name, adzi_saved_input(node, X));
    const adz_tensor *w = node->inputs[WEIGHT].saved;
    if (x == NULL) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)g->dtype;
    int64_t d = x->sizes[x->rank - 1];
    adzi_matrix m;
    if (w != NULL && adzi_as_matrix(w, &m) && m.transposed) {
        adz_tensor *transposed = adzi_scratch(node->op->name, dtype, 2, (int64_t[]){ d, h });
        if (transposed != NULL) {
            /* x^T[D, N] g[N, H] is the transpose of dw, stored row by row. */
            adzi_gemm((adzi_gemm_size){ dtype, d, h, n }, (adzi_operand){ x->data, d, true },
                (adzi_operand){ g->data, h, false }, transposed->data, h);
        }
        return adz_transpose(transposed, 0, 1);
    }
    adz_tensor *dw = adzi_scratch_gradient(node, WEIGHT, dtype, 2, (int64_t[]){ h, d });
    if (dw != NULL) {
        /* g^T[H, N] x[N, D]: g is read as its transpose where it is. */
        adzi_gemm((adzi_gemm_size){ dtype, h, d, n }, (adzi_operand){ g->data, h, true },
            (adzi_operand){ x->data, d, false }, dw->data, d);
    }
    return dw;
}

/* linear_narrow runs on one thread, so that it sums in one order. Therefore the number of rows and
 * the work are limited. A node that needs no dw takes products: its pass over x would have no
 * purpose. All matrices must be contiguous, because the kernel has no leading dimensions. It is not
 * used if the context allows f32 products of medium precision, whose operands are rounded to bf16.
 */
bool adzi_linear_is_narrow(
    const adzi_node *node, const adz_tensor *g, adzi_linear_narrow_args *layer)
{
    const adz_tensor *x = node->inputs[X].saved, *w = node->inputs[WEIGHT].saved;
    if (x == NULL || !adzi_needs(node, WEIGHT)) {
        return false;
    }
    const int64_t n = rows_of(g), h = g->sizes[g->rank - 1], d = x->sizes[x->rank - 1];
    /* Neither few inputs nor few outputs, too many rows, or nothing to compute. */
    if ((h > ADZI_LINEAR_NARROW && d > ADZI_LINEAR_NARROW) || n > ADZI_LINEAR_ROWS ||
        n * h * d == 0) {
        return false;
    }
    /* The sizes are filled in here, so that the caller may set a mask before the launch. */
    layer->n = n;
    layer->d = d;
    layer->h = h;
    layer->y = NULL;
    layer->factor = 1;
    /* The limit on x grows with h. For narrow inputs the multiply-adds of dw count. */
    const bool small = h <= ADZI_LINEAR_NARROW ? n * d <= (h + 1) * NARROW_OUTPUTS_X
                                               : n * h * d <= NARROW_INPUTS_WORK;
    return small && adzi_is_contiguous(x) && (w == NULL || adzi_is_contiguous(w)) &&
           (g->dtype != ADZ_F32 || !adzi_is_medium(adzi_self()->context));
}

/* Gradients of a layer with few inputs or outputs: allocates the results and launches the kernel
 * once. NULL pointers tell the kernel which gradients are not wanted. With more than 4 outputs, dx
 * is a sum over all of them and is left to a product. dw is always computed, because
 * adzi_linear_is_narrow asks for it. */
adz_status adzi_linear_gradients_narrow(
    adzi_node *node, adz_tensor **dx, const adz_tensor *g, adzi_linear_narrow_args *layer)
{
    const char *op = node->op->name;
    const adz_dtype dtype = (adz_dtype)g->dtype;
    const adz_tensor *x = adzi_saved_input(node, X);
    if (x == NULL) {
        return adzi_status(NULL);
    }
    const int64_t n = layer->n, d = layer->d, h = layer->h;
    /* Pointers that stay NULL mean gradients that are not wanted. */
    layer->dy = g->data;
    layer->x = x->data;
    layer->w = layer->dx = layer->db = NULL;
    if (adzi_needs(node, BIAS)) {
        if ((dx[BIAS] = adzi_scratch_gradient(node, BIAS, dtype, 1, &h)) == NULL) {
            return adzi_status(NULL);
        }
        layer->db = dx[BIAS]->data;
    }
    dx[WEIGHT] = adzi_scratch_gradient(node, WEIGHT, dtype, 2, (int64_t[]){ h, d });
    if (dx[WEIGHT] == NULL) {
        return adzi_status(NULL);
    }
    layer->dw = dx[WEIGHT]->data;
    /* Wide outputs: dx is one product of its own. */
    if (adzi_needs(node, X) && h > ADZI_LINEAR_NARROW) {
        dx[X] = gradient_of_x(node, g, n, h);
        if (dx[X] == NULL) {
            return adzi_status(NULL);
        }
    } else if (adzi_needs(node, X)) {
        const adz_tensor *w = adzi_saved_input(node, WEIGHT);
        if (w == NULL || (dx[X] = adzi_scratch_like(op, x)) == NULL) {
            return adzi_status(NULL);
        }
        layer->w = w->data;
        layer->dx = dx[X]->data;
    }
    adzi_launch(KERNEL_FOR(linear_narrow, dtype), adzi_linear_narrow_args, layer, 1, 1);
    return ADZ_OK;
}

/* The gradients without a graph: linear_narrow for small layers, two products and a sum for all
 * others. dw is computed first. Then x is not needed any more, and dx can reuse its memory. That
 * may save a tensor of the size of x at the peak of a backward. */
adz_status adzi_linear_gradients_fused(adzi_node *node, adz_tensor **dx, const adz_tensor *g)
{
    adzi_linear_narrow_args layer;
    if (adzi_linear_is_narrow(node, g, &layer)) {
        return adzi_linear_gradients_narrow(node, dx, g, &layer);
    }
    const int64_t n = rows_of(g), h = g->sizes[g->rank - 1];
    if (adzi_needs(node, WEIGHT)) {
        if ((dx[WEIGHT] = gradient_of_weight(node, g, n, h)) == NULL) {
            return adzi_status(NULL);
        }
        adzi_release_input(node, X); /* the gradient of x can be written to the memory of x */
    }
    /* dx = g w, a product of g[N, H] and w[H, D]. */
    if (adzi_needs(node, X) && (dx[X] = gradient_of_x(node, g, n, h)) == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, BIAS)) {
        dx[BIAS] = adzi_scratch_gradient(node, BIAS, (adz_dtype)g->dtype, 1, &h);
        if (dx[BIAS] == NULL) {
            return adzi_status(NULL);
        }
        /* db is a sum over the rows of g. */
        adzi_sum_rows(dx[BIAS], g, n);
    }
    return ADZ_OK;
}

/* Runs if the gradients are to be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_linear_gradients(node, dx, dy[0]);
}

/* Whether all rows of g are one row in memory, as in an expanded dy. Each pass of a Jacobian by
 * rows begins with one. */
static bool has_equal_rows(const adz_tensor *g)
{
    bool equal = g->rank > 1 && g->numel > 0 && g->strides[g->rank - 1] == 1;
    for (int i = 0; i < g->rank - 1; ++i) {
        equal = equal && (g->strides[i] == 0 || g->sizes[i] == 1);
    }
    return equal;
}

/* Whether dx = g w of equal rows is computed as a product of a few rows. Its elements must have the
 * bits that they have among all rows. So all rows must go through tiles, which sum an element in
 * one order, as the loops for small products do with a tile of EQUAL rows. They compute rows that
 * do not fill a tile one by one. */
static bool supports_equal_rows(const adzi_node *node, const adz_tensor *g)
{
    const adz_tensor *w = node->inputs[WEIGHT].saved;
    if (!has_equal_rows(g) || adzi_needs(node, WEIGHT) || adzi_needs(node, BIAS) || w == NULL ||
        !adzi_is_contiguous(w) || w->dtype != g->dtype) {
        return false;
    }
    const int64_t h = w->sizes[0], d = w->sizes[1];
    const adzi_gemm_args all = { .dtype = (adz_dtype)g->dtype,
        .m = rows_of(g),
        .n = d,
        .k = h,
        .alpha = 1,
        .lda = h,
        .ldb = d,
        .ldc = d,
        .batch = 1 };
    const adzi_gemm_algorithm *algorithm = adzi_gemm_algorithm_of(&all);
    const bool in_tiles = algorithm->run == adzi_gemm_loops_run ||
                          (all.m % EQUAL == 0 && algorithm->relu && !algorithm->rounds);
    return adzi_has_fused() && all.m > EQUAL && d > 1 && in_tiles;
}

/* dx of equal rows: one row of a product of EQUAL rows, expanded. */
static adz_status gradient_of_equal_rows(adzi_node *node, adz_tensor **dx, adz_tensor *g)
{
    const int64_t h = g->sizes[g->rank - 1];
    while (g != NULL && g->rank > 1) {
        g = adz_select(g, 0, 0);
    }
    g = g != NULL ? adz_expand(g, ADZ_SHAPE(EQUAL, h)) : NULL;
    g = adzi_compact(node->op->name, g);
    adz_tensor *rows = g != NULL ? gradient_of_x(node, g, EQUAL, h) : NULL;
    dx[X] = rows != NULL ? adz_expand(adz_select(rows, 0, 0), adzi_input_shape(node, X)) : NULL;
    return adzi_status(dx[X]);
}

/* Whether dx is a row of the weight: each row of g is one unit vector, and only x needs a
 * gradient. */
static bool supports_unit_rows(const adzi_node *node, const adz_tensor *g)
{
    const adz_tensor *w = node->inputs[WEIGHT].saved;
    return g->is_unit && !adzi_needs(node, WEIGHT) && !adzi_needs(node, BIAS) && w != NULL &&
           w->dtype == g->dtype;
}

/* dx of unit vectors: a view of the weight, without a product. */
static adz_status gradient_of_unit_rows(adzi_node *node, adz_tensor **dx, const adz_tensor *g)
{
    adz_tensor *w = adzi_saved_input(node, WEIGHT);
    adz_tensor *row = w != NULL ? adz_select(w, 0, adzi_unit_column(g)) : NULL;
    dx[X] = row != NULL ? adz_expand(row, adzi_input_shape(node, X)) : NULL;
    return adzi_status(dx[X]);
}

/* Runs if the gradients are not to be differentiated again. The kernels read a contiguous dy. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    if (supports_unit_rows(node, dy[0])) {
        return gradient_of_unit_rows(node, dx, dy[0]);
    }
    if (supports_equal_rows(node, dy[0])) {
        return gradient_of_equal_rows(node, dx, dy[0]);
    }
    const adz_tensor *g = adzi_compact(node->op->name, dy[0]);
    return g != NULL ? adzi_linear_gradients_fused(node, dx, g) : adzi_status(NULL);
}

/* Checks shapes and dtypes, and names both operands in the message. `op` is the operator that
 * contains the affine map: linear or linear_relu. Nothing is promoted: the three inputs must have
 * one dtype, except that an f32 x takes a weight in half precision or in blocks of Q8_0. */
static bool check(
    const char *op, const adz_tensor *x, const adz_tensor *weight, const adz_tensor *bias)
{
    const bool blocks = adzi_is_q8_0(weight) && weight->rank == 3;
    const int64_t in = weight->rank > 1 ? weight->sizes[1] * (blocks ? ADZI_Q8_0_VALUES : 1) : 0;
    if ((weight->rank != 2 && !blocks) || x->rank < 1 || x->sizes[x->rank - 1] != in) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "x%s and weight%s do not fit: weight is %s and x's last size is in", adzi_text_shape(x),
            adzi_text_shape(weight),
            weight->dtype == ADZ_U8 ? "blocks of Q8_0 [out, in / 32, 34]" : "[out, in]");
        return false;
    }
    if (!adzi_is_none(bias) && (bias->rank != 1 || bias->sizes[0] != weight->sizes[0])) {
        adzi_error(op, ADZ_ERR_SHAPE, "bias%s does not fit weight%s: it has one element per row",
            adzi_text_shape(bias), adzi_text_shape(weight));
        return false;
    }
    const bool stored = x->dtype == ADZ_F32 && (blocks || adzi_is_half((adz_dtype)weight->dtype));
    if ((x->dtype != weight->dtype && !stored) ||
        (!adzi_is_none(bias) && bias->dtype != x->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, weight %s%s%s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)weight->dtype),
            adzi_is_none(bias) ? "" : ", bias ",
            adzi_is_none(bias) ? "" : adz_dtype_name((adz_dtype)bias->dtype));
        return false;
    }
    return true;
}

/* Exported files have products of one dtype only, so a trace sees the conversion of blocks. */
static bool take_blocks(adzi_call *call)
{
    if (call->thread->tracer != NULL) {
        call->in[WEIGHT] = adz_dequantize_q8_0(call->in[WEIGHT]);
    }
    return call->in[WEIGHT] != NULL;
}

bool adzi_linear_check(adzi_call *call)
{
    const adz_tensor *weight = call->in[WEIGHT];
    return adzi_want_float(call, X) && check(call->op->name, call->in[X], weight, call->in[BIAS]) &&
           (!adzi_is_half((adz_dtype)weight->dtype) || adzi_take_half(call, WEIGHT)) &&
           (!adzi_is_q8_0(weight) || take_blocks(call));
}

adz_status adzi_linear_shape(adz_result *y, const char *op, adz_tensor *const *in)
{
    int64_t numel;
    y->shape.sizes[y->shape.rank - 1] = in[WEIGHT]->sizes[0];
    return adzi_check_sizes(op, y->shape.rank, y->shape.sizes, y->dtype, &numel);
}

/* Saves only what a gradient that is wanted will read. dx reads the weight, dw reads x. */
void adzi_linear_save(adzi_call *call)
{
    if (!call->record) {
        return;
    }
    /* A network's first layer has an x without gradient, so it does not save the weight. */
    if (adzi_requires_grad(call->in[X])) {
        adzi_node_save_input(call->node, WEIGHT, call->in[WEIGHT]);
    }
    /* A frozen weight does not keep x alive. */
    if (adzi_requires_grad(call->in[WEIGHT])) {
        adzi_node_save_factor(call->node, X, call->in[X], call->in[WEIGHT]->sizes[0]);
    }
}

/* ---- linear -------------------------------------------------------------------------------- */

static bool check_inputs(adzi_call *call, void *block)
{
    (void)block;
    return adzi_linear_check(call);
}

static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    (void)block;
    return adzi_linear_shape(y, "linear", in);
}

/* A weight that the product cannot read where it is becomes a copy, whose memory may be refused. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *weight)
{
    (void)y;
    return adzi_linear_matrix(call->op->name, in[WEIGHT], weight) != NULL;
}

static void save(adzi_call *call, adz_tensor *const *y, const void *weight)
{
    (void)y;
    (void)weight;
    adzi_linear_save(call);
}

/* One product over all N rows computes y, bias included, whatever the rank of x is. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *weight)
{
    const adzi_gemm_args product = adzi_linear_product(y[0], in, weight);
    adzi_gemm_run(&product);
}

/* There are no attributes: everything the backward needs follows from shapes and saved values. */
const adzi_op adzi_op_linear = { .name = "linear",
    .backward = backward,
    .fused = fused,
    .shape_rule = shape_rule,
    .optional_inputs = ADZI_OPTIONAL(BIAS),
    .strided_inputs = 1u << WEIGHT };

adz_tensor *adz_linear(adz_tensor *x, adz_tensor *weight, adz_tensor *bias)
{
    static const adzi_steps steps = {
        .check = check_inputs, .prepare = prepare, .save = save, .launch = launch
    };
    adzi_matrix matrix;
    return ADZI_RUN_STEPS(&adzi_op_linear, steps, &matrix, x, weight, bias);
}
