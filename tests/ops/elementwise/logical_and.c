#include "ops/logical.h"

static const connective tested = { adz_logical_and, .one = 0, .both = 1 };

const op_case logical_and_case = { LOGICAL_CASE("logical_and") };
