/**
 * @file base.h
 * Status codes, errors, memory, threads and settings: what every other header rests on.
 */
#ifndef ADZE_BASE_H
#define ADZE_BASE_H

#include <stddef.h>
#include <stdint.h>
#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(_WIN32)
#define ADZ_API
#else
/** Marks what the library exports. */
#define ADZ_API __attribute__((visibility("default")))
#endif

/* Version of these headers, as numbers. */
#define ADZ_VERSION_MAJOR 0 /**< rises when old programs must change (from 1.0 on) */
#define ADZ_VERSION_MINOR 1 /**< rises with what is added; before 1.0, with every change */
#define ADZ_VERSION_PATCH 0 /**< rises with corrections */

/**
 * The version of the loaded library, "0.1.0".
 *
 * @return a string that lives as long as the library
 */
ADZ_API const char *adz_version(void);

/* ---- types that several headers share ------------------------------------------------------- */

/** The most dimensions a tensor can have. */
#define ADZ_MAX_RANK 8

/** A tensor: shape, strides and offset over reference-counted storage (adze/tensor.h). */
typedef struct adz_tensor adz_tensor;

/** Owns the temporaries made while it is the innermost open scope of its thread (adze/tensor.h). */
typedef struct adz_scope adz_scope;

/** A counter-based random number generator (adze/random.h). One thread at a time may draw from it.
 */
typedef struct adz_generator adz_generator;

/** All that determines what a generator draws next. */
typedef struct adz_generator_state {
    uint64_t seed;   /**< the key */
    uint64_t offset; /**< counters of 128 bits drawn so far */
} adz_generator_state;

/* ---- errors ------------------------------------------------------------------------------- */

/** What a call came to. Zero is success, every failure is negative. */
typedef enum adz_status {
    ADZ_OK = 0,              /**< done */
    ADZ_ERR_NULL = -1,       /**< an argument is NULL (often: an earlier call failed) */
    ADZ_ERR_ARGUMENT = -2,   /**< a value outside its range */
    ADZ_ERR_SHAPE = -3,      /**< shapes do not fit each other or the operator */
    ADZ_ERR_DIM = -4,        /**< a dimension that the tensor does not have */
    ADZ_ERR_DTYPE = -5,      /**< a dtype that the operator does not take */
    ADZ_ERR_INDEX = -6,      /**< an index outside the size it indexes */
    ADZ_ERR_MEMORY = -7,     /**< memory was refused */
    ADZ_ERR_GRAPH = -8,      /**< gradients asked for where there is no graph, or a released one */
    ADZ_ERR_VERSION = -9,    /**< a value that a gradient needs was changed in place */
    ADZ_ERR_INPLACE = -10,   /**< an in-place call that the graph forbids */
    ADZ_ERR_OWNERSHIP = -11, /**< released without keep, a stale pointer, a scope closed twice */
    ADZ_ERR_STATE = -12, /**< a call at the wrong time: an error pending, names that do not match */
    ADZ_ERR_IO = -13,    /**< the operating system refused: no such file, disk full */
    ADZ_ERR_FORMAT = -14,    /**< a file that is not what it claims to be */
    ADZ_ERR_NUMERIC = -15,   /**< NaN or infinity found (anomaly mode, non-finite norms) */
    ADZ_ERR_CANCELLED = -16, /**< a callback asked to stop */
    ADZ_ERR_UNSUPPORTED =
        -17 /**< valid in PyTorch, not offered by adze; the message says what is */
} adz_status;

/**
 * The name of a status code, "ADZ_ERR_SHAPE".
 *
 * @param status  any value
 * @return        a static string, "unknown status" for a value that is none
 */
ADZ_API const char *adz_status_name(adz_status status);

/**
 * The code of this thread's recorded error.
 *
 * An error stays recorded until it is cleared, taken, or replaced by a newer one. While one is
 * recorded, calls that change parameters (backward, optimizer steps, loading) refuse with it.
 *
 * @return ADZ_OK when none is recorded
 */
ADZ_API adz_status adz_error_code(void);

/**
 * The message of this thread's recorded error: "matmul: inner sizes differ: x[4, 10] and w[5, 2]".
 *
 * @return a string valid until the next failing call of this thread; "" when none is recorded
 */
ADZ_API const char *adz_error_message(void);

/**
 * The operator or function that recorded the error, "matmul".
 *
 * @return a static string; "" when none is recorded
 */
ADZ_API const char *adz_error_operator(void);

/** Forgets this thread's recorded error. */
ADZ_API void adz_error_clear(void);

