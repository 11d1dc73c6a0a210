/**
 * @file adze.h
 * The core of adze and its shelves: all of libadze. adze/zoo.h has the networks of libadze-zoo.
 */
#ifndef ADZE_ADZE_H
#define ADZE_ADZE_H

#include "adze/autograd.h"
#include "adze/base.h"
#include "adze/custom.h"
#include "adze/data.h"
#include "adze/data_parallel.h"
#include "adze/distributed.h"
#include "adze/dlpack.h"
#include "adze/export.h"
#include "adze/functional.h"
#include "adze/io.h"
#include "adze/loops.h"
#include "adze/nn.h"
#include "adze/ops.h"
#include "adze/optim.h"
#include "adze/plan.h"
#include "adze/precision.h"
#include "adze/random.h"
#include "adze/real.h"
#include "adze/recurrence.h"
#include "adze/sequences.h"
#include "adze/solvers.h"
#include "adze/tensor.h"
#include "adze/typed.h"

#ifdef ADZ_SITES
#include "adze/sites.h"
#endif

#endif
