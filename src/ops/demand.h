/* A demand on the elements of a tensor, which replays of a plan make again. */
#ifndef ADZI_OPS_DEMAND_H
#define ADZI_OPS_DEMAND_H

#include "ops/op.h"

/** Fails with the code and the message unless the bool scalar `flag` is true, now and in each
 * replay. The message is a constant. */
bool adzi_demand(const char *op, adz_tensor *flag, adz_status code, const char *message);

#endif
