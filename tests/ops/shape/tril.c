#include "ops/triangle.h"

static const triangle tested = { adz_tril, .lower = true,
    .kept = { { 1, 0, 0, 4, 5, 0 }, { 1, 2, 0, 4, 5, 6 }, { 1, 2, 3, 4, 5, 6 } } };

const op_case tril_case = { TRIANGLE_CASE("tril") };
