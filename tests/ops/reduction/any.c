#include "ops/all_any.h"

static const truth tested = { adz_any, .one_of_two = 1, .of_none = 0 };

const op_case any_case = { ALL_ANY_CASE("any") };
