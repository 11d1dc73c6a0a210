/**
 * @file nn.h
 * Modules, one header per family.
 */
#ifndef ADZE_NN_H
#define ADZE_NN_H

#include "adze/nn/activation_checkpoint.h"
#include "adze/nn/activations.h"
#include "adze/nn/adaptive_softmax.h"
#include "adze/nn/attention.h"
#include "adze/nn/batch_norm.h"
#include "adze/nn/containers.h"
#include "adze/nn/conv.h"
#include "adze/nn/dropout.h"
#include "adze/nn/embedding.h"
#include "adze/nn/feed_forward.h"
#include "adze/nn/flat_parameters.h"
#include "adze/nn/functions.h"
#include "adze/nn/group_norm.h"
#include "adze/nn/init.h"
#include "adze/nn/layer_norm.h"
#include "adze/nn/linear.h"
#include "adze/nn/load.h"
#include "adze/nn/loss.h"
#include "adze/nn/lstm.h"
#include "adze/nn/module.h"
#include "adze/nn/pad.h"
#include "adze/nn/parametrize.h"
#include "adze/nn/pool.h"
#include "adze/nn/recurrent.h"
#include "adze/nn/shape.h"
#include "adze/nn/state.h"
#include "adze/nn/transformer.h"
#include "adze/nn/type.h"
#include "adze/nn/values.h"

#endif
