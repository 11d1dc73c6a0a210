/* Storage and tensor headers. */
#ifndef ADZI_TENSOR_TENSOR_H
#define ADZI_TENSOR_TENSOR_H

#include <stdatomic.h>

#include "adze/tensor.h"
#include "base/error.h"
#include "base/capture.h"
#include "base/refs.h"
#include "base/alloc.h"
#include "base/threads/thread.h"

struct adzi_node;

/**
 * Elements that tensors share. A storage has a deleter if and only if the elements are not the
 * library's own memory. Nobody writes results over such elements, and `user` is the deleter's.
 *
 * A small storage lies in one block behind the header of the tensor it was made for: header,
 * storage, elements. `user` is then that header. The block is freed when the storage ends,
 * therefore the header holds a reference of the storage for as long as it lives.
 */
typedef struct adzi_storage {
    atomic_int refs;
    uint32_t version; /* rises with every in-place change */
    uint32_t history; /* rises with every in-place change that the tape recorded */
    int line;         /* the source line where its first tensor was made, under ADZ_SITES */
    const char *file; /* the source file, or NULL */
    size_t bytes;
    void *data;
    const char *writer;                      /* the operator that changed it last, for messages */
    void (*deleter)(void *data, void *user); /* NULL for the library's own memory */
    void *user;                              /* for the deleter, or the header of the block */
} adzi_storage;

_Static_assert(sizeof(adzi_storage) <= ADZI_ALIGNMENT, "data follows the header at one boundary");

/** The part of a tensor that only tensors with a gradient or a hook have. Note [Gradients with a
 * place] in autograd/leaf.h explains `place` and `spoiled`. */
typedef struct adzi_gradient {
    adz_tensor *grad;             /* the tensor's .grad, without a graph, owned; or NULL */
    adz_tensor *place;            /* where `grad` has to be, owned; NULL if it may be anywhere */
    struct adzi_leaf_slot *slot;  /* belongs to the running backward; NULL outside one */
    struct adzi_hook_list *hooks; /* called before a gradient is accumulated; owned; or NULL */
    struct adzi_hook_list *after; /* called after a gradient was accumulated; owned; or NULL */
    bool spoiled;                 /* a backward failed after it had changed `grad` */
    adz_tensor *leaf;             /* the tensor whose gradient it is; it owns this struct */
} adzi_gradient;

/** Marks in `alive`. Other values mean that the pointer does not lead to a header. */
enum { ADZI_ALIVE = 0x5a, ADZI_DEAD = 0xd5 };

struct adz_tensor {
    atomic_int refs;  /* references of all owners: scopes, callers, modules, the graph */
    atomic_int keeps; /* how many of these callers took with adz_keep */
    uint8_t alive;    /* ADZI_ALIVE until the tensor ends */
    uint8_t dtype;
    uint8_t rank;
    bool requires_grad; /* set by the user for a leaf; results want a gradient if `node` is set */
    bool is_view;       /* shares storage with the tensor it was made from */
    bool retains_grad;
    bool is_one : 1;   /* every element is 1, also for a plan: products with it are left out */
    bool is_zero : 1;  /* every element is 0, also for a plan: products with it are zeros. False for
                        what a program gets, which it may write to */
    bool is_unit : 1;  /* see adzi_unit_column */
    bool joined;       /* a storage follows in the same block; see adzi_home */
    uint32_t history;  /* the history of the storage when `node` was set */
    uint16_t result;   /* the index of the tensor among the results of `node` */
    bool recomputable; /* `node` may have to compute the tensor again, and hears of its end */
    adzi_storage *storage;
    char *data; /* the first element */
    int64_t numel;
    struct adzi_node *node;  /* the recorded call that computed the tensor; NULL for leaves */
    adzi_gradient *gradient; /* owned; NULL for most tensors */
    int64_t sizes[ADZ_MAX_RANK];
    int64_t strides[ADZ_MAX_RANK]; /* in elements */
};

_Static_assert(sizeof(adz_tensor) % ADZI_ALIGNMENT == 0, "a storage may follow at once");

/** The storage that lies behind a joined header. It is the tensor's own storage, unless
 * adzi_tensor_adopt has given the tensor another one. */
