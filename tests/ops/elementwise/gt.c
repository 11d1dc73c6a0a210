#include "ops/comparison.h"

static const comparison tested = { adz_gt, adz_gt_number, .less = 0, .equal = 0, .greater = 1,
    .unordered = 0 };

const op_case gt_case = { COMPARISON_CASE("gt") };
