#include "autograd/op.h"
#include "autograd/ops/matmul.h"
#include "autograd/ops/sum.h"

/* dx = dy w,  dw = dy^T x,  db = sum of dy's rows; x and dy read as [N, D] and [N, H]. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    int last = dy[0]->rank - 1;
    int64_t h = dy[0]->sizes[last];
    int64_t n = 1;
    for (int i = 0; i < last; ++i) {
        n *= dy[0]->sizes[i];
    }
    adz_tensor *rows = adz_reshape(dy[0], ADZ_SHAPE(n, h));
    if (rows == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, 0)) {
        adz_tensor *weight = adzi_saved_input(node, 1);
        dx[0] = adz_reshape(adzi_matmul(rows, false, weight, false), adzi_input_shape(node, 0));
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        adz_tensor *x = adzi_saved_input(node, 0);
        adz_tensor *xs = x != NULL ? adz_reshape(x, ADZ_SHAPE(n, x->sizes[x->rank - 1])) : NULL;
        dx[1] = adzi_matmul(rows, true, xs, false);
        if (dx[1] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 2)) {
        dx[2] = adz_sum(rows, ADZ_DIMS(0), ADZ_DROPDIM);
        return adzi_status(dx[2]);
    }
    return ADZ_OK;
}

/* g w, where w[H, D] may be the transpose of a matrix that lies by rows, as GPT-2's weights do. */
static adz_tensor *gradient_of_x(adzi_node *node, const adz_tensor *g, int64_t n, int64_t h)
{
    adzi_matrix m;
    adz_tensor *w = adzi_lie_as_matrix("linear", adzi_saved_input(node, 1), &m);
    if (w == NULL) {
        return NULL;
    }
    adz_shape shape = adzi_input_shape(node, 0);
    adz_dtype dtype = (adz_dtype)g->dtype;
    adz_tensor *dx = adzi_scratch("linear", dtype, shape.rank, shape.sizes);
    int64_t d = w->sizes[1];
    if (dx != NULL) {
        adzi_gemm(dtype, false, m.transposed, n, d, h, 1, g->data, h, m.data, m.ld, 0, dx->data, d);
    }
    return dx;
}

/* g^T x, lying as the weight does where that is known. */
static adz_tensor *gradient_of_weight(adzi_node *node, const adz_tensor *g, int64_t n, int64_t h)
{
    adz_tensor *x = adzi_compact("linear", adzi_saved_input(node, 0));
    const adz_tensor *w = node->inputs[1].saved;
    if (x == NULL) {
        return NULL;
    }
    adz_dtype dtype = (adz_dtype)g->dtype;
    int64_t d = x->sizes[x->rank - 1];
    adzi_matrix m;
    if (w != NULL && adzi_as_matrix(w, &m) && m.transposed) {
        adz_tensor *turned = adzi_scratch("linear", dtype, 2, (int64_t[]){ d, h });
        if (turned != NULL) {
            adzi_gemm(dtype, true, false, d, h, n, 1, x->data, d, g->data, h, 0, turned->data, h);
        }
        return adz_transpose(turned, 0, 1);
    }
    adz_tensor *dw = adzi_scratch("linear", dtype, 2, (int64_t[]){ h, d });
    if (dw != NULL) {
        adzi_gemm(dtype, true, false, h, d, n, 1, g->data, h, x->data, d, 0, dw->data, d);
    }
    return dw;
}

/* The same products without views and nodes in between. */
static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *g = adzi_compact("linear", dy[0]);
    if (g == NULL) {
        return adzi_status(NULL);
    }
    int64_t h = g->sizes[g->rank - 1], n = 1;
    for (int i = 0; i < g->rank - 1; ++i) {
        n *= g->sizes[i];
    }
    if (adzi_needs(node, 0) && (dx[0] = gradient_of_x(node, g, n, h)) == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, 1) && (dx[1] = gradient_of_weight(node, g, n, h)) == NULL) {
        return adzi_status(NULL);
    }
    if (adzi_needs(node, 2)) {
        dx[2] = adzi_scratch("linear", (adz_dtype)g->dtype, 1, &h);
        if (dx[2] == NULL) {
            return adzi_status(NULL);
        }
        adzi_sum_rows(dx[2], g, n);
    }
    return ADZ_OK;
}

const adzi_op adzi_op_linear = { .name = "linear", .backward = backward, .fused = fused };

static bool check(const adz_tensor *x, const adz_tensor *weight, const adz_tensor *bias)
{
    if (weight->rank != 2 || x->rank < 1 || x->sizes[x->rank - 1] != weight->sizes[1]) {
        adzi_error("linear", ADZ_ERR_SHAPE,
            "x%s and weight%s do not fit: weight is [out, in] and x's last size is in",
            adzi_text_shape(x), adzi_text_shape(weight));
        return false;
    }
    if (!adzi_is_none(bias) && (bias->rank != 1 || bias->sizes[0] != weight->sizes[0])) {
        adzi_error("linear", ADZ_ERR_SHAPE,
            "bias%s does not fit weight%s: it has one element per row", adzi_text_shape(bias),
            adzi_text_shape(weight));
        return false;
    }
    if (x->dtype != weight->dtype || (!adzi_is_none(bias) && bias->dtype != weight->dtype)) {
        adzi_error("linear", ADZ_ERR_DTYPE, "x is %s, weight %s%s%s; convert one with adz_to",
            adz_dtype_name((adz_dtype)x->dtype), adz_dtype_name((adz_dtype)weight->dtype),
            adzi_is_none(bias) ? "" : ", bias ",
            adzi_is_none(bias) ? "" : adz_dtype_name((adz_dtype)bias->dtype));
        return false;
    }
    return true;
}

adz_tensor *adz_linear(adz_tensor *x, adz_tensor *weight, adz_tensor *bias)
{
    adzi_call call;
    if (!ADZI_ENTER_OPTIONAL(&call, linear, 1u << 2, x, weight, bias) ||
        !adzi_want_float(&call, 0) || !check(x, weight, bias)) {
        return NULL;
    }
    adz_tensor *xs = adzi_compact("linear", x), *bs = adzi_compact("linear", bias);
    adzi_matrix w;
    if (xs == NULL || bs == NULL || adzi_lie_as_matrix("linear", weight, &w) == NULL) {
        return NULL;
    }
    int64_t sizes[ADZ_MAX_RANK], n = 1, d = weight->sizes[1], h = weight->sizes[0], numel;
    for (int i = 0; i < x->rank - 1; ++i) {
        sizes[i] = x->sizes[i];
        n *= sizes[i];
    }
    sizes[x->rank - 1] = h;
    adz_dtype dtype = (adz_dtype)x->dtype;
    if (adzi_check_sizes("linear", x->rank, sizes, dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, dtype, x->rank, sizes);
    if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
        return NULL;
    }
    if (adzi_wants(&call, 0)) {
        adzi_save_input(&call, 1);
    }
    if (adzi_wants(&call, 1)) {
        adzi_save_input(&call, 0);
    }
    adzi_gemm_args args = { .dtype = dtype,
        .ta = false,
        .tb = !w.transposed,
        .m = n,
        .n = h,
        .k = d,
        .alpha = 1,
        .a = xs->data,
        .lda = d > 0 ? d : 1,
        .b = w.data,
        .ldb = w.ld,
        .beta = 0,
        .c = y->data,
        .ldc = h > 0 ? h : 1,
        .bias = adzi_is_none(bs) ? NULL : bs->data,
        .batch = 1,
        .stride_a = 0,
        .stride_b = 0,
        .stride_c = 0 };
    adzi_gemm_run(&args);
    return adzi_leave(&call, y);
}
