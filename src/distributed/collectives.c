/* The public collectives: their checks, the agreement, and the memory that they need. */
#include <string.h>

#include "distributed/agreement.h"
#include "distributed/join.h"
#include "base/alloc.h"
#include "tensor/tensor.h"

/* ---- a collective over a tensor ------------------------------------------------------------- */

/* The elements of the tensor in a row, and memory for the reduction. All of it is taken before the
 * ranks agree: Note [Agreement]. */
typedef struct {
    const char *op;
    adz_group *group;
    adz_tensor *tensor, *result; /* result: a new tensor with one reference, or NULL */
    char *data;                  /* contiguous elements: the tensor's own, or `packed` */
    char *packed;
    size_t bytes; /* of data */
    adzi_reduction reduction;
} collective;

static void end(collective *c)
{
    adzi_free(c->packed, c->bytes);
    adzi_free(c->reduction.parts, c->reduction.bytes);
}

/* Whether the elements may be written: the rules of in-place changes. */
static bool may_write(const char *op, const adz_tensor *t)
{
    if (adzi_self()->grad_enabled && adzi_requires_grad(t)) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "tensor%s takes part in a graph; call inside ADZ_NO_GRAD, which is no part of it",
            adzi_text_shape(t));
        return false;
    }
    if (!adzi_is_dense(t)) {
        adzi_error(op, ADZ_ERR_INPLACE,
            "tensor%s was expanded: several elements lie at one address", adzi_text_shape(t));
        return false;
    }
    return true;
}

static bool may_reduce(const char *op, const adz_tensor *t, adz_group_op how)
{
    if ((unsigned)how > ADZ_GROUP_MAX) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "op is %d; it must be ADZ_GROUP_SUM, ADZ_GROUP_MEAN or ADZ_GROUP_MAX", (int)how);
        return false;
    }
    const adz_dtype dtype = (adz_dtype)t->dtype;
    if (dtype == ADZ_F16 || dtype == ADZ_BF16) {
        adzi_error(op, ADZ_ERR_DTYPE,
            "tensor is %s, which is for storage only; convert it (adz_to)", adz_dtype_name(dtype));
        return false;
    }
    if (how == ADZ_GROUP_MEAN && !adzi_is_float(dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE,
            "tensor is %s, of which there is no mean; take ADZ_GROUP_SUM or convert it (adz_to)",
            adz_dtype_name(dtype));
        return false;
    }
    return true;
}

/* Takes the memory: elements in a row if they are not, and the reduction's. */
static bool prepare(collective *c, bool reduces)
{
    const adz_tensor *t = c->tensor;
    c->bytes = (size_t)t->numel * adzi_item_size(t);
    if (adzi_is_contiguous(t)) {
        c->data = t->data;
    } else {
        c->packed = c->data = adzi_alloc(c->bytes);
        if (c->packed == NULL) {
            adzi_fail_memory(c->op, c->bytes);
            return false;
        }
        adz_tensor_read(t, c->packed, c->bytes);
    }
    adzi_reduction *r = &c->reduction;
    r->name = c->op;
    r->group = c->group;
    r->dtype = (adz_dtype)t->dtype;
    const size_t bytes = reduces ? adzi_reduction_bytes(c->group) : 0;
    if (bytes > 0) {
        r->parts = adzi_alloc(bytes);
        r->bytes = r->parts != NULL ? bytes : 0;
    }
    if (bytes > 0 && r->parts == NULL) {
        adzi_fail_memory(c->op, bytes);
        return false;
    }
    return true;
}

/* The new tensor of a collective that has one; the scope has room for it. */
static bool make_result(collective *c, int rank, const int64_t *sizes)
{
    adzi_thread *thread = adzi_self();
    int64_t numel;
    const adz_dtype dtype = (adz_dtype)c->tensor->dtype;
    if (adzi_check_sizes(c->op, rank, sizes, dtype, &numel) != ADZ_OK) {
        return false;
    }
    if (!adzi_scope_reserve(thread, 1)) {
        adzi_fail_memory(c->op, sizeof(adz_tensor *));
        return false;
    }
    c->result = adzi_tensor_new(thread, c->op, dtype, rank, sizes);
    return c->result != NULL;
}

/* The result if all went well. It goes to the scope; after a failure it ends. */
static adz_tensor *give(collective *c, adz_status status)
{
    end(c);
    if (status == ADZ_OK) {
        return adzi_borrow(adzi_self(), c->result);
    }
    adzi_drop(c->result);
    return NULL;
}

/* Begins a collective. False if no agreement is possible; the error is recorded then. */
static bool begin(collective *c, const char *op, adz_group *group, adz_tensor *tensor)
{
    *c = (collective){ .op = op, .group = group, .tensor = tensor };
    if (group == NULL) {
        adzi_error_null(op, "group");
        return false;
    }
    /* The other ranks get this rank's error, and do not wait. */
    adzi_is_captured(op, "a replay would send without the other ranks");
    return adzi_may_agree(op, group);
}

/* Whether this rank can take part as far as its tensor goes. */
static bool has_tensor(const collective *c)
{
    return adzi_pending() == ADZ_OK && adzi_check_tensor(c->op, "tensor", c->tensor);
}

/* ---- in place ------------------------------------------------------------------------------- */

/* Puts the elements back where they belong. */
static adz_status store(collective *c, adz_status status)
{
    if (status == ADZ_OK && c->packed != NULL) {
        status = adz_tensor_write(c->tensor, c->packed, c->bytes);
    }
    if (status == ADZ_OK) {
        adzi_written(c->tensor, c->op);
    }
    end(c);
    return status;
}

