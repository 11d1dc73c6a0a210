/**
 * @file ops.h
 * Every operator, by family.
 *
 * What holds for all of them: tensors that are results are borrowed from the innermost scope; a
 * NULL argument gives NULL; arguments are checked before anything changes; dtypes promote as
 * torch.result_type where two tensors meet; shapes broadcast as in PyTorch where a comment says so.
 * Functions whose name ends in an underscore change their first argument and return it.
 */
#ifndef ADZE_OPS_H
#define ADZE_OPS_H

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/dropout.h"
#include "adze/ops/index.h"
#include "adze/ops/linalg.h"
#include "adze/ops/loss.h"
#include "adze/ops/math.h"
#include "adze/ops/norm.h"
#include "adze/ops/recurrent.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"

#endif
