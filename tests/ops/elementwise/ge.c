#include "ops/comparison.h"

static const comparison tested = { adz_ge, adz_ge_number, .less = 0, .equal = 1, .greater = 1,
    .unordered = 0 };

const op_case ge_case = { COMPARISON_CASE("ge") };