static inline adzi_storage *adzi_home(adz_tensor *t)
{
    return (adzi_storage *)(void *)(t + 1);
}

/** The shared object behind ADZ_NONE. */
extern adz_tensor adzi_none;

static inline bool adzi_is_none(const adz_tensor *t)
{
    return t == &adzi_none;
}

/** The program may write to a tensor, so nothing is known of its elements any more. */
static inline void adzi_may_be_written(adz_tensor *t)
{
    t->is_zero = t->is_unit = false;
}

/** Bytes of one element. */
static inline size_t adzi_item_size(const adz_tensor *t)
{
    static const uint8_t bytes[] = { 4, 8, 4, 8, 1, 1, 2, 2 }; /* in the order of adz_dtype */
    return bytes[t->dtype];
}

/** The column c in which each row of a tensor is 1, if `is_unit` is true. The other columns are 0.
 * The row, of n elements, is a slice of the 2 n - 1 numbers in the storage, of which the middle one
 * is 1. A product of such rows with a matrix is the matrix's row c, also for a plan. */
static inline int64_t adzi_unit_column(const adz_tensor *t)
{
    const int64_t item = (int64_t)adzi_item_size(t);
    return t->sizes[t->rank - 1] - 1 - (t->data - (const char *)t->storage->data) / item;
}

static inline bool adzi_is_float(adz_dtype dtype)
{
    return dtype == ADZ_F32 || dtype == ADZ_F64;
}

/** True for the dtypes that are storage only. */
static inline bool adzi_is_half(adz_dtype dtype)
{
    return dtype == ADZ_F16 || dtype == ADZ_BF16;
}

static inline bool adzi_requires_grad(const adz_tensor *t)
{
    return t->node != NULL || t->requires_grad;
}

/** Takes one more reference and returns the tensor. */
static inline adz_tensor *adzi_retain(adz_tensor *t)
{
    adzi_refs_take(&t->refs);
    return t;
}

/** Ends a tensor whose last reference is gone. Only adzi_drop calls it. */
void adzi_tensor_destroy(adz_tensor *t);

/** Releases a reference. The last release ends the tensor. NULL and ADZ_NONE are allowed and change
 * nothing. */
static inline void adzi_drop(adz_tensor *t)
{
    if (t != NULL && !adzi_is_none(t) && adzi_refs_drop(&t->refs)) {
        adzi_tensor_destroy(t);
    }
}

/** True if the caller has the only reference of the tensor, and the tensor the only one of its
 * storage. The elements may then be overwritten, unless the storage has a deleter. */
static inline bool adzi_is_exclusive(const adz_tensor *t)
{
    return atomic_load_explicit(&t->refs, memory_order_acquire) == 1 &&
           atomic_load_explicit(&t->storage->refs, memory_order_acquire) == 1;
}

/**
 * Checks the sizes of a new contiguous tensor and writes its number of elements to `numel`. Fails
 * with ADZ_ERR_SHAPE on a negative size, a rank above 8 or a byte count that does not fit int64_t.
 * Fails with ADZ_ERR_DTYPE on a value that is no dtype.
 */
adz_status adzi_check_sizes(
    const char *op, int rank, const int64_t *sizes, adz_dtype dtype, int64_t *numel);

/**
 * Makes a contiguous tensor with undefined elements. The caller has its one reference. The sizes
 * have been checked, or come from existing tensors. NULL with the error recorded under `op` if
 * memory was refused.
 */
adz_tensor *adzi_tensor_new(
    adzi_thread *thread, const char *op, adz_dtype dtype, int rank, const int64_t *sizes);

/** Makes a contiguous tensor with undefined elements, which is borrowed from the innermost scope.
 * The sizes have been checked. NULL with the error recorded if memory was refused. */
adz_tensor *adzi_tensor_borrowed(
    adzi_thread *thread, const char *op, adz_dtype dtype, int rank, const int64_t *sizes);

/** Makes a view of `base` with one reference, the caller's. `data` is the view's first element, in
 * the storage of `base`. */
adz_tensor *adzi_tensor_view(adzi_thread *thread, const char *op, adz_tensor *base, int rank,
    const int64_t *sizes, const int64_t *strides, char *data);

