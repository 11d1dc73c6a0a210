/* What recurrent networks and their single cells share. */
#ifndef ADZI_NN_LAYERS_RECURRENT_H
#define ADZI_NN_LAYERS_RECURRENT_H

#include "adze/nn/recurrent.h"
#include "adze/ops/recurrent.h"
#include "nn/module.h"
#include "base/error.h"

typedef enum adzi_recurrent_kind { ADZI_LSTM, ADZI_GRU, ADZI_RNN } adzi_recurrent_kind;

/** Calls the operator of the kind. `inputs` are x, h0 and c0; only an LSTM reads c0 and sets c. */
adz_tensor *adzi_recurrent_call(adzi_recurrent_kind kind, const adz_rnn_options *o,
    adz_tensor *const *inputs, adz_tensor *const *weights, size_t n, adz_tensor **h,
    adz_tensor **c);

/** The nonlinearities that recurrent networks have, by adz_activation. */
extern const char *const adzi_recurrent_nonlinearities[];

/** Adds weight_ih, weight_hh and, with bias, bias_ih and bias_hh; the suffix ends their names.
 * Their elements are not set. */
bool adzi_recurrent_add_cell(adz_module *self, adzi_recurrent_kind kind, const char *suffix,
    int64_t in, int64_t hidden, bool bias, adz_dtype dtype);

/** Draws all parameters from U(-1/sqrt(F), 1/sqrt(F)) as PyTorch does. */
adz_status adzi_recurrent_reset(adz_module *self, int64_t hidden_size);

#endif
