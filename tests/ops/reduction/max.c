#include "ops/max_min.h"

static const extreme tested = { adz_max, adz_max_dim, .sign = 1 };

const op_case max_case = { MAX_MIN_CASE("max") };
