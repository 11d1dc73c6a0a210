/* What an operator's file is written with: the other operators, and how a call is checked, recorded
 * and launched (autograd/op.h, which begins with an example). */
#ifndef ADZI_OPS_OP_H
#define ADZI_OPS_OP_H

#include "adze/ops.h"
#include "autograd/form.h"
#include "autograd/op.h"
#include "base/composed.h"

/** Fails unless `t` is a living tensor or ADZ_NONE. */
static inline bool adzi_check_optional(const char *op, const char *name, const adz_tensor *t)
{
    return adzi_is_none(t) || adzi_check_tensor(op, name, t);
}

#endif
