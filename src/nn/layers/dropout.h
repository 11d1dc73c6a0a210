/* Dropouts, for those who make other kinds of them and for those who replay masks. */
#ifndef ADZI_NN_LAYERS_DROPOUT_H
#define ADZI_NN_LAYERS_DROPOUT_H

#include "adze/nn/dropout.h"
#include "nn/module.h"

/** The state of every kind of dropout module, whose types have the three functions below. */
typedef struct adzi_dropout_state {
    double p;
    bool always; /* in evaluation too */
    adz_generator *generator;
} adzi_dropout_state;

adz_tensor *adzi_dropout_forward(adz_module *self, adz_tensor *x);
size_t adzi_dropout_repr(adz_module *self, char *buffer, size_t size);
bool adzi_dropout_step(adz_module *self, adz_bias_activation_options *step);

/** A dropout module of a type; p in [0, 1]. */
adz_module *adzi_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options);

/** A module's part of a replay: the next mask; NULL with the error recorded. Only
 * where self->masks is not NULL and the module would draw. */
adz_tensor *adzi_next_mask(adz_module *self);

/**
 * From now on every dropout of the tree takes the next of these masks in place of drawing one, in
 * the order of the calls; NULL: draws again. One that leaves its argument alone (evaluation, p of
 * 0) takes none; one that finds none left fails. The list is the caller's.
 * A module of another kind that draws takes part by looking at self->masks.
 */
void adzi_module_replay(adz_module *module, adzi_masks *masks);

#endif
