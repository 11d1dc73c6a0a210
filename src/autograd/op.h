/* What an operator's file is written with. See docs/design.md, "An operator's room".
 *
 *     adz_tensor *adz_tanh(adz_tensor *x)
 *     {
 *         adzi_call call;
 *         if (!ADZI_ENTER(&call, tanh, x) || !adzi_want_float(&call, 0)) {
 *             return NULL;
 *         }
 *         adz_tensor *y = adzi_new_like(&call, x);
 *         if (y == NULL || !adzi_record(&call, 1, &y, NULL, 0)) {
 *             return NULL;
 *         }
 *         adzi_save_result(&call, 0, y);
 *         adzi_pointwise(KERNEL_FOR(tanh, x->dtype), y, 1, call.in, NULL);
 *         return adzi_leave(&call, y);
 *     }
 *
 * Everything that can fail comes before adzi_record, and adzi_record before the kernel. New tensors
 * belong to the innermost scope at once, so an early return leaks nothing.
 */
#ifndef ADZI_AUTOGRAD_OP_H
#define ADZI_AUTOGRAD_OP_H

#include "autograd/node.h"
#include "tensor/copy.h"
#include "base/isa.h"
#include "base/threads/parallel.h"
#include "base/tracer.h"
#include "tensor/kernel/pointwise.h"
#include "tensor/shape.h"

enum { ADZI_CALL_INPUTS = 8 };

/** One call of an operator, on its caller's stack. */
typedef struct adzi_call {
    adzi_thread *thread;
    const adzi_op *op;
    adz_tensor **in; /* `inputs`; for more, the caller's array, which must outlive the call */
    int n_in;
    const char *names; /* of the inputs, for messages */
    adz_tensor *inputs[ADZI_CALL_INPUTS];
    bool record;        /* some input wants a gradient and the thread records */
    bool inplace;       /* the result is in[0] itself */
    adz_tensor *old;    /* in-place: a copy of in[0] from before, if the backward needs it */
    bool reported;      /* a trace or the capture of a plan gets a report */
    adzi_node *node;    /* set by adzi_record; NULL when nothing is recorded */
    adz_tensor *second; /* a result that the node does not have, indices or a mask; or NULL */
} adzi_call;

/**
 * Starts a call: refuses NULL, ADZ_NONE (unless bit i of `optional` allows it) and stale inputs,
 * and finds out whether to record. `names` are the arguments' names for messages, "x" or "a, b".
 */
bool adzi_enter(adzi_call *call, const adzi_op *op, const char *names, adz_tensor **in, int n_in,
    unsigned optional);

/** adzi_enter for operator `name` (whose adzi_op is adzi_op_<name>) and tensors named as written.
 */
#define ADZI_ENTER(call, name, ...)                                                    \
    adzi_enter((call), &adzi_op_##name, #__VA_ARGS__, (adz_tensor *[]){ __VA_ARGS__ }, \
        (int)(sizeof((adz_tensor *[]){ __VA_ARGS__ }) / sizeof(adz_tensor *)), 0)

/** The inputs that may be ADZ_NONE, as bits: input i, and all inputs from i on. */
#define ADZI_OPTIONAL(i)      (1u << (i))
#define ADZI_OPTIONAL_FROM(i) (~0u << (i))

/** Like ADZI_ENTER, but inputs may be ADZ_NONE. `optional` is a sum of their ADZI_OPTIONAL. */
#define ADZI_ENTER_OPTIONAL(call, name, optional, ...)                                 \
    adzi_enter((call), &adzi_op_##name, #__VA_ARGS__, (adz_tensor *[]){ __VA_ARGS__ }, \
        (int)(sizeof((adz_tensor *[]){ __VA_ARGS__ }) / sizeof(adz_tensor *)), (optional))

/** Fails with ADZ_ERR_DTYPE unless input i is f32, f64 or ADZ_NONE. */
bool adzi_want_float(adzi_call *call, int i);

/** Fails with ADZ_ERR_DTYPE unless input i is i64 or i32. */
bool adzi_want_index(adzi_call *call, int i);

/** Fails with ADZ_ERR_DTYPE for f16 and bf16, which are storage only. */
bool adzi_want_computable(adzi_call *call, int i);

/** Fails with ADZ_ERR_DTYPE: input i has none of the dtypes of a mask (ADZ_DTYPE_BIT). */
bool adzi_refuse_dtype(adzi_call *call, int i, uint32_t dtypes);

