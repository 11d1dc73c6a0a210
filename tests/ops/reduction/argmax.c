#include "ops/argmax_argmin.h"

static const extreme tested = { adz_argmax, .sign = 1 };

const op_case argmax_case = { ARGMAX_ARGMIN_CASE("argmax") };
