#include "ops/max_min.h"

static const extreme tested = { adz_min, adz_min_dim, .sign = -1 };

const op_case min_case = { MAX_MIN_CASE("min") };
