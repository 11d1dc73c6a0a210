/* Dropouts, for those who make other kinds of them and for those who replay masks. */
#ifndef ADZI_NN_DROPOUT_H
#define ADZI_NN_DROPOUT_H

#include "adze/nn/dropout.h"
#include "adze/nn/type.h"

/** Masks to use in place of drawn ones. */
typedef struct adzi_masks {
    adz_tensor *const *items;
    size_t count, next;
} adzi_masks;

/** The state of every kind of dropout module; their types' forward is adzi_dropout_forward. */
typedef struct adzi_dropout_state {
    double p;
    bool always; /* in evaluation too */
    adz_generator *generator;
    adzi_masks *masks; /* NULL: the generator draws */
} adzi_dropout_state;

adz_tensor *adzi_dropout_forward(adz_module *self, adz_tensor *x);
size_t adzi_dropout_repr(adz_module *self, char *buffer, size_t size);

/** A dropout module of a type; p in [0, 1]. */
adz_module *adzi_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options);

/**
 * From now on every dropout of the tree takes the next of these masks in place of drawing one, in
 * the order of the calls; NULL: draws again. One that leaves its argument alone (evaluation, p of
 * 0) takes none; one that finds none left fails. The list is the caller's.
 */
void adzi_module_replay(adz_module *module, adzi_masks *masks);

#endif