/** The names of the dtypes of a mask with `between` them, for a message. The caller frees the text
 * when the message has been written. */
const char *adzi_text_dtypes(adzi_text *text, uint32_t dtypes, const char *between);

/**
 * Brings the inputs that are not left out, except those whose bits are in `others`, to one dtype.
 * The conversions are recorded. In place it fails where that dtype is not that of input 0.
 */
bool adzi_promote_inputs(adzi_call *call, unsigned others, adz_promotion promotion);

/**
 * Brings inputs i and j to their common dtype (torch.result_type: a tensor of rank 0 counts as a
 * number), replacing call->in[i] and call->in[j] by conversions, which the tape records.
 */
bool adzi_promote(adzi_call *call, int i, int j);

/** Converts input i to a dtype if it has another; an integer becomes f32 in float operators. */
bool adzi_convert(adzi_call *call, int i, adz_dtype dtype);

/** New contiguous result, borrowed from the scope. An in-place call gets in[0] back, after its
 * dtype and sizes have been checked. */
adz_tensor *adzi_new(adzi_call *call, adz_dtype dtype, int rank, const int64_t *sizes);

static inline adz_tensor *adzi_new_like(adzi_call *call, const adz_tensor *like)
{
    return adzi_new(call, (adz_dtype)like->dtype, like->rank, like->sizes);
}

/** A result that shares base's storage, `offset` elements after its first, borrowed from the scope.
 */
adz_tensor *adzi_new_view(adzi_call *call, adz_tensor *base, int rank, const int64_t *sizes,
    const int64_t *strides, int64_t offset);

/**
 * Turns the call into an in-place one on in[0]: refuses leaves that want a gradient, views and
 * overlapping memory where the tape forbids them. `needs_old`: the backward reads in[0]'s old
 * value. Other inputs that overlap in[0] without being it are copied first.
 */
bool adzi_begin_inplace(adzi_call *call, bool needs_old);

/**
 * Records the call when some input wants a gradient: makes the node and attaches the results. While
 * the thread is traced, reports the call first. False if memory was refused, or if the trace cannot
 * contain the call. `n_extras` are values of the operator's own. `attr` is the
 * operator's struct of attributes, which the table in its adzi_op describes (autograd/attr.h); it
 * is copied. An operator whose arguments are all tensors, or can be read from the results' shapes
 * and dtypes, has none.
 */
bool adzi_record_extra(adzi_call *call, int n_results, adz_tensor **results, int n_extras,
    const void *attr, size_t attr_size);

static inline bool adzi_record(
    adzi_call *call, int n_results, adz_tensor **results, const void *attr, size_t attr_size)
{
    return (!call->record && !call->reported) ||
           adzi_record_extra(call, n_results, results, 0, attr, attr_size);
}

/** adzi_record for a call without a gradient, such as a comparison: no node is made, but a trace
 * gets its report. */
static inline bool adzi_record_nothing(
    adzi_call *call, adz_tensor *result, const void *attr, size_t attr_size)
{
    call->record = false;
    return adzi_record(call, 1, &result, attr, attr_size);
}

/** Saves input i for the backward. Call it after adzi_record; it does nothing if the call is not
 * recorded. */
static inline void adzi_save_input(adzi_call *call, int i)
{
    if (call->node != NULL) {
        adzi_node_save_input(call->node, i, call->inplace && i == 0 ? call->old : call->in[i]);
    }
}

/**
 * Names the function that computes result 0 again, with the same bits, from what the node has
 * saved. Use it where that takes little time. Products that read the result then need not keep it
 * (Note [Inputs that are computed again] in saved.c). Call it after adzi_record; it does nothing if
 * the call is not recorded.
 */
static inline void adzi_offer_recompute(adzi_call *call, adz_tensor *(*recompute)(adzi_node *node))
{
    if (call->node != NULL && !call->inplace) {
        call->node->recompute = recompute;
    }
}

/** Saves result k for the backward. Call it after adzi_record; it does nothing if the call is not
 * recorded. */
static inline void adzi_save_result(adzi_call *call, int k, adz_tensor *y)
{
    if (call->node != NULL && !call->inplace) { /* in place, adzi_leave saves what was written */
        adzi_node_save_result(call->node, k, y);
    }
}