/** Makes a contiguous tensor over all of a storage, which it retains. The caller has one reference.
 */
adz_tensor *adzi_tensor_over(adzi_thread *thread, const char *op, adzi_storage *storage,
    adz_dtype dtype, int rank, const int64_t *sizes);

/**
 * A storage around memory that the library does not own, with one reference, the caller's. Its
 * deleter does nothing until adzi_storage_hand_over sets another. NULL if memory was refused.
 */
adzi_storage *adzi_storage_around(void *data, size_t bytes);

/** Makes the storage call `deleter` with its elements and `user` when it ends; NULL for none. */
void adzi_storage_hand_over(
    adzi_storage *storage, void (*deleter)(void *data, void *user), void *user);

/** Releases a reference. The last release frees the storage, or calls its deleter. */
void adzi_storage_release(adzi_storage *storage);

/**
 * Notes that `op` has changed elements of `t` in place. The version of the storage rises, so that a
 * backward which needs the old elements fails and names `op`. Every function that writes to a
 * tensor which somebody else may hold calls this.
 */
static inline void adzi_written(adz_tensor *t, const char *op)
{
    ++t->storage->version;
    t->storage->writer = op;
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->written(capture, t);
    }
}

/** Gives `t` the storage, elements and dtype of `value`, which has equal sizes. Releases the
 * caller's reference of `value`. */
void adzi_tensor_adopt(adz_tensor *t, adz_tensor *value);

/** Whether the tensor is contiguous: its elements lie in row-major order without gaps. */
bool adzi_is_contiguous(const adz_tensor *t);

/** Sets the sizes of a tensor, and the strides of a contiguous one. */
static inline void adzi_set_sizes(adz_tensor *t, int rank, const int64_t *sizes)
{
    int64_t stride = 1;
    for (int i = rank - 1; i >= 0; --i) {
        t->sizes[i] = sizes[i];
        t->strides[i] = stride;
        stride *= sizes[i] > 1 ? sizes[i] : 1;
    }
}

/** Whether every element has its own address (no stride 0 over a size above 1). */
bool adzi_is_dense(const adz_tensor *t);

/** The gradient part of a tensor, which is made if there is none. NULL with the error recorded
 * under `op` if memory was refused. */
adzi_gradient *adzi_gradient_of(const char *op, adz_tensor *t);

/** The functions of src/autograd that tensors call. src/autograd fills in the table when the
 * library is loaded. */
typedef struct adzi_tape_calls {
    /** Gives back one reference of a node. */
    void (*node_release)(adzi_thread *thread, struct adzi_node *node);
    /** Frees the gradient part of a tensor that ends. */
    void (*gradient_free)(adz_tensor *t);
    /** The name of a node's operator. */
    const char *(*node_name)(const struct adzi_node *node);
    /** Notes the source line of the call that has made a node, unless one is noted already. */
    void (*node_sited)(struct adzi_node *node, const char *file, int line);
    /** Tells the node of a tensor with `again` that the tensor ends. */
    void (*result_ends)(adz_tensor *t);
} adzi_tape_calls;

extern adzi_tape_calls adzi_tape;

/** Slow path of adzi_check_tensor: records what is wrong with the tensor. Always returns false. */
bool adzi_refuse_tensor(const char *op, const char *argument, const adz_tensor *t);

/** Whether `t` is a living tensor. Records an error that names the argument if it is NULL, a stale
 * pointer or ADZ_NONE. */
static inline bool adzi_check_tensor(const char *op, const char *argument, const adz_tensor *t)
{
    const bool sound = t != NULL && t->alive == ADZI_ALIVE && !adzi_is_none(t);
    return sound || adzi_refuse_tensor(op, argument, t);
}

/** adz_assert_all for an operator, whose name `op` the error has. */
adz_status adzi_assert_all(const char *op, adz_tensor *condition, const char *message);

/** A tensor's sizes for messages, "[4, 10, 512]", or "(none)" for ADZ_NONE. Valid until the thread
 * has asked for 8 more texts. */
const char *adzi_text_shape(const adz_tensor *t);

#endif
