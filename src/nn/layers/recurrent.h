/* What recurrent networks and their single cells share. */
#ifndef ADZI_NN_LAYERS_RECURRENT_H
#define ADZI_NN_LAYERS_RECURRENT_H

#include "adze/nn/recurrent.h"
#include "nn/module.h"
#include "ops/recurrent/recurrent_stack.h"
#include "base/error.h"

/** The nonlinearities that recurrent networks have, by adz_activation. */
extern const char *const adzi_recurrent_nonlinearities[];

/** What the parameters of one layer in one direction are like. */
typedef struct adzi_recurrent_parameters {
    const adzi_recurrent_cell *cell;
    int64_t in, hidden;
    bool bias;
    adz_dtype dtype;
} adzi_recurrent_parameters;

/** Adds weight_ih, weight_hh and, with bias, bias_ih and bias_hh; the suffix ends their names.
 * Their elements are not set. */
bool adzi_recurrent_add_parameters(
    adz_module *self, const char *suffix, const adzi_recurrent_parameters *p);

/** Fills x and the states of `net` from the arguments of a call: "x", "h0", and "c0" if the cell
 * has it, ADZ_NONE if left out. False with the error recorded if there is no x, or if a cell with
 * two states gets only one of them. */
bool adzi_recurrent_arguments(
    const adz_module *self, const adz_values *in, adzi_recurrent_stack *net);

/** Calls the operator with the parameters of the module, which were added in the order in which it
 * takes them. Returns y, and sets net->last. */
adz_tensor *adzi_recurrent_compute(adz_module *self, adzi_recurrent_stack *net);

/** Draws all parameters from U(-1/sqrt(F), 1/sqrt(F)) as PyTorch does. */
adz_status adzi_recurrent_reset(adz_module *self, int64_t hidden_size);

#endif
