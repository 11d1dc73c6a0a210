#include "ops/maximum_minimum.h"

static const extreme tested = { adz_minimum, .largest = false };

const op_case minimum_case = { MAXIMUM_MINIMUM_CASE("minimum") };
