/* Runs the calls of a trace again, by calling the operators: what a written step has to compute. */
#ifndef ADZE_TESTS_EXPORT_STEPS_REPLAY_H
#define ADZE_TESTS_EXPORT_STEPS_REPLAY_H

#include "adze/adze.h"
#include "export/trace.h"
#include "groups.h"
#include "errors.h"

typedef struct replay replay;

/** Copies the variables of a trace, which has to outlive the replay. */
replay *replay_new(const adzi_trace *trace);
void replay_free(replay *r);

/** Runs the step once on the inputs, with the settings that the optimizers have now. Returns the
 * result, borrowed from the scope. */
adz_tensor *replay_run(replay *r, adz_tensor *const *inputs);

/** What the variable of this name holds now; borrowed. Fails the test if there is none. */
adz_tensor *replay_variable(const replay *r, const char *name);

/** True for operators without an expression: the trace has the calls of all expressions. */
bool prints_primitives(const adz_operator *op);

/** How many used calls of the operator a trace has. */
int count_calls(const adzi_trace *trace, const char *op);

/** The most by which two tensors differ, relative to the largest element of b. NaN if one of them
 * has a NaN. */
double difference(adz_tensor *a, adz_tensor *b);

#endif
