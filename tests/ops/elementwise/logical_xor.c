#include "ops/logical.h"

static const connective tested = { adz_logical_xor, .one = 1, .both = 0 };

const op_case logical_xor_case = { LOGICAL_CASE("logical_xor") };
