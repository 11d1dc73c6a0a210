#include "ops/argmax_argmin.h"

static const extreme tested = { adz_argmin, .sign = -1 };

const op_case argmin_case = { ARGMAX_ARGMIN_CASE("argmin") };
