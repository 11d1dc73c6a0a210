/* Operators that misbehave. Only they have to record errors under their own names. */
#ifndef ADZE_TESTS_SWEEP_OPERATORS_H
#define ADZE_TESTS_SWEEP_OPERATORS_H

#include "adze/adze.h"

ADZ_API adz_tensor *adz_faulty_names_another(adz_tensor *t);

#endif
