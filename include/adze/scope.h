/**
 * @file scope.h
 * Who owns a tensor: scopes, references of one's own, and the search for leaks.
 *
 * A new tensor is *borrowed* from the innermost open scope of its thread and ends when that scope
 * is closed. adz_keep takes a reference that outlives the scope, and adz_release ends it.
 *
 * A thread starts in a root scope, which ends with the thread.
 */
#ifndef ADZE_SCOPE_H
#define ADZE_SCOPE_H

#include <stdio.h>

#include "adze/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Opens a scope, which becomes the innermost of this thread.
 *
 * @return the scope, or NULL when memory was refused
 */
ADZ_API adz_scope *adz_scope_open(void);

/**
 * Closes a scope and every scope that was opened inside it. The tensors that they own end.
 *
 * @param scope  an open scope of this thread
 * @return       ADZ_OK, ADZ_ERR_NULL, or ADZ_ERR_OWNERSHIP for a scope that is not open here
 */
ADZ_API adz_status adz_scope_close(adz_scope *scope);

/**
 * Closes a scope and hands one tensor to the scope around it.
 *
 * @param scope  an open scope of this thread
 * @param t      the tensor to hand outward; NULL closes the scope all the same
 * @return       t, now borrowed from the outer scope; NULL when t was NULL or the call failed
 */
ADZ_API adz_tensor *adz_scope_return(adz_scope *scope, adz_tensor *t);

/**
 * Begins a block with its own scope: ADZ_SCOPE { ... }. The tensors that are made in the block
 * end with it, unless they are kept with adz_keep. Blocks nest.
 *
 * @code
 * adz_tensor *w = adz_keep(adz_ones(ADZ_SHAPE(3), ADZ_F32)), *sum = NULL;
 * for (int i = 0; i < 10; ++i) {
 *     ADZ_SCOPE {
 *         sum = adz_keep(adz_sum(adz_mul_number(w, i), ADZ_ALL_DIMS, ADZ_DROPDIM));
 *     }
 *     adz_release(&sum);
 * }
 * adz_release(&w);
 * @endcode
 *
 * With gcc and clang the scope is closed however the block is left: by its end, by break, continue,
 * return or goto, and in C++ by an exception. To the compiler the block is a loop, so break and
 * continue leave the block and not the loop around it.
 *
 * With other C compilers only the end of the block and continue close the scope. With any compiler
 * longjmp out of the block leaves it open until a scope around it is closed. If memory for the
 * scope is refused, an error is recorded, and the block's tensors belong to the scope around it.
 */
#define ADZ_SCOPE ADZ_SCOPE_AT_(__LINE__)
/** @cond the names of nested blocks differ by their line */
#define ADZ_SCOPE_AT_(line)    ADZ_SCOPE_PASTE_(line)
#define ADZ_SCOPE_PASTE_(line) ADZ_SCOPE_BLOCK_(adz_scope_at_##line)
#ifdef __cplusplus
} /* a class may not stand in extern "C" */
class adz_scope_block
{
  public:
    adz_scope_block() noexcept : scope(adz_scope_open())
    {
    }
    ~adz_scope_block()
    {
        if (scope != nullptr) {
            (void)adz_scope_close(scope);
        }
    }
    adz_scope_block(const adz_scope_block &) = delete;
    adz_scope_block &operator=(const adz_scope_block &) = delete;
    bool adz_once() noexcept
    {
        bool now = once;
        once = false;
        return now;
    }

  private:
    adz_scope *scope;
    bool once = true;
};
extern "C" {
#define ADZ_SCOPE_BLOCK_(block) for (adz_scope_block block; block.adz_once();)
#else
typedef struct adz_scope_block {
    adz_scope *scope;
    bool once;
} adz_scope_block;
static inline void adz_scope_end_(adz_scope_block *block)
{
    if (block->scope != NULL) {
        (void)adz_scope_close(block->scope);
    }
}
#ifdef __GNUC__
#define ADZ_SCOPE_BLOCK_(block)                                                 \
    for (adz_scope_block block                                                  \
         __attribute__((cleanup(adz_scope_end_))) = { adz_scope_open(), true }; \
         block.once; block.once = false)
#else
#define ADZ_SCOPE_BLOCK_(block)                                          \
    for (adz_scope_block block = { adz_scope_open(), true }; block.once; \
         block.once = false, adz_scope_end_(&block))
#endif
#endif
/** @endcond */

/**
 * Takes a reference of your own, so that the tensor outlives its scope.
 *
 * @param t  any tensor; NULL gives NULL
 * @return   t, to be ended with adz_release
 */
ADZ_API adz_tensor *adz_keep(adz_tensor *t);

/**
 * Ends a reference taken with adz_keep.
 *
 * @param t  address of the pointer, which becomes NULL; a NULL inside is left alone
 * @return   ADZ_OK, or ADZ_ERR_OWNERSHIP when nothing was kept (the pointer stays as it is)
 */
ADZ_API adz_status adz_release(adz_tensor **t);

/**
 * Stands for an optional tensor that is left out. NULL never does, because NULL means that an
 * earlier call failed.
 *
 * @return a shared object, which only calls with optional tensors accept
 */
ADZ_API adz_tensor *adz_none(void);

/** adz_none(), written like a constant. */
#define ADZ_NONE (adz_none())

/**
 * Turns the search for leaks and stale pointers on or off, for all threads.
 *
 * While it is on, adz_report_alive lists the tensors that were made and not ended. The search is
 * slow. No tensor, module, optimizer or other object gets the address of one that has ended, so
 * every later use of a stale pointer is an error. Otherwise the use of a pointer is noticed only
 * until its memory is used again. A tensor that is used after its scope was closed, for want of an
 * adz_keep, may then be another tensor.
 *
 * The check for stale pointers alone is on in a library that was built with the build type `debug`,
 * and with ADZE_DEBUG_HANDLES=1 in the environment of any library. ADZE_DEBUG_HANDLES=0 turns it
 * off. It uses up address space, of which there is enough for 10^11 tensors, but no memory. A
 * program of very small tensors takes two to three times as long.
 *
 * For valgrind and AddressSanitizer, set ADZE_DEBUG_MEMORY=1 in the environment instead. The
 * library then takes every block from malloc and gives it back at once, without caches and slabs.
 * These tools show leaks of tensors and modules then, and where a block was made and freed.
 *
 * @param on  false by default
 * @return    what it was before
 */
ADZ_API bool adz_set_debug(bool on);

/**
 * Tells whether the search for leaks and stale pointers is on.
 *
 * @return false by default
 */
ADZ_API bool adz_is_debug(void);

/**
 * Writes a line for each living tensor that was made since adz_set_debug(true). The line gives
 * dtype, shape, references, the operator that made the tensor and, under ADZ_SITES, the source line
 * of the call.
 *
 * @param stream  where to
 * @return        ADZ_OK, ADZ_ERR_NULL or ADZ_ERR_IO
 */
ADZ_API adz_status adz_report_alive(FILE *stream);

#ifdef __cplusplus
}
#endif

#endif
