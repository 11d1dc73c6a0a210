#include "ops/maximum_minimum.h"

static const extreme tested = { adz_maximum, .largest = true };

const op_case maximum_case = { MAXIMUM_MINIMUM_CASE("maximum") };
