/**
 * @file base.h
 * Status codes, errors, dtypes, contexts, memory and threads. Every other header includes it.
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
/** Marks a function that the library exports. */
#define ADZ_API __attribute__((visibility("default")))
#endif

/* Version of these headers, as numbers. */
#define ADZ_VERSION_MAJOR 0      /**< rises when old programs must change (from 1.0 on) */
#define ADZ_VERSION_MINOR 3      /**< rises with additions; before 1.0, with any change */
#define ADZ_VERSION_PATCH 0      /**< rises with corrections */
#define ADZ_VERSION_TAG   "-dev" /**< "-dev" before the release of this number, "" in the release */

/**
 * The version of the loaded library, "0.1.0", or "0.1.0-dev" before that release.
 *
 * @return a string that lives as long as the library
 */
ADZ_API const char *adz_version(void);

/* ---- types that several headers share ------------------------------------------------------- */

/** The most dimensions a tensor can have. */
#define ADZ_MAX_RANK 8

/** A tensor: shape, strides and offset over reference-counted storage (adze/tensor.h). */
typedef struct adz_tensor adz_tensor;

/** Owns the tensors that are made while it is the innermost open scope of its thread (scope.h). */
typedef struct adz_scope adz_scope;

/** A counter-based random number generator (adze/random.h). One thread at a time may draw from it.
 */
typedef struct adz_generator adz_generator;

/** The state of a generator. It determines all numbers that the generator will draw. */
typedef struct adz_generator_state {
    uint64_t seed;   /**< the key of the Philox cipher */
    uint64_t offset; /**< how many blocks of 128 bits have been drawn */
} adz_generator_state;

/* ---- errors ------------------------------------------------------------------------------- */

