#include "ops/isnan_isfinite.h"

static const kind tested = { adz_isfinite, .nan = 0, .infinity = 0, .number = 1 };

const op_case isfinite_case = { ISNAN_ISFINITE_CASE("isfinite") };
