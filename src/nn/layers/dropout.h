/* Replaying masks: the dropouts of a module use given masks instead of drawing their own. */
#ifndef ADZI_NN_LAYERS_DROPOUT_H
#define ADZI_NN_LAYERS_DROPOUT_H

#include "adze/nn/dropout.h"
#include "nn/module.h"

/**
 * Begins a replay of `masks` in every module of the tree, or ends the replay if `masks` is NULL.
 * During a replay, each call of a dropout takes the next mask. A dropout with p 0 or in evaluation
 * mode takes none, because it does not change its argument. A dropout that finds no mask left
 * fails. The caller owns the list and keeps it until the replay ends.
 */
void adzi_module_replay(adz_module *module, adzi_masks *masks);

/** Dropout of x as a part of a module: by the next mask of a replay, or by a mask that is drawn. x
 * itself in evaluation and for p 0. */
adz_tensor *adzi_module_drop(adz_module *module, adz_tensor *x, double p, adz_generator *generator);

#endif