adz_status adz_group_broadcast(adz_group *group, adz_tensor *tensor, int source)
{
    static const char op[] = "adz_group_broadcast";
    collective c;
    if (!begin(&c, op, group, tensor)) {
        return adzi_pending();
    }
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_BROADCAST, .choice = source };
    if (has_tensor(&c)) {
        adzi_group_call_of_tensor(&call, tensor);
        if (source < 0 || source >= group->size) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "source is %d; the group's ranks are 0 to %d", source,
                group->size - 1);
        } else if (may_write(op, tensor)) {
            prepare(&c, false);
        }
    }
    adz_status status = adzi_agree(op, group, &call);
    if (status == ADZ_OK && group->size > 1) {
        status =
            adzi_send_down(op, group, &(adzi_broadcast){ source, ADZI_TAG_DATA, c.data, c.bytes });
    }
    return store(&c, status);
}

adz_status adz_group_all_reduce(adz_group *group, adz_tensor *tensor, adz_group_op how)
{
    static const char op[] = "adz_group_all_reduce";
    collective c;
    if (!begin(&c, op, group, tensor)) {
        return adzi_pending();
    }
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_ALL_REDUCE, .choice = (int32_t)how };
    if (has_tensor(&c)) {
        adzi_group_call_of_tensor(&call, tensor);
        if (may_reduce(op, tensor, how) && may_write(op, tensor)) {
            prepare(&c, true);
        }
    }
    adz_status status = adzi_agree(op, group, &call);
    if (status == ADZ_OK) {
        c.reduction.op = how;
        status = adzi_reduce_all(&c.reduction, c.data, tensor->numel);
    }
    return store(&c, status);
}

/* ---- with a result -------------------------------------------------------------------------- */

/* Sends this rank's elements to all ranks and receives theirs. */
static adz_status gather(const collective *c)
{
    const int n = c->group->size, me = c->group->rank;
    char *all = c->result->data;
    adz_status status = ADZ_OK;
    if (c->bytes > 0) {
        memcpy(all + c->bytes * (size_t)me, c->data, c->bytes);
    }
    for (int i = 1; i < n && status == ADZ_OK; ++i) {
        const int from = (me - i + n) % n;
        const adzi_transfer t = { .to = (me + i) % n,
            .send = c->data,
            .send_bytes = c->bytes,
            .from = from,
            .receive = all + c->bytes * (size_t)from,
            .receive_bytes = c->bytes,
            .tag = ADZI_TAG_DATA };
        status = adzi_transfer_bytes(c->op, c->group, &t);
    }
    return status;
}

adz_tensor *adz_group_all_gather(adz_group *group, adz_tensor *tensor)
{
    static const char op[] = "adz_group_all_gather";
    collective c;
    if (!begin(&c, op, group, tensor)) {
        return NULL;
    }
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_ALL_GATHER };
    if (has_tensor(&c)) {
        int64_t sizes[ADZ_MAX_RANK + 1] = { group->size };
        adzi_group_call_of_tensor(&call, tensor);
        memcpy(sizes + 1, tensor->sizes, (size_t)tensor->rank * sizeof *sizes);
        if (tensor->rank == ADZ_MAX_RANK) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "tensor%s has %d dimensions, the most there are; the result would have one more",
                adzi_text_shape(tensor), ADZ_MAX_RANK);
        } else if (make_result(&c, tensor->rank + 1, sizes)) {
            prepare(&c, false);
        }
    }
    adz_status status = adzi_agree(op, group, &call);
    return give(&c, status == ADZ_OK ? gather(&c) : status);
}

adz_tensor *adz_group_reduce_scatter(adz_group *group, adz_tensor *tensor, adz_group_op how)
{
    static const char op[] = "adz_group_reduce_scatter";
    collective c;
    if (!begin(&c, op, group, tensor)) {
        return NULL;
    }
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_REDUCE_SCATTER, .choice = (int32_t)how };
    if (has_tensor(&c)) {
        adzi_group_call_of_tensor(&call, tensor);
        if (tensor->rank == 0 || tensor->sizes[0] != group->size) {
            adzi_error(op, ADZ_ERR_SHAPE,
                "tensor%s has no slice for each rank: its first size must be %d, the group's",
                adzi_text_shape(tensor), group->size);
        } else if (may_reduce(op, tensor, how) &&
                   make_result(&c, tensor->rank - 1, tensor->sizes + 1)) {
            prepare(&c, true);
        }
    }
    adz_status status = adzi_agree(op, group, &call);
    if (status == ADZ_OK) {
        c.reduction.op = how;
        status = adzi_reduce_rows(&c.reduction, c.data, c.result->data, c.result->numel);
    }
    return give(&c, status);
}

/* ---- without a tensor ----------------------------------------------------------------------- */

adz_status adz_group_barrier(adz_group *group)
{
    collective c;
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_BARRIER };
    static const char op[] = "adz_group_barrier";
    return begin(&c, op, group, NULL) ? adzi_agree(op, group, &call) : adzi_pending();
}

static void put_text(char *to, const char *from)
{
    const size_t length = strlen(from);
    memcpy(to, from, length < ADZI_GROUP_CALL_TEXT ? length : ADZI_GROUP_CALL_TEXT - 1);
}

adz_status adz_group_agree(adz_group *group, const char *what, const char *value)
{
    static const char op[] = "adz_group_agree";
    collective c;
    if (!begin(&c, op, group, NULL)) {
        return adzi_pending();
    }
    adzi_group_call call = { .operation = ADZI_GROUP_CALL_AGREE };
    if (adzi_pending() == ADZ_OK && (what == NULL || value == NULL)) {
        adzi_error_null(op, what == NULL ? "what" : "value");
    } else if (adzi_pending() == ADZ_OK) {
        put_text(call.what, what);
        put_text(call.text, value);
        adzi_group_call_add(&call, value, strlen(value));
    }
    return adzi_agree(op, group, &call);
}
