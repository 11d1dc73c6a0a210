#include "ops/logical.h"

static const connective tested = { adz_logical_or, .one = 1, .both = 1 };

const op_case logical_or_case = { LOGICAL_CASE("logical_or") };
