/* Objects to which a program holds a pointer: tensors, modules, optimizers, loaders and others.
 * Each has a mark, by which a pointer to an object that has ended is recognised. */
#ifndef ADZI_BASE_HANDLE_H
#define ADZI_BASE_HANDLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Note [Addresses that are used once]
 * A mark shows that an object has ended only until its memory is used again, and then the pointer
 * leads to another object without a word. While adzi_handles_kept is true, each object gets an
 * address that no object had before. The addresses come from reserved regions of the address space.
 * Pages whose objects have all ended are given back to the system and read as zeros, which are no
 * mark. So addresses are used up, and memory is not.
 *
 * It is on in a library that is built with the build type `debug`, with ADZE_DEBUG_HANDLES=1 in the
 * environment, and after adz_set_debug(true). AddressSanitizer reports stale pointers itself, so a
 * library that is compiled with it leaves them to it until a program asks for addresses of their
 * own. With ADZE_DEBUG_MEMORY=1 there are none: another tool watches malloc and free. */

/** Whether each object gets an address of its own. */
extern atomic_bool adzi_handles_kept;

/** Sets adzi_handles_kept. With false, it becomes what the build and the environment ask for. */
void adzi_keep_handles(bool on);

/** Memory for an object, as adzi_alloc gives it. */
void *adzi_handle_alloc(size_t bytes);

/** Frees the memory of an object. */
void adzi_handle_free(void *object, size_t bytes);

/** The first member of an object. */
typedef struct adzi_handle {
    uint32_t mark;
} adzi_handle;

/** An object whose first member is an adzi_handle, and which is filled with zeros otherwise. NULL
 * if memory was refused. */
void *adzi_handle_new(size_t bytes);

/** Ends an object of adzi_handle_new. NULL is left alone. */
void adzi_handle_end(void *object, size_t bytes);

/** Slow path of adzi_check_handle: records what is wrong. Always returns false. */
bool adzi_refuse_handle(const char *op, const char *argument, const void *object);

/** The marks of an object that lives, and of one that is part of another object. */
enum { ADZI_HANDLE_ALIVE = 0x5ad2e0b7, ADZI_HANDLE_PART = 0x2b91f3c5 };

/** Whether the object lives. Records an error that names the argument if it is NULL or has ended.
 */
static inline bool adzi_check_handle(const char *op, const char *argument, const void *object)
{
    const bool sound = object != NULL && ((const adzi_handle *)object)->mark == ADZI_HANDLE_ALIVE;
    return sound || adzi_refuse_handle(op, argument, object);
}

/** For functions that free an object: NULL if the pointer is NULL or holds NULL, or if the object
 * has ended, which is an error. Otherwise the object, and the pointer becomes NULL. */
void *adzi_handle_take(const char *op, const char *argument, void *pointer);

#endif
