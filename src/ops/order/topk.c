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
KERNEL_TABLE_ALL(sort_lanes);

enum { SORT_GRAIN = 8192 }; /* elements to sort that are worth a thread */

/* The attributes of a node. The backward reads `dim` only. */
typedef struct {
    int64_t k;    /* results per lane */
    int dim;      /* the dimension of the lanes, 0 or more */
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

const adzi_op adzi_op_topk = { .name = "topk", .backward = backward, ADZI_FIELDS(fields) };

/* A launch, and the scratch memory of a sort. Lanes whose elements are all wanted are sorted,
 * unless they are so short that a heap is quicker. */
typedef struct {
    adzi_topk_args select;
    adzi_sort_args sort;
    size_t bytes; /* of sort.scratch; 0 if the lanes are not sorted */
} job;

/* Describes the call to the kernels and takes scratch memory. A scalar is one lane of one element.
 */
static bool prepare(
    job *j, adz_tensor *y, adz_tensor *found, const adz_tensor *x, int dim, bool largest)
{
    const int64_t n = x->rank > 0 ? x->sizes[dim] : 1, k = x->rank > 0 ? y->sizes[dim] : 1;
    const int64_t inner = x->rank > 0 ? adzi_numel(x->rank - dim - 1, x->sizes + dim + 1) : 1;
    int64_t *const to = (int64_t *)(void *)found->data;
    *j = (job){ .select = { x->data, y->data, to, n, k, inner, largest } };
    if (k < n || n < ADZI_SORT_LEAST || n > UINT32_MAX || y->numel == 0) {
        return true;
    }
    const int64_t lanes = y->numel / n, most = adzi_inside_launch() ? 1 : adzi_num_threads();
    int64_t workers = y->numel / SORT_GRAIN < most ? y->numel / SORT_GRAIN : most;
    workers = workers < 1 ? 1 : workers < lanes ? workers : lanes;
    const int64_t pair = adzi_sort_pair((int64_t)adz_dtype_size((adz_dtype)x->dtype));
    j->bytes = (size_t)(2 * n * workers * pair);
    char *const scratch = adzi_alloc_for_kernels(j->bytes);
    if (scratch == NULL) {
        adzi_fail_memory("topk", j->bytes);
        return false;
    }
    j->sort = (adzi_sort_args){ x->data, y->data, to, n, inner, lanes, workers, largest, scratch };
    return true;
}

/* Units of topk are lanes, the S elements along `dim`. A lane costs several passes, so a thread is
 * worth fewer elements than in a pointwise kernel. */
static void run(const job *j, const adz_tensor *y)
{
    const adz_dtype dtype = (adz_dtype)y->dtype;
    if (j->bytes > 0) {
        adzi_launch(KERNEL_FOR(sort_lanes, dtype), adzi_sort_args, &j->sort, j->sort.workers, 1);
    } else if (y->numel > 0) {
        adzi_launch(KERNEL_FOR(topk, dtype), adzi_topk_args, &j->select, y->numel / j->select.k,
            adzi_grain_of(ADZI_POINTWISE_GRAIN / 4, j->select.n));
    }
}

static void end(job *j)
{
    if (j->bytes > 0) {
        adzi_free(j->sort.scratch, j->bytes);
    }
}

/* Checks, makes both results, records and launches. `indices` may be NULL. */
adz_tensor *adz_topk(adz_tensor *x, int64_t k, int dim, bool largest, adz_tensor **indices)
{
    adzi_call call;
    job j;
    topk_attr attr = { .k = k, .largest = largest };
    if (indices != NULL) {
        *indices = NULL;
    }
    if (!ADZI_ENTER(&call, topk, x) || !adzi_want_computable(&call, 0) ||
        (attr.dim = adzi_dim("topk", x, dim)) < 0) {
        return NULL;
    }
    int64_t size = x->rank > 0 ? x->sizes[attr.dim] : 1, sizes[ADZ_MAX_RANK] = { 0 };
    /* k may be 0, which gives empty results. */
    if (k < 0 || k > size) {
        return adzi_fail("topk", ADZ_ERR_ARGUMENT,
            "k is %lld, but dimension %d of x%s has %lld elements", (long long)k, attr.dim,
            adzi_text_shape(x), (long long)size);
    }
    for (int i = 0; i < x->rank; ++i) {
        sizes[i] = i == attr.dim ? k : x->sizes[i];
    }
    adz_tensor *from = adzi_compact("topk", x);
    adz_tensor *found = from != NULL ? adzi_new(&call, ADZ_I64, x->rank, sizes) : NULL;
    adz_tensor *y = found != NULL ? adzi_new(&call, (adz_dtype)x->dtype, x->rank, sizes) : NULL;
    call.second = found;
    if (y == NULL || !prepare(&j, y, found, from, attr.dim, largest)) {
        return NULL;
    }
    if (!adzi_record_extra(&call, 1, &y, 1, &attr, sizeof attr)) {
        end(&j);
        return NULL;
    }
    /* The indices are saved as an extra value and are also the caller's second result. */
    adzi_save_extra(&call, 0, found);
    run(&j, y);
    end(&j);
    if (indices != NULL) {
        *indices = found;
    }
    return adzi_leave(&call, y);
}
