/**
 * @file optim.h
 * Optimizers, learning-rate schedulers, gradient clipping.
 */
#ifndef ADZE_OPTIM_H
#define ADZE_OPTIM_H

#include "adze/optim/adagrad.h"
#include "adze/optim/adam.h"
#include "adze/optim/adam_family.h"
#include "adze/optim/averaged_model.h"
#include "adze/optim/clip.h"
#include "adze/optim/lbfgs.h"
#include "adze/optim/levenberg_marquardt.h"
#include "adze/optim/one_cycle.h"
#include "adze/optim/optimizer.h"
#include "adze/optim/plateau.h"
#include "adze/optim/radam.h"
#include "adze/optim/rmsprop.h"
#include "adze/optim/scheduler.h"
#include "adze/optim/sgd.h"
#include "adze/optim/type.h"

#endif
