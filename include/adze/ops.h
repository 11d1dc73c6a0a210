/**
 * @file ops.h
 * Every operator, by family.
 *
 * These rules hold for every operator:
 *
 * - Results are borrowed from the innermost scope.
 * - A NULL argument gives NULL.
 * - Arguments are checked before anything changes.
 * - Dtypes of two tensors promote by the rules of torch.result_type.
 * - Shapes broadcast by PyTorch's rules where a comment says so.
 * - A function whose name ends in an underscore changes its first argument and returns it.
 */
#ifndef ADZE_OPS_H
#define ADZE_OPS_H

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/compare.h"
#include "adze/ops/conv.h"
#include "adze/ops/convert.h"
#include "adze/ops/decomposition.h"
#include "adze/ops/dropout.h"
#include "adze/ops/embedding_bag.h"
#include "adze/ops/grid.h"
#include "adze/ops/index.h"
#include "adze/ops/linalg.h"
#include "adze/ops/loss.h"
#include "adze/ops/margin_loss.h"
#include "adze/ops/math.h"
#include "adze/ops/norm.h"
#include "adze/ops/order.h"
#include "adze/ops/pool.h"
#include "adze/ops/recurrent.h"
#include "adze/ops/reduction.h"
#include "adze/ops/rounding.h"
#include "adze/ops/shape.h"
#include "adze/ops/special.h"
#include "adze/ops/trigonometry.h"
#include "adze/ops/unpool.h"

#endif
