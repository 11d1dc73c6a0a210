#include "ops/amax_amin.h"

static const extreme tested = { adz_amin, .sign = -1 };

const op_case amin_case = { AMAX_AMIN_CASE("amin") };
