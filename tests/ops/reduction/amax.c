#include "ops/amax_amin.h"

static const extreme tested = { adz_amax, .sign = 1 };

const op_case amax_case = { AMAX_AMIN_CASE("amax") };
