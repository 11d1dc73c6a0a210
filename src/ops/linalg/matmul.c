#include "ops/linalg/matmul.h"

#include "ops/op.h"

/* Matrix products with broadcast leading dimensions, torch.matmul.
 *
 *     y       = op(a) op(b),   op transposes if its flag is set
 *     d op(a) = dy op(b)^T
 *     d op(b) = op(a)^T dy
 *
 * a[..., m, k], b[..., k, n], y[..., m, n]; leading dimensions broadcast. Operands may be views:
 * the product reads transposed and strided matrices where they are, and copies others. The node
 * saves b if a wants a gradient, and a if b wants one. Integers have products, too; bool has
 * none.
 *
 * This file describes products. tensor/gemm computes them, and its gemm.h says in which loop. */

/* The attributes. adz_matmul sets neither flag. The gradients set them, so that they read dy, a and
 * b where they are. */
typedef struct {
    bool ta, tb; /* whether a and b are transposed before they are multiplied */
} matmul_attr;

/* The gradients are products as well, so the expression is fast enough and there is no fused
 * backward. The gradient of a transposed operand is computed as the transpose of the formula, so it
 * needs no copy: da = (dy op(b)^T)^T = op(b) dy^T. The engine sums over leading dimensions that
 * were broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    /* Both gradients are differentiable again, as products. */
    const matmul_attr *at = adzi_attr(node, matmul_attr);
    if (adzi_needs(node, 0)) {
        /* da = dy op(b)^T, or op(b) dy^T if a was transposed. */
        adz_tensor *b = adzi_saved_input(node, 1);
        dx[0] =
            at->ta ? adzi_matmul(b, at->tb, dy[0], true) : adzi_matmul(dy[0], false, b, !at->tb);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        /* db = op(a)^T dy, or dy^T op(a) if b was transposed. */
        adz_tensor *a = adzi_saved_input(node, 0);
        dx[1] =
            at->tb ? adzi_matmul(dy[0], true, a, at->ta) : adzi_matmul(a, !at->ta, dy[0], false);
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

static const adz_field fields[] = { ADZI_FIELD_NAMED(matmul_attr, ta, "transpose_a"),
    ADZI_FIELD_NAMED(matmul_attr, tb, "transpose_b") };

const adzi_op adzi_op_matmul = { .name = "matmul", .backward = backward, ADZI_FIELDS(fields) };

/* A product reads a matrix whose rows, or whose columns, are contiguous and at least one row or
 * column apart. A matrix of one row or column fits any stride, and gets the smallest leading
 * dimension. Row-major is tested first, so a matrix that fits both ways counts as not transposed.
 * An expanded matrix has stride 0 and needs a copy. Leading dimensions of the tensor are not looked
 * at: they become strides of the batch. */
bool adzi_as_matrix(const adz_tensor *t, adzi_matrix *matrix)
{
    int64_t rows = t->sizes[t->rank - 2], columns = t->sizes[t->rank - 1];
    int64_t down = t->strides[t->rank - 2], right = t->strides[t->rank - 1];
    matrix->data = t->data;
    matrix->stored = adzi_is_half((adz_dtype)t->dtype) ? t->dtype : 0;
    /* Row-major: elements of a row are neighbours. */
    if ((right == 1 || columns <= 1) && (down >= columns || rows <= 1)) {
        matrix->transposed = false;
        matrix->ld = rows <= 1 || down < columns ? (columns > 0 ? columns : 1) : down;
        return true;
    }
    /* Column-major, such as the view of a transposed matrix. */
    if ((down == 1 || rows <= 1) && (right >= rows || columns <= 1)) {
        matrix->transposed = true;
        matrix->ld = columns <= 1 || right < rows ? (rows > 0 ? rows : 1) : right;
        return true;
    }
    return false;
}

/* Copies only what BLAS cannot read, such as every second column. The copy is contiguous and holds
 * the leading dimensions too, so that one copy serves all products of a batch. */
adz_tensor *adzi_matrix_of(const char *op, adz_tensor *t, adzi_matrix *matrix)
{
    if (t == NULL || adzi_as_matrix(t, matrix)) {
        return t;
    }
    adz_tensor *copy = adzi_compact(op, t);
    if (copy != NULL) {
        /* A contiguous copy is always readable. */
        adzi_as_matrix(copy, matrix);
    }
    return copy;
}

enum { HALF = 2 }; /* bytes of an element in half precision */

/* The leading dimensions of a product: their sizes, and the strides of a and b. A stride of 0
 * repeats a matrix. */
typedef struct {
    int rank;
    int64_t sizes[ADZ_MAX_RANK], a[ADZ_MAX_RANK], b[ADZ_MAX_RANK];
} batch;

/* Strides of an operand along the leading dimensions of the result; 0 where it is broadcast. A
 * broadcast matrix is read again for each product, so it takes no memory for its repetitions. */
static void batch_strides(const adz_tensor *t, const batch *of, int64_t *strides)
{
    /* Missing leading dimensions are in front, as everywhere in broadcasting. */
    int missing = of->rank - (t->rank - 2);
    for (int i = 0; i < of->rank; ++i) {
        bool repeated = i < missing || t->sizes[i - missing] == 1;
        strides[i] = repeated ? 0 : t->strides[i - missing];
    }
}

/* Merges neighbouring dimensions that both operands walk with one stride, and removes those of size
 * 1. Contiguous operands such as [B, H, T, D] end with a single batch dimension, and so with one
 * call of the product. y needs no stride here: it is contiguous, so its dimensions always merge. */
static void coalesce(batch *of)
{
    int last = -1;
    for (int i = 0; i < of->rank; ++i) {
        if (of->sizes[i] == 1) {
            continue;
        }
        /* Two dimensions merge if stepping over the inner one ends where the outer one steps. */
        bool merge = last >= 0 && of->a[last] == of->a[i] * of->sizes[i] &&
                     of->b[last] == of->b[i] * of->sizes[i];
        int64_t size = merge ? of->sizes[last] * of->sizes[i] : of->sizes[i];
        last += merge ? 0 : 1;
        of->sizes[last] = size;
        of->a[last] = of->a[i];
        of->b[last] = of->b[i];
    }
    of->rank = last + 1;
}

/* Elements from one item of an operand, which has these strides, to the next one along dimension d
 * of the outer dimensions 0 .. n_outer - 1. Those behind it, which are at their ends, go back. */
static int64_t step_of(const batch *of, const int64_t *strides, int d, int n_outer)
{
    int64_t step = strides[d];
    for (int i = d + 1; i < n_outer; ++i) {
        step -= strides[i] * (of->sizes[i] - 1);
    }
    return step;
}

/* Steps to the next item of the outer batch dimensions 0 .. n_outer-1, the last of them fastest,
 * and moves both operands there. Returns false after the last item, also if there are no outer
 * dimensions. */
static bool next_item(const batch *of, int n_outer, int64_t *index, adzi_gemm_args *args)
{
    const int64_t item = (int64_t)adz_dtype_size(args->dtype);
    for (int d = n_outer - 1; d >= 0; --d) {
        if (++index[d] < of->sizes[d]) {
            const int64_t a = step_of(of, of->a, d, n_outer), b = step_of(of, of->b, d, n_outer);
            args->a = (const char *)args->a + a * (args->a_stored != 0 ? HALF : item);
            args->b = (const char *)args->b + b * (args->b_stored != 0 ? HALF : item);
            return true;
        }
        index[d] = 0; /* this dimension is done: step the one before it */
    }
    return false;
}

/* Computes all products. A batched product takes one stride per operand, so the innermost leading
 * dimension becomes the batch of one call, and the loop walks the outer ones. y is contiguous, so
 * its matrices follow each other. */
static void multiply_batches(
    adz_tensor *y, const adzi_matrix *a, const adzi_matrix *b, batch *of, int64_t k)
{
    int64_t m = y->sizes[y->rank - 2], n = y->sizes[y->rank - 1], item = (int64_t)adzi_item_size(y);
    if (y->numel == 0) {
        return;
    }
    adzi_gemm_args args = { .dtype = (adz_dtype)y->dtype,
        .ta = a->transposed,
        .tb = b->transposed,
        .a_stored = a->stored,
        .b_stored = b->stored,
        .m = m,
        .n = n,
        .k = k,
        .alpha = 1,
        .a = a->data,
        .lda = a->ld,
        .b = b->data,
        .ldb = b->ld,
        .c = y->data,
        .ldc = n,
        .batch = 1,
        .stride_c = m * n };
    coalesce(of);
    const int inner = of->rank - 1;
    if (inner >= 0) {
        args.batch = of->sizes[inner];
        args.stride_a = of->a[inner];
        args.stride_b = of->b[inner];
    }
    int64_t index[ADZ_MAX_RANK] = { 0 };
    do {
        adzi_gemm_run(&args);
        args.c = (char *)args.c + args.batch * m * n * item;
    } while (next_item(of, inner, index, &args));
}

/* Checks the inner sizes and broadcasts the leading ones by NumPy's rules. Fills the sizes of the
 * batch and k. The message shows a flag that is set as ^T. */
static bool shape_of_product(
    const adz_tensor *a, bool ta, const adz_tensor *b, bool tb, batch *of, int64_t *k)
{
    /* The dimension that is summed: the last one of op(a), the last but one of op(b). */
    int64_t inner_a = a->sizes[a->rank - (ta ? 2 : 1)], inner_b = b->sizes[b->rank - (tb ? 1 : 2)];
    if (inner_a != inner_b) {
        adzi_error("matmul", ADZ_ERR_SHAPE, "inner sizes differ: a%s%s and b%s%s (%lld and %lld)",
            adzi_text_shape(a), ta ? "^T" : "", adzi_text_shape(b), tb ? "^T" : "",
            (long long)inner_a, (long long)inner_b);
        return false;
    }
    *k = inner_a;
    /* Leading dimensions are aligned at their last one. */
    int ra = a->rank - 2, rb = b->rank - 2;
    of->rank = ra > rb ? ra : rb;
    for (int i = 0; i < of->rank; ++i) {
        int ia = i - (of->rank - ra), ib = i - (of->rank - rb);
        int64_t na = ia < 0 ? 1 : a->sizes[ia], nb = ib < 0 ? 1 : b->sizes[ib];
        if (na != nb && na != 1 && nb != 1) {
            adzi_error("matmul", ADZ_ERR_SHAPE, "leading sizes do not broadcast: a%s and b%s",
                adzi_text_shape(a), adzi_text_shape(b));
            return false;
        }
        of->sizes[i] = na == 1 ? nb : na;
    }
    return true;
}

/* The sizes of op(a) op(b), and their number. */
static int sizes_of_product(
    const adz_tensor *a, bool ta, const adz_tensor *b, bool tb, const batch *of, int64_t *sizes)
{
    for (int i = 0; i < of->rank; ++i) {
        sizes[i] = of->sizes[i];
    }
    sizes[of->rank] = a->sizes[a->rank - (ta ? 1 : 2)];
    sizes[of->rank + 1] = b->sizes[b->rank - (tb ? 2 : 1)];
    return of->rank + 2;
}

bool adzi_take_half(adzi_call *call, int i)
{
    return call->thread->tracer == NULL || adzi_convert(call, i, ADZ_F32);
}

/* Promotes the operands to one dtype, by conversions that the tape records. An operand in half
 * precision stays as it is if the other one is f32. */
static bool promote(adzi_call *call)
{
    const int half = adzi_is_half((adz_dtype)call->in[0]->dtype) ? 0 : 1;
    if (call->in[1 - half]->dtype == ADZ_F32 && adzi_is_half((adz_dtype)call->in[half]->dtype)) {
        return adzi_take_half(call, half);
    }
    return adzi_promote(call, 0, 1);
}

/* An operand as the product reads it. It is transposed if its flag or its storage says so, but not
 * if both do. An empty one is not described. */
static adz_tensor *operand_of(adz_tensor *t, bool transposed, adzi_matrix *m)
{
    m->transposed = false;
    adz_tensor *read = adzi_matrix_of("matmul", t, m);
    m->transposed = read != NULL && transposed != m->transposed;
    return read;
}

/* Computes y = op(a) op(b) for ranks of 2 and more. Ranks of 1 are handled by adz_matmul. The
 * result gets its shape from both operands: leading dimensions, rows of op(a), columns of op(b).
 * The call is written out: the form would take a kilobyte of the stack more, and its depth tells
 * which calls were left by a jump (Note [Calls that are left by a jump]). */
adz_tensor *adzi_matmul(adz_tensor *a, bool ta, adz_tensor *b, bool tb)
{
    adzi_call call;
    if (!ADZI_ENTER(&call, matmul, a, b) || !promote(&call)) {
        return NULL;
    }
    if (call.in[0]->dtype == ADZ_BOOL) {
        return adzi_fail(
            "matmul", ADZ_ERR_DTYPE, "bool has no matrix product; convert with adz_to");
    }
    batch of;
    int64_t k, sizes[ADZ_MAX_RANK], numel;
    if (!shape_of_product(call.in[0], ta, call.in[1], tb, &of, &k)) {
        return NULL;
    }
    const int rank = sizes_of_product(call.in[0], ta, call.in[1], tb, &of, sizes);
    /* The dtype of an operand that is not in half precision. */
    const int whole = adzi_is_half((adz_dtype)call.in[0]->dtype) ? 1 : 0;
    adz_dtype dtype = (adz_dtype)call.in[whole]->dtype;
    adzi_matrix ma, mb;
    if (adzi_check_sizes("matmul", rank, sizes, dtype, &numel) != ADZ_OK) {
        return NULL;
    }
    /* Copies, if any, are made before the recording, because they can fail. */
    adz_tensor *ra = operand_of(call.in[0], ta, &ma);
    adz_tensor *rb = ra != NULL ? operand_of(call.in[1], tb, &mb) : NULL;
    if (rb == NULL) {
        return NULL;
    }
    adz_tensor *y = adzi_new(&call, dtype, rank, sizes);
    matmul_attr attr = { ta, tb };
    if (y == NULL || !adzi_record(&call, 1, &y, &attr, sizeof attr)) {
        return NULL;
    }
    /* The gradient of one operand reads the other one. The operand itself is saved and not its
     * contiguous copy, so that a second derivative reaches it. */
    for (int i = 0; i < 2; ++i) {
        if (adzi_wants(&call, i)) {
            adzi_node_save_factor(call.node, 1 - i, call.in[1 - i], y->sizes[rank - 2 + i]);
        }
    }
    if (call.in[0]->is_zero || call.in[1]->is_zero) {
        adzi_fill_zeros(y);
        return adzi_leave(&call, y);
    }
    batch_strides(ra, &of, of.a);
    batch_strides(rb, &of, of.b);
    multiply_batches(y, &ma, &mb, &of, k);
    return adzi_leave(&call, y);
}

/* ---- PyTorch's rules on ranks ---------------------------------------------------------------- */

/* a[..., m, k] times a single matrix is one product of a[N, k], which is larger and so takes less
 * time per row. Empty operands and wrong sizes go to adzi_matmul, which handles and reports
 * them. */
static adz_tensor *rows_times_matrix(adz_tensor *a, adz_tensor *b)
{
    int64_t sizes[ADZ_MAX_RANK];
    for (int i = 0; i < a->rank - 1; ++i) {
        sizes[i] = a->sizes[i];
    }
    int64_t k = a->sizes[a->rank - 1];
    /* The number of rows is numel / k, which is undefined for k = 0. */
    if (k != b->sizes[0] || a->numel == 0) {
        return adzi_matmul(a, false, b, false);
    }
    sizes[a->rank - 1] = b->sizes[1];
    /* The reshapes are recorded. They are views where a and y are contiguous. */
    adz_tensor *rows = adz_reshape(a, ADZ_SHAPE(a->numel / k, k));
    return adz_reshape(adzi_matmul(rows, false, b, false), adz_shape_of(a->rank, sizes));
}

/* Removes a dimension of size 1 that stood in for a vector. */
static adz_tensor *without_dim(adz_tensor *t, int dim)
{
    if (t == NULL) {
        return NULL;
    }
    int64_t sizes[ADZ_MAX_RANK];
    int rank = 0;
    for (int i = 0; i < t->rank; ++i) {
        if (i != dim) {
            sizes[rank++] = t->sizes[i];
        }
    }
    return adz_reshape(t, adz_shape_of(rank, sizes));
}

/* A vector on the left counts as a row, one on the right as a column. The dimension that was added
 * is removed from the result. */
adz_tensor *adz_matmul(adz_tensor *a, adz_tensor *b)
{
    if (!adzi_check_tensor("matmul", "a", a) || !adzi_check_tensor("matmul", "b", b)) {
        return NULL;
    }
    if (a->rank == 0 || b->rank == 0) {
        return adzi_fail("matmul", ADZ_ERR_SHAPE,
            "both operands need a dimension: a%s and b%s; multiply by a scalar with adz_mul",
            adzi_text_shape(a), adzi_text_shape(b));
    }
    /* The sizes of vectors are checked here, so that messages show the shapes of the caller. */
    bool row = a->rank == 1, column = b->rank == 1;
    if (row && a->sizes[0] != b->sizes[column ? 0 : b->rank - 2]) {
        return adzi_fail("matmul", ADZ_ERR_SHAPE, "inner sizes differ: a%s and b%s",
            adzi_text_shape(a), adzi_text_shape(b));
    }
    /* A vector a[k] becomes [1, k], a vector b[k] becomes [k, 1]. */
    adz_tensor *am = row ? adz_reshape(a, ADZ_SHAPE(1, a->sizes[0])) : a;
    adz_tensor *bm = column ? adz_reshape(b, ADZ_SHAPE(b->sizes[0], 1)) : b;
    if (am == NULL || bm == NULL) {
        return NULL;
    }
    adz_tensor *y = am->rank > 2 && bm->rank == 2 ? rows_times_matrix(am, bm)
                                                  : adzi_matmul(am, false, bm, false);
    if (column) {
        y = without_dim(y, y != NULL ? y->rank - 1 : 0);
    }
    if (row) {
        y = without_dim(y, y != NULL ? y->rank - (column ? 1 : 2) : 0);
    }
    return y;
}
