#include "ops/all_any.h"

static const truth tested = { adz_all, .one_of_two = 0, .of_none = 1 };

const op_case all_case = { ALL_ANY_CASE("all") };