/** Saves a tensor that is neither an input nor a result. Call it after adzi_record; it does nothing
 * if the call is not recorded. */
static inline void adzi_save_extra(adzi_call *call, int slot, adz_tensor *t)
{
    if (call->node != NULL) {
        adzi_node_save_extra(call->node, slot, t);
    }
}

/** True if the call is recorded and input i wants a gradient. */
static inline bool adzi_wants(const adzi_call *call, int i)
{
    return call->record && !adzi_is_none(call->in[i]) && adzi_requires_grad(call->in[i]);
}

/**
 * Ends a call. An in-place change is committed: the version of the tensor rises, and the tensor
 * becomes the result of the new node. In anomaly mode the result is searched for NaN and infinity.
 * Returns y, or NULL if anomaly mode found something.
 */
adz_tensor *adzi_leave(adzi_call *call, adz_tensor *y);

/** adzi_leave for operators whose backward reads the result: in-place calls save it here. */
adz_tensor *adzi_leave_saving(adzi_call *call, adz_tensor *y);

extern const adzi_op adzi_op_clone;

/** The attributes of a node, as the type that the operator saved. */
#define adzi_attr(node, type) ((const type *)(node)->attr)

/* ---- for code that computes without recording, such as fused backwards ----------------------- */

/** A contiguous tensor borrowed from the scope. NULL with the error recorded under `op`. */
static inline adz_tensor *adzi_scratch(
    const char *op, adz_dtype dtype, int rank, const int64_t *sizes)
{
    return adzi_tensor_borrowed(adzi_self(), op, dtype, rank, sizes);
}

static inline adz_tensor *adzi_scratch_like(const char *op, const adz_tensor *like)
{
    return adzi_scratch(op, (adz_dtype)like->dtype, like->rank, like->sizes);
}

/**
 * A contiguous tensor for the gradient of input i, which a backward writes completely and returns
 * in dx[i] as it is. If the input is a leaf whose gradient has a place in a flat buffer, and
 * nothing has to be added to it, the tensor is this place: no copy is needed then. Else it is a new
 * tensor from adzi_scratch.
 */
adz_tensor *adzi_scratch_gradient(
    const adzi_node *node, int i, adz_dtype dtype, int rank, const int64_t *sizes);

/**
 * The tensor to which an elementwise backward writes its result. It is `dy` itself if the engine is
 * the only owner of dy, which saves memory, and a new tensor otherwise. `like` has the dtype and
 * sizes of the result. The backward must read element i of dy before it writes element i.
 */
adz_tensor *adzi_scratch_over(const char *op, adz_tensor *dy, const adz_tensor *like);

/** A contiguous copy borrowed from the scope; records nothing. */
adz_tensor *adzi_compact_copy(const char *op, adz_tensor *t);

/** `t` itself if it is contiguous, ADZ_NONE or NULL; otherwise a contiguous copy, or NULL with the
 * error recorded. */
static inline adz_tensor *adzi_compact(const char *op, adz_tensor *t)
{
    return t == NULL || adzi_is_none(t) || adzi_is_contiguous(t) ? t : adzi_compact_copy(op, t);
}

/** a += b, b broadcast to a; records nothing. a is contiguous, both have one dtype. Cannot fail. */
void adzi_accumulate(adz_tensor *a, const adz_tensor *b);

/** What an element is. */
typedef enum adzi_nonfinite { ADZI_FINITE, ADZI_INFINITE, ADZI_NAN } adzi_nonfinite;

/**
 * Finds the first element in row-major order that is NaN or, unless `nan_only`, infinite.
 *
 * @param index  room for ADZ_MAX_RANK numbers, filled with the element's index; may be NULL
 * @return       what the element is; ADZI_FINITE if there is none, and for integers
 */
adzi_nonfinite adzi_find_nonfinite(const adz_tensor *t, bool nan_only, int64_t *index);

/** "NaN" or "infinity", for messages. */
const char *adzi_nonfinite_text(adzi_nonfinite kind);

/** True if an element is NaN or infinite; false for integers. */
static inline bool adzi_has_nonfinite(const adz_tensor *t)
{
    return adzi_find_nonfinite(t, false, NULL) != ADZI_FINITE;
}

/* Every operator, by name: the generated registry. */
extern const adzi_op *const adzi_ops[];
extern const int adzi_n_ops;

#endif
