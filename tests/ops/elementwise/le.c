#include "ops/comparison.h"

static const comparison tested = { adz_le, adz_le_number, .less = 1, .equal = 1, .greater = 0,
    .unordered = 0 };

const op_case le_case = { COMPARISON_CASE("le") };
