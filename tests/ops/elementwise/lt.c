#include "ops/comparison.h"

static const comparison tested = { adz_lt, adz_lt_number, .less = 1, .equal = 0, .greater = 0,
    .unordered = 0 };

const op_case lt_case = { COMPARISON_CASE("lt") };
