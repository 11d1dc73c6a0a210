#include "ops/comparison.h"

static const comparison tested = { adz_ne, adz_ne_number, .less = 1, .equal = 0, .greater = 1,
    .unordered = 1 };

const op_case ne_case = { COMPARISON_CASE("ne") };
