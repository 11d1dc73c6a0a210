#include "ops/triangle.h"

static const triangle tested = { adz_triu, .lower = false,
    .kept = { { 1, 2, 3, 0, 5, 6 }, { 0, 2, 3, 0, 0, 6 }, { 0 } } };

const op_case triu_case = { TRIANGLE_CASE("triu") };
