#include "ops/order/topk.kernel.h"

#include "ops/op.h"
#include "ops/order/sort.kernel.h"
#include "base/alloc.h"

/* The k largest or smallest elements along one dimension, torch.topk.
 *
 *     y[j]         = the j-th largest x[i] (or smallest),   indices[j] = its i
 *     dx[indices[j]] = dy[j], else 0
 *
 * x[outer, S, inner] has any shape, y and indices are [outer, k, inner]. Results are always sorted;
 * `sorted` exists for PyTorch's signature. The node saves the indices and not x: the gradient needs
 * the shape of x only. */

KERNEL_TABLE_ALL(topk);
KERNEL_TABLE_ALL(sort_slices);

enum { SORT_GRAIN = 8192 }; /* elements to sort that are worth a thread */

/* The attributes of a node. The backward reads `dim` only. */
typedef struct {
    int64_t k;    /* results per slice */
    int dim;      /* the dimension of the slices, 0 or more */
    bool largest; /* else the smallest elements are selected */
} topk_attr;

/* dx is 0 with dy at the indices of the values. No index occurs twice, so nothing is summed.
 * scatter_add is an operator, so the gradient can be differentiated again. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *zeros = adz_zeros(adzi_input_shape(node, 0), (adz_dtype)dy[0]->dtype);
    adz_tensor *found = adzi_saved_extra(node, 0);
    dx[0] = adz_scatter_add(zeros, adzi_attr(node, topk_attr)->dim, found, dy[0]);
    return adzi_status(dx[0]);
}

static const adz_field fields[] = { ADZI_FIELD(topk_attr, k), ADZI_FIELD(topk_attr, dim),
    ADZI_FIELD(topk_attr, largest) };

/* What a call gets: the attributes, which the node keeps, a launch, and the scratch memory of a
 * sort. Slices whose elements are all wanted are sorted, unless they are so short that a heap is
 * quicker. */
typedef struct {
    topk_attr at;
    adz_tensor *found; /* the indices */
    adzi_topk_args select;
    adzi_sort_args sort;
    size_t bytes; /* of sort.scratch; 0 if the slices are not sorted */
} job;

/* k may be 0, which gives empty results. */
static adz_status shape_rule(adz_result *y, adz_tensor *const *in, void *block)
{
    topk_attr *at = block;
    const adz_tensor *x = in[0];
    at->dim = adzi_dim("topk", x, at->dim);
    if (at->dim < 0) {
        return adzi_status(NULL);
    }
    const int64_t size = x->rank > 0 ? x->sizes[at->dim] : 1;
    if (at->k < 0 || at->k > size) {
        return adzi_error("topk", ADZ_ERR_ARGUMENT,
            "k is %lld, but dimension %d of x%s has %lld elements", (long long)at->k, at->dim,
            adzi_text_shape(x), (long long)size);
    }
    y->shape.sizes[at->dim] = at->k;
    return ADZ_OK;
}

/* Makes the indices, describes the call to the kernels and takes scratch memory. A scalar is one
 * slice of one element. */
static bool prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block)
{
    job *j = block;
    const adz_tensor *x = in[0];
    const int dim = j->at.dim;
    adz_tensor *found = adzi_new(call, ADZ_I64, y[0]->rank, y[0]->sizes);
    if (found == NULL) {
        return false;
    }
    /* The node keeps the indices, which are also the caller's second result. */
    y[1] = j->found = call->second = found;
    const int64_t n = x->rank > 0 ? x->sizes[dim] : 1, k = x->rank > 0 ? y[0]->sizes[dim] : 1;
    const int64_t inner = x->rank > 0 ? adzi_numel(x->rank - dim - 1, x->sizes + dim + 1) : 1;
    int64_t *const to = (int64_t *)(void *)found->data;
    j->select = (adzi_topk_args){ x->data, y[0]->data, to, n, k, inner, j->at.largest };
    if (k < n || n < ADZI_SORT_LEAST || n > UINT32_MAX || y[0]->numel == 0) {
        return true;
    }
    const int64_t slices = y[0]->numel / n, most = adzi_inside_launch() ? 1 : adzi_num_threads();
    int64_t workers = y[0]->numel / SORT_GRAIN < most ? y[0]->numel / SORT_GRAIN : most;
    workers = workers < 1 ? 1 : workers < slices ? workers : slices;
    const int64_t pair = adzi_sort_pair((int64_t)adz_dtype_size((adz_dtype)x->dtype));
    const size_t bytes = (size_t)(2 * n * workers * pair);
    char *const scratch = adzi_alloc_for_kernels(bytes);
    if (scratch == NULL) {
        adzi_fail_memory("topk", bytes);
        return false;
    }
    j->bytes = bytes;
    j->sort = (adzi_sort_args){ x->data, y[0]->data, to, n, inner, slices, workers, j->at.largest,
        scratch };
    return true;
}

/* Units of topk are slices, the S elements along `dim`. A slice costs several passes, so a thread
 * is worth fewer elements than in a pointwise kernel. */
static void launch(adz_tensor *const *y, adz_tensor *const *in, const void *block)
{
    const job *j = block;
    const adz_dtype dtype = (adz_dtype)y[0]->dtype;
    (void)in;
    if (j->bytes > 0) {
        adzi_launch(KERNEL_FOR(sort_slices, dtype), adzi_sort_args, &j->sort, j->sort.workers, 1);
    } else if (y[0]->numel > 0) {
        adzi_launch(KERNEL_FOR(topk, dtype), adzi_topk_args, &j->select, y[0]->numel / j->select.k,
            adzi_grain_of(ADZI_POINTWISE_GRAIN / 4, j->select.n));
    }
}

static void release(void *block)
{
    job *j = block;
    if (j->bytes > 0) {
        adzi_free(j->sort.scratch, j->bytes);
    }
}

const adzi_op adzi_op_topk = { .name = "topk",
    .backward = backward,
    ADZI_ATTRIBUTES(topk_attr, fields),
    .shape_rule = shape_rule,
    .dtypes = ADZI_DTYPES_COMPUTABLE };

/* `indices` may be NULL. */
adz_tensor *adz_topk(adz_tensor *x, int64_t k, int dim, bool largest, adz_tensor **indices)
{
    static const adzi_steps steps = {
        .prepare = prepare, .launch = launch, .release = release, .n_kept = 1
    };
    job j;
    j.at = (topk_attr){ k, dim, largest };
    j.bytes = 0;
    adz_tensor *y = ADZI_RUN_STEPS(&adzi_op_topk, steps, &j, x);
    if (indices != NULL) {
        *indices = y != NULL ? j.found : NULL;
    }
    return y;
}
