#include "ops/std_var.h"

static const spread tested = { adz_var, .of_digits = 8.25f };

static const struct CMUnitTest facts[] = { SHARED_FACTS };

const op_case var_case = { STD_VAR_CASE("var") };
