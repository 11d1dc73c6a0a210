#include "ops/isnan_isfinite.h"

static const kind tested = { adz_isnan, .nan = 1, .infinity = 0, .number = 0 };

const op_case isnan_case = { ISNAN_ISFINITE_CASE("isnan") };
