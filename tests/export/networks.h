/* The networks whose exports are tested: the stateless modules of adze/nn and the networks of the
 * programs, small and in evaluation. */
#ifndef ADZE_TESTS_EXPORT_NETWORKS_H
#define ADZE_TESTS_EXPORT_NETWORKS_H

#include "adze/adze.h"
#include "export/onnx.h"

typedef struct network {
    const char *name;
    adz_module *(*make)(void);
    /** Inputs for a batch of `batch`, borrowed from the scope. */
    adz_tensor *(*input)(int64_t batch);
    bool fixed_batch; /* the file is for the batch size of its inputs only */
} network;

extern const network networks[];
extern const size_t n_networks;

/** Recurrent layers of x[5, 3, 6] whose three sequences have 5, 1 and 3 steps: y and the last
 * states. */
adz_tensor *lstm_of_lengths(adz_tensor *x);
adz_tensor *gru_of_lengths(adz_tensor *x);
adz_tensor *rnn_of_lengths(adz_tensor *x);

/** Operators that no layer has, of sequences [B, 5, 6]. */
adz_tensor *reductions_of(adz_tensor *x);
adz_tensor *shapes_of(adz_tensor *x);
adz_tensor *roll_of(adz_tensor *x);

/** Spectral norm, weight norm, and modules of channels, for images [B, 4, 6, 8]. */
adz_module *parametrized_network(void);

/** A network with parameters and buffers that no initial value has, in evaluation. */
adz_module *network_new(const network *n, adz_dtype dtype);

/** What adzi_write_onnx gets: the module's forward on x. `both` must outlive the export. */
typedef struct module_and_input {
    adz_module *module;
    adz_tensor *x;
} module_and_input;
adz_tensor *network_forward(void *both);

/** Writes the forward of a module on x, whose name is "x". */
adz_status network_write(
    adz_module *module, adz_tensor *x, const char *path, const adz_onnx_options *options);

#endif
