/* Plans that the library makes of a program's function by itself. */
#ifndef ADZI_PLAN_ATTEMPT_H
#define ADZI_PLAN_ATTEMPT_H

#include "adze/plan.h"

/** adz_plan_new for a function of the program that has not asked for a plan. What cannot be
 * captured is computed as by an ordinary call. Then the result is NULL, and so does adz_plan_run
 * fail later, without an error recorded. */
adz_plan *adzi_plan_attempt(const char *op, adz_plan_function function, void *user);

#endif
