#include "ops/comparison.h"

static const comparison tested = { adz_eq, adz_eq_number, .less = 0, .equal = 1, .greater = 0,
    .unordered = 0 };

const op_case eq_case = { COMPARISON_CASE("eq") };
