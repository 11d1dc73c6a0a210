/**
 * @file values.h
 * What a module call takes and gives: ordered, named tensors, some of which may be absent.
 */
#ifndef ADZE_NN_VALUES_H
#define ADZE_NN_VALUES_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The arguments or the results of a module call. It borrows its tensors: those of a result list
 * belong to the caller's scope.
 */
typedef struct adz_values adz_values;

/** The longest name of an entry. */
#define ADZ_VALUE_NAME 39

/**
 * An empty list.
 *
 * @return yours, end it with adz_values_free; NULL when memory was refused
 */
ADZ_API adz_values *adz_values_new(void);

/**
 * Ends a list, not its tensors.
 *
 * @param values  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_values_free(adz_values **values);

/**
 * Empties a list, so that it serves for the next call.
 *
 * @param values  changed; NULL is left alone
 */
ADZ_API void adz_values_clear(adz_values *values);

/**
 * Appends an entry.
 *
 * @param values  changed
 * @param name    up to ADZ_VALUE_NAME characters, copied, not taken yet; NULL or "" for none
 * @param t       borrowed; ADZ_NONE for an entry that is absent
 * @return        ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_values_add(adz_values *values, const char *name, adz_tensor *t);

/**
 * The number of entries, absent ones included.
 *
 * @param values  any list
 * @return        0 when values is NULL
 */
ADZ_API size_t adz_values_count(const adz_values *values);

/**
 * The name of one entry.
 *
 * @param values  any list
 * @param index   below adz_values_count
 * @return        borrowed from the list, "" for an entry without a name; NULL with ADZ_ERR_INDEX or
 *                ADZ_ERR_NULL recorded
 */
ADZ_API const char *adz_values_name_at(const adz_values *values, size_t index);

/**
 * The tensor of one entry.
 *
 * @param values  any list
 * @param index   any; ADZ_NONE from the end of the list on
 * @return        as it was added; NULL when values is NULL
 */
ADZ_API adz_tensor *adz_values_at(const adz_values *values, size_t index);

/**
 * The tensor of the entry with a name.
 *
 * @param values  any list
 * @param name    the name
 * @return        as it was added; ADZ_NONE when there is no such entry; NULL when an argument is
 *                NULL
 */
ADZ_API adz_tensor *adz_values_get(const adz_values *values, const char *name);

/**
 * An argument as a function's parameters are bound: the entry of that name, else the entry at that
 * position if it has no name.
 *
 * @param values  any list
 * @param index   the argument's position
 * @param name    the argument's name
 * @return        as it was added; ADZ_NONE when it is absent; NULL when an argument is NULL
 */
ADZ_API adz_tensor *adz_values_argument(const adz_values *values, size_t index, const char *name);

#ifdef __cplusplus
}
#endif

#endif
