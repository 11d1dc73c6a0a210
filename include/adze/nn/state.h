/**
 * @file state.h
 * Lists of tensors that modules, optimizers and files hand each other.
 */
#ifndef ADZE_NN_STATE_H
#define ADZE_NN_STATE_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Tensors in order, borrowed from whoever made the list. */
typedef struct adz_tensor_list {
    adz_tensor *const *items; /**< count tensors */
    size_t count;             /**< 0 or more */
} adz_tensor_list;

/** A tensor and its name, both borrowed. */
typedef struct adz_named_tensor {
    const char *name;   /**< "encoder.0.weight" */
    adz_tensor *tensor; /**< never NULL, never ADZ_NONE */
} adz_named_tensor;

/** Named tensors in order, borrowed from whoever made the list. */
typedef struct adz_named_list {
    const adz_named_tensor *items; /**< count entries */
    size_t count;                  /**< 0 or more */
} adz_named_list;

/**
 * A list over the caller's array, for calls that take one.
 *
 * @param items  count tensors; the array must outlive the list
 * @param count  0 or more
 * @return       the list
 */
ADZ_API adz_tensor_list adz_tensor_list_of(adz_tensor *const *items, size_t count);

/**
 * Named tensors that are kept: what adz_module_state_dict returns, and what loading reads.
 *
 * Each name stands once, in the order of adding; a tensor may stand under several names.
 */
typedef struct adz_state_dict adz_state_dict;

/**
 * An empty state.
 *
 * @return yours, end it with adz_state_dict_free; NULL when memory was refused
 */
ADZ_API adz_state_dict *adz_state_dict_new(void);

/**
 * Ends a state and its references.
 *
 * @param state  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_state_dict_free(adz_state_dict **state);

/**
 * Adds a tensor under a new name.
 *
 * @param state  changed
 * @param name   not empty, copied
 * @param t      kept, not copied: it shows later changes of its values
 * @return       ADZ_OK, ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (the name is empty or taken) or
 *               ADZ_ERR_MEMORY
 */
ADZ_API adz_status adz_state_dict_add(adz_state_dict *state, const char *name, adz_tensor *t);

/**
 * The number of entries.
 *
 * @param state  any state
 * @return       0 when state is NULL
 */
ADZ_API size_t adz_state_dict_count(const adz_state_dict *state);

/**
 * The name of one entry.
 *
 * @param state  any state
 * @param index  below adz_state_dict_count
 * @return       borrowed from the state; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API const char *adz_state_dict_name_at(const adz_state_dict *state, size_t index);

/**
 * The tensor of one entry.
 *
 * @param state  any state
 * @param index  below adz_state_dict_count
 * @return       borrowed from the state; NULL with ADZ_ERR_INDEX or ADZ_ERR_NULL recorded
 */
ADZ_API adz_tensor *adz_state_dict_at(const adz_state_dict *state, size_t index);

/**
 * Looks a tensor up by its name.
 *
 * @param state  any state
 * @param name   the whole name
 * @return       borrowed from the state; NULL, without an error, when there is none of that name
 */
ADZ_API adz_tensor *adz_state_dict_get(const adz_state_dict *state, const char *name);

#ifdef __cplusplus
}
#endif

#endif
