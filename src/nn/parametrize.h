/* Parametrised parameters, for the files of src/nn that call modules, copy them or list their
 * parts.
 *
 * Note [Parametrised parameters]
 * The slot of a parametrised parameter holds NULL. Its originals and its parametrisations stand in
 * the child "parametrizations.<name>", a ParametrizationList, so that all that walks over a tree
 * finds them without a word about parametrisations. adzi_parameter() gives the value of the slot.
 *
 * Values are computed at the beginning of each call of their module and noted for the time of the
 * call. The note belongs to a frame of a thread, because several threads may call one module. A
 * read outside of such a call computes the value for itself. A call that was left by a jump leaves
 * its notes behind. They are dropped by the next call that gets the same frame and notes values;
 * until then nobody finds them, because a search begins at a frame of the module itself. */
#ifndef ADZI_NN_PARAMETRIZE_H
#define ADZI_NN_PARAMETRIZE_H

#include "nn/module.h"

/** Computes the parametrised parameters of a module for the call whose frame is the thread's
 * innermost one. False with the error recorded. */
bool adzi_parametrized_begin(adz_module *module);

/** Notes stand-ins for the values of a module that is printed: they have the shapes and no elements
 * worth reading, so that printing computes nothing. End it with adzi_parametrized_end(SIZE_MAX).
 * False with the error recorded. */
bool adzi_parametrized_stand_in(const adz_module *module);

/** Ends what adzi_parametrized_begin has noted for the thread's frames from `frame` on. */
void adzi_parametrized_end(size_t frame);

/** The ModuleDict with a module's parametrisations, or NULL. */
adz_module *adzi_parametrizations(const adz_module *module);

/** The list of the parametrised parameter i; NULL with the error recorded. */
adz_module *adzi_parametrization_list(const char *op, const adz_module *module, size_t i);

/** The result of a parametrisation for originals; NULL with the error recorded. */
adz_tensor *adzi_parametrization_apply(adz_module *parametrization, const adz_values *originals);

/** The position of a parameter that has to be parametrised, or SIZE_MAX with the error recorded. */
size_t adzi_parametrized_index(const char *op, const adz_module *module, const char *name);

/** Whether y has the shape and the dtype of t. Otherwise the error is recorded, which calls y
 * `what`; a NULL y has been reported. */
bool adzi_parametrized_like(
    const char *op, const char *what, const adz_tensor *y, const adz_tensor *t);

/** Appends what a parametrisation computes `value` from to `originals`. False with the error
 * recorded. */
bool adzi_parametrization_invert(
    const char *op, adz_module *parametrization, adz_tensor *value, adz_values *originals);

/** Adds a slot without a tensor to a copy of a module. False with the error recorded. */
bool adzi_parametrized_slot(const char *op, adz_module *module, const char *name);

/** Draws parametrised parameters again, as the constructor of the module drew the plain ones. */
adz_status adzi_parametrized_reset(adz_module *module);

/** Whether a module keeps vectors that each call in training moves, as spectral norm does. */
bool adzi_is_spectral_norm(const adz_module *module);

/** The state of a ParametrizationList. */
typedef struct adzi_parametrization_state {
    adz_shape shape; /* of the value */
} adzi_parametrization_state;

extern const adz_module_type adzi_parametrization_list_type;

#endif