/**
 * Copies the recorded error's message out and clears it.
 *
 * @param buffer  receives the message, cut to fit and always terminated; may be NULL
 * @param size    bytes of buffer
 * @return        the code that was recorded
 */
ADZ_API adz_status adz_error_take(char *buffer, size_t size);

/**
 * Records an error, as adze's own functions do. Call it in a module or an operator of your own
 * before it returns its failure.
 *
 * @param op       what failed, for the message and for adz_error_operator, which cuts it to 63
 * bytes; NULL for nobody in particular
 * @param status   any but ADZ_OK; a value that is no status counts as ADZ_ERR_ARGUMENT
 * @param message  what is wrong, and the way out; NULL for none
 * @return         the status recorded
 */
ADZ_API adz_status adz_error_set(const char *op, adz_status status, const char *message);

/** Called with each error or warning as it is recorded. */
typedef void (*adz_message_callback)(adz_status status, const char *message, void *user);

/**
 * Sends each error to a callback, from the failing call itself and on its thread.
 *
 * @param callback  NULL for none (the default)
 * @param user      handed to the callback
 */
ADZ_API void adz_on_error(adz_message_callback callback, void *user);

/**
 * Sends warnings to a callback. Without one they are dropped.
 *
 * @param callback  NULL for none (the default)
 * @param user      handed to the callback
 */
ADZ_API void adz_on_warning(adz_message_callback callback, void *user);

/* ---- callbacks ----------------------------------------------------------------------------
 *
 * A callback may call adze, except for the two functions of an adz_allocator.
 *
 * A callback that reports or computes may be left by longjmp or by a C++ exception instead of
 * returning: those of adz_on_error and adz_on_warning, a module's forward and call, an operator's
 * backward, a tensor's hook, the function of a gradient check, a loader's progress, a schedule's
 * function. The call of adze that it was called from is then over. What that call did up to there
 * stays, such as numbers drawn and buffers written; memory that it had taken for itself may stay
 * taken; a backward has changed no gradient, and its graph may be used up.
 *
 * The first of these calls that is made in the function that was jumped to, or in one that called
 * it, puts the thread right: adz_error_clear, adz_error_take, adz_scope_open, adz_scope_close,
 * adz_set_grad_enabled, adz_is_grad_enabled, a module, a backward, and every call that fails. Grad
 * mode and anomaly mode are then as they were when the call that was left began, and messages name
 * no module that is not running. Tensors and scopes made meanwhile end with the scope around them.
 *
 * A callback must return if it ends something or hands out memory: a deleter, a module's destroy,
 * attributes_free, an adz_allocator. And it returns, or is left, on the stack on which it was
 * called: one that switches to another stack (a coroutine) must not call adze from there.
 */

/* ---- dtypes ------------------------------------------------------------------------------- */

/** The type of a tensor's elements. F16 and BF16 are storage only: convert before computing. */
typedef enum adz_dtype {
    ADZ_F32 = 0,  /**< 32-bit float, the default */
    ADZ_F64 = 1,  /**< 64-bit float */
    ADZ_I32 = 2,  /**< 32-bit signed integer */
    ADZ_I64 = 3,  /**< 64-bit signed integer */
    ADZ_U8 = 4,   /**< 8-bit unsigned integer */
    ADZ_BOOL = 5, /**< one byte, 0 or 1 */
    ADZ_F16 = 6,  /**< IEEE half, storage only */
    ADZ_BF16 = 7  /**< bfloat16, storage only */
} adz_dtype;

/**
 * Bytes of one element.
 *
 * @param dtype  any dtype
 * @return       1, 2, 4 or 8; 0 for a value that is no dtype
 */
ADZ_API size_t adz_dtype_size(adz_dtype dtype);

/**
 * The name of a dtype as PyTorch prints it, "float32".
 *
 * @param dtype  any dtype
 * @return       a static string; "invalid" for a value that is no dtype
 */
ADZ_API const char *adz_dtype_name(adz_dtype dtype);

/**
 * The dtype that an operator on both computes in (torch.promote_types).
 *
 * @param a  one dtype
 * @param b  the other
 * @return   the smaller dtype that holds both kinds
 */
ADZ_API adz_dtype adz_promote_types(adz_dtype a, adz_dtype b);

/* ---- contexts ----------------------------------------------------------------------------- */

/**
 * Settings of one user of the library: threads, determinism, precision of products, default
 * generator, callbacks. A thread uses the process's own context unless it chose another. The
 * allocator and the memory limit are the process's.
 */
typedef struct adz_context adz_context;