/** The outcome of a call. Zero is success, every failure is negative. */
typedef enum adz_status {
    ADZ_OK = 0,              /**< done */
    ADZ_ERR_NULL = -1,       /**< an argument is NULL (often: an earlier call failed) */
    ADZ_ERR_ARGUMENT = -2,   /**< a value outside its range */
    ADZ_ERR_SHAPE = -3,      /**< shapes do not fit each other or the operator */
    ADZ_ERR_DIM = -4,        /**< a dimension that the tensor does not have */
    ADZ_ERR_DTYPE = -5,      /**< a dtype that the operator does not take */
    ADZ_ERR_INDEX = -6,      /**< an index outside the size it indexes */
    ADZ_ERR_MEMORY = -7,     /**< memory was refused */
    ADZ_ERR_GRAPH = -8,      /**< there is no graph to compute gradients from, or no longer */
    ADZ_ERR_VERSION = -9,    /**< a value that a gradient needs was changed in place */
    ADZ_ERR_INPLACE = -10,   /**< an in-place call that the graph forbids */
    ADZ_ERR_OWNERSHIP = -11, /**< a release without a keep, a stale pointer, a scope closed twice */
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
 * An error stays recorded until it is cleared or taken. An error that follows it does not replace
 * it, because it is often a consequence; adz_on_error hears of both. Until then, calls that change
 * parameters (backward, optimizer steps, loading) and calls that save refuse to run and return its
 * code. adz_on_error hears of these calls, too.
 *
 * @return ADZ_OK when none is recorded
 */
ADZ_API adz_status adz_error_code(void);

/**
 * The message of this thread's recorded error: "matmul: inner sizes differ: x[4, 10] and w[5, 2]".
 *
 * @return a string valid until the thread's next error is recorded; "" when none is recorded
 */
ADZ_API const char *adz_error_message(void);

/**
 * The name of the operator or function that recorded the error, "matmul".
 *
 * @return a static string; "" when none is recorded
 */
ADZ_API const char *adz_error_operator(void);

/** Forgets this thread's recorded error. */
ADZ_API void adz_error_clear(void);

/**
 * Copies the message of the recorded error into a buffer and clears the error.
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
 * bytes; NULL or "" for nobody in particular
 * @param status   any but ADZ_OK; a value that is no status counts as ADZ_ERR_ARGUMENT
 * @param message  what is wrong, and the way out; NULL for none
 * @return         the status recorded
 */
ADZ_API adz_status adz_error_set(const char *op, adz_status status, const char *message);

/**
 * Reports an argument that is NULL. If an error is recorded already, the NULL is what the call that
 * failed has returned, and that error stays. Otherwise ADZ_ERR_NULL is recorded.
 *
 * @param op        the function that was called, for the message
 * @param argument  its argument
 * @return          the code of the error that is recorded then
 */
ADZ_API adz_status adz_error_null(const char *op, const char *argument);

/** Called with each error or warning as it is recorded. */
typedef void (*adz_message_callback)(adz_status status, const char *message, void *user);

/**
 * Sets a callback that is called with each error. The failing call itself calls it, on its thread.
 * A call that reads or writes files or makes a layer calls it at its end, when it has cleaned up:
 * a callback that ends the process leaves no temporary file behind. If such a call records several
 * errors, the callback hears of the first. A call that is refused because of an earlier error calls
 * it with that error's code and message. Calls that only hand a NULL on do not call it.
 *
 * Most programs end at their first error:
 *
 * @code
 * adz_on_error(adz_die, NULL);
 * @endcode
 *
 * Without a callback the library prints an error that the program does not look at. It prints it on
 * stderr, each message once, when the program goes on: when it opens a scope, asks for the elements
 * of a tensor that is NULL, makes the third call that the error refuses, or ends. At the end of the
 * thread it says how many calls were refused. A program has looked at an error if it has called
 * adz_error_message, adz_error_take or adz_error_clear. A program that looks at results and does
 * not want anything to be printed sets adz_quiet.
 *
 * @param callback  NULL for none (the default)
 * @param user      handed to the callback
 */
ADZ_API void adz_on_error(adz_message_callback callback, void *user);

/**
 * A callback for adz_on_error that prints the message and the name of the status on stderr and ends
 * the process by exit(EXIT_FAILURE). It never returns. As a callback of adz_on_warning it ends the
 * process at the first warning.
 *
 * @param status   printed by its name
 * @param message  printed
 * @param user     not used
 */
ADZ_API void adz_die(adz_status status, const char *message, void *user);

/**
 * A callback that does nothing. After adz_on_error(adz_quiet, NULL) the library prints no errors:
 * the program looks at what calls return. adz_on_warning(adz_quiet, NULL) keeps warnings quiet.
 *
 * @param status   not used
 * @param message  not used
 * @param user     not used
 */
ADZ_API void adz_quiet(adz_status status, const char *message, void *user);

/**
 * Sets a callback that is called with each warning. Without one, warnings are printed on stderr,
 * each text once in the life of the process. adz_quiet keeps them quiet.
 *
 * @param callback  NULL to print them (the default)
 * @param user      handed to the callback
 */
ADZ_API void adz_on_warning(adz_message_callback callback, void *user);

/* ---- callbacks ----------------------------------------------------------------------------
 *
 * A callback may call adze. The two functions of an adz_allocator may not.
 *
 * A callback that reports or computes may be left by longjmp or by a C++ exception instead of
 * returning. These are: the callbacks of adz_on_error and adz_on_warning, a module's forward,
 * call, reset and select_hidden, a visitor of modules, an operator's shape rule, expression and
 * backward, a tensor's hooks, a loss's distance function, a layer's activation function, the
 * function of a gradient check, of a derivative, of a solver, of a plan or of an export, an
 * optimizer's closure and update, a loader's progress, a load's rename and a schedule's function.
 * The call of adze that ran the callback is then over:
 *
 * - Its effects up to that point stay, such as drawn numbers and written buffers. A reset or a
 *   select_hidden that is left has changed some modules of the tree and not the others.
 * - Memory that the call had taken for itself may stay taken.
 * - A backward has changed no gradient, but its graph may be used up.
 *
 * The function that was jumped to, or one that called it, then restores the thread's state by one
 * of these calls: adz_error_clear, adz_error_take, adz_scope_open, adz_scope_close,
 * adz_set_grad_enabled, adz_is_grad_enabled, a module, a backward, or any call that fails. Grad
 * mode and anomaly mode are then as they were when the abandoned call began, and messages name only
 * modules that are running. Tensors and scopes that the abandoned call made end with the scope
 * around them.
 *
 * A callback that ends something or hands out memory must return: a deleter, a module's destroy,
 * attributes_free, an adz_allocator. Every callback returns, or is left, on the stack on which it
 * was called. A callback that switches to another stack (a coroutine) must not call adze from
 * there.
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
 * The dtype in which an operator on two tensors computes.
 *
 * Floats win over integers, and integers over bool. Of two floats or two integers the larger wins;
 * f16 with bf16 gives f32.
 *
 * @param a  the dtype of the first operand
 * @param b  the dtype of the second operand
 * @return   the promoted dtype
 * @see      torch.promote_types
 */
ADZ_API adz_dtype adz_promote_types(adz_dtype a, adz_dtype b);

/* ---- contexts ----------------------------------------------------------------------------- */

/**
 * The settings of one user of the library: number of threads, determinism, precision of products
 * and who computes them, default generator and callbacks. A thread uses the context of the process
 * unless it chose another one. The allocator and the memory limit belong to the process and not to
 * a context.
 */
typedef struct adz_context adz_context;

/**
 * A new context. It begins with the number of threads, the determinism, the choices of
 * adz_set_gemm_backend and adz_set_recomputing, and the callbacks of the context that the calling
 * thread uses. The precision of products is the default one, and the default generator is its own.
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
 * @param context  NULL for the context of the process
 * @return         the context that was in use before; NULL for the context of the process
 */
ADZ_API adz_context *adz_context_use(adz_context *context);

/* ---- memory ------------------------------------------------------------------------------- */

/** The source of adze's memory. Any thread may call both functions. */
typedef struct adz_allocator {
    void *(*allocate)(size_t bytes, size_t alignment, void *user); /**< NULL to refuse */
    void (*deallocate)(void *block, size_t bytes, void *user);     /**< never fails */
    void *user; /**< handed to both, until the process ends or another allocator is set */
} adz_allocator;

/** How much memory the allocator holds, and how many tensors live in it. */
typedef struct adz_memory_info {
    size_t live_bytes;   /**< handed out and not yet returned */
    size_t peak_bytes;   /**< the most live_bytes has been since the last reset */
    size_t cached_bytes; /**< kept for reuse, and the bytes by which blocks are rounded up */
    size_t live_tensors; /**< tensor headers alive, borrowed and kept */
    uint64_t requests;   /**< requests for memory so far, those that the cache served included */
} adz_memory_info;

/**
 * Replaces the source of memory.
 *
 * Call it before anything is made, or after all of it has ended: tensors, modules, the scopes of
 * this thread, and the other threads that used adze.
 *
 * @param allocator  copied; NULL for the system's memory
 * @return           ADZ_OK, ADZ_ERR_NULL (a function is missing), or ADZ_ERR_STATE while memory of
 *                   the old source is in use
 */
ADZ_API adz_status adz_set_allocator(const adz_allocator *allocator);

/**
 * The source of memory that adz_set_allocator has set.
 *
 * @param allocator  receives it; its members become NULL if memory is the system's
 * @return           whether one is set; false with ADZ_ERR_NULL, or with ADZ_ERR_STATE in a
 *                   function that a plan captures, recorded
 */
ADZ_API bool adz_get_allocator(adz_allocator *allocator);

/**
 * Sets the most bytes that may be live at a time. A request beyond the limit fails with
 * ADZ_ERR_MEMORY. The message says how many bytes are live and how many are cached. It also says
 * how many tensors the root scope holds if they are many.
 *
 * Cached bytes do not count. The shared cache is emptied whenever live and cached bytes together
 * would pass the limit. The calling thread's cache is emptied when the limit is set below the bytes
 * that are held.
 *
 * The process may hold more than the limit by three things: 256 kB of cache per thread, the unused
 * rest of the 64 kB slabs from which small tensors are cut, and up to a sixteenth by which large
 * tensors are rounded up. Several threads that allocate at the same time may pass the limit by 64
 * kB each.
 *
 * @param bytes  0 for no limit (the default)
 * @return       ADZ_OK; or ADZ_ERR_STATE in a function that a plan captures, and the limit stays
 */
ADZ_API adz_status adz_set_memory_limit(size_t bytes);

/**
 * The most bytes that may be live at a time.
 *
 * @return 0 for no limit; also with ADZ_ERR_STATE recorded, in a function that a plan captures
 */
ADZ_API size_t adz_get_memory_limit(void);

/**
 * Reads the allocator's counters.
 *
 * @param info  filled
 * @param size  sizeof(adz_memory_info) as the caller knows it
 */
ADZ_API void adz_get_memory_info(adz_memory_info *info, size_t size);

/** Starts a new peak measurement from the bytes that are live now. */
ADZ_API void adz_reset_peak_memory(void);

/** Gives cached memory back to the system: the memory of the shared pool and of the calling thread.
 */
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
 * Demands equal bits for any number of threads from any BLAS library. It concerns products that a
 * BLAS computes, see adz_set_gemm_backend. Everything else has equal bits in any case, on every
 * processor with fused multiply-adds (docs/reproducibility.md).
 *
 * Products of OpenBLAS were tested to have equal bits without this setting. With it the blocks of a
 * product depend on its shape only, which can take 10 to 30% longer on one thread. docs/design.md,
 * "Kernels", has the details.
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
 * The instruction set of the kernels: "baseline", "avx2" or "avx512". It is the highest that the
 * processor has and the library was built for (Meson option `kernels`), unless ADZE_CPU in the
 * environment names a lower one.
 *
 * @return a static string
 */
ADZ_API const char *adz_cpu_name(void);

/**
 * One line that describes this build on this machine: processor, instruction set, threads and BLAS.
 *
 * @return a string valid until the thread's next call of this function
 */
ADZ_API const char *adz_build_info(void);

#ifdef __cplusplus
}
#endif

/**
 * A member of a struct's defaults, by its name: ADZ_MEMBER(eps, 1e-8). C++ knows names of members
 * from C++20 on, so in older C++ the value alone remains. The macros of defaults therefore give all
 * members, in their order.
 */
#if defined(__cplusplus) && __cplusplus < 202002L
#define ADZ_MEMBER(name, ...) __VA_ARGS__
#else
#define ADZ_MEMBER(name, ...) .name = __VA_ARGS__
#endif

#endif
