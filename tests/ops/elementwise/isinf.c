#include "ops/isnan_isfinite.h"

static const kind tested = { adz_isinf, .nan = 0, .infinity = 1, .number = 0 };

const op_case isinf_case = { ISNAN_ISFINITE_CASE("isinf") };