/**
 * A context with default settings.
 *
 * @return yours, end it with adz_context_free; NULL when memory was refused
 */
ADZ_API adz_context *adz_context_new(void);

/**
 * Ends a context. No thread may be using it.
 *
 * @param context  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_context_free(adz_context **context);

/**
 * Makes the calling thread use a context from now on.
 *
 * @param context  NULL for the process's own
 * @return         the one in use before (NULL for the process's own)
 */
ADZ_API adz_context *adz_context_use(adz_context *context);

/* ---- memory ------------------------------------------------------------------------------- */

/** Where adze's memory comes from. Both are called from any thread. */
typedef struct adz_allocator {
    void *(*allocate)(size_t bytes, size_t alignment, void *user); /**< NULL to refuse */
    void (*deallocate)(void *block, size_t bytes, void *user);     /**< never fails */
    void *user; /**< handed to both, until the process ends or another allocator is set */
} adz_allocator;

/** What the allocator holds, in bytes and in tensors. */
typedef struct adz_memory_info {
    size_t live_bytes;   /**< handed out and not yet returned */
    size_t peak_bytes;   /**< the most live_bytes has been since the last reset */
    size_t cached_bytes; /**< held for reuse, and what blocks are rounded up by */
    size_t live_tensors; /**< tensor headers alive, borrowed and kept */
    uint64_t requests;   /**< requests so far, cache hits included */
} adz_memory_info;

/**
 * Replaces the source of memory. Only while nothing is live: before anything is made, or
 * when all of it has ended, the scopes of this thread and the other threads that used adze too.
 *
 * @param allocator  copied; NULL for the system's
 * @return           ADZ_OK, or ADZ_ERR_STATE while memory of the old one is held
 */
ADZ_API adz_status adz_set_allocator(const adz_allocator *allocator);

/**
 * Sets the most bytes that may be live at a time. A request beyond it fails with ADZ_ERR_MEMORY;
 * the message says how many bytes are live and cached, and how many tensors the root scope holds if
 * they are many.
 *
 * Cached bytes do not count. The shared cache is emptied whenever live and cached bytes together
 * would pass the limit, and so is the calling thread's when the limit is set below what is held;
 * what may come on top of the limit is 256 kB of cache per thread, the unused rest of blocks of 64
 * kB that small tensors are cut from, and rounding of large tensors by up to a sixteenth. Several
 * threads that allocate at the same time may pass the limit by 64 kB each.
 *
 * @param bytes  0 for no limit (the default)
 */
ADZ_API void adz_set_memory_limit(size_t bytes);

/**
 * Reads the allocator's counters.
 *
 * @param info  filled
 * @param size  sizeof(adz_memory_info) as the caller knows it
 */
ADZ_API void adz_memory_info_get(adz_memory_info *info, size_t size);

/** Starts a new peak measurement from the bytes that are live now. */
ADZ_API void adz_memory_reset_peak(void);

/** Gives cached memory back to the system: the shared pool's and the calling thread's. */
ADZ_API void adz_empty_cache(void);

/* ---- threads and processors --------------------------------------------------------------- */

/**
 * Sets how many threads parallel loops may use. Results do not depend on it.
 *
 * @param threads  1 or more; 0 for the number of processors (the default)
 * @return         ADZ_OK or ADZ_ERR_ARGUMENT
 */
ADZ_API adz_status adz_set_num_threads(int threads);

/**
 * The number of threads that parallel loops may use.
 *
 * @return 1 or more
 */
ADZ_API int adz_get_num_threads(void);

/**
 * Chooses results that are the same bits for any number of threads even where that costs more
 * than 5%. Everything else is so in either case; docs/design.md lists what this changes.
 *
 * @param on  false by default
 * @return    what it was before
 */
ADZ_API bool adz_set_deterministic(bool on);

/**
 * Whether adz_set_deterministic is on.
 *
 * @return false by default
 */
ADZ_API bool adz_is_deterministic(void);

/**
 * The instruction set that kernels run with: "baseline", "avx2" or "avx512". ADZE_CPU in the
 * environment chooses a lower one.
 *
 * @return a static string
 */
ADZ_API const char *adz_cpu_name(void);

/**
 * One line on how this build runs: processor, instruction set, threads, BLAS, and oneDNN. Of oneDNN
 * it says its version and instruction set once the library has loaded it, "not needed yet" before
 * that, or "no oneDNN" with the reason. The call itself loads nothing.
 *
 * @return a string valid until the thread's next call of this function
 */
ADZ_API const char *adz_build_info(void);

#ifdef __cplusplus
}
#endif

#endif
