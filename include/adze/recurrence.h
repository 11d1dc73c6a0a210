/**
 * @file recurrence.h
 * A recurrent layer of any cell: a module that calls a cell for each step of a sequence, by
 * adz_scan (PyTorch: torch.nn.RNN is such a layer of torch.nn.RNNCell; Keras:
 * keras.layers.RNN(cell)).
 *
 * @code
 * // A leaky integrator: h = a h + (1 - a) x W^T + b. Its output is tanh(h).
 * static adz_status leaky_call(adz_module *self, const adz_values *in, adz_values *out)
 * {
 *     adz_tensor *x = adz_values_argument(in, 0, "x"), *h = adz_values_argument(in, 1, "h");
 *     adz_tensor *next = adz_lerp(adz_module_forward(adz_module_child_at(self, 0), x), h,
 *         adz_sigmoid(adz_module_parameter_at(self, 0)));
 *     adz_values_add(out, "", adz_tanh(next));
 *     return adz_values_add(out, "h", next);
 * }
 *
 * static size_t leaky_states(adz_module *self, adz_cell_state *states)
 * {
 *     adz_tensor *a = adz_module_parameter_at(self, 0);
 *     states[0].name = "h";
 *     states[0].shape = adz_tensor_shape(a);
 *     return 1;
 * }
 *
 * static const adz_module_type leaky_type = { .size = sizeof(adz_module_type),
 *     .name = "LeakyCell",
 *     .call = leaky_call,
 *     .cell_states = leaky_states };
 *
 * static adz_module *leaky_layer(int64_t in, int64_t hidden)
 * {
 *     adz_module *cell = adz_module_new(&leaky_type, 0);
 *     adz_scope *scope = adz_scope_open();
 *     adz_module_add_parameter(cell, "a", adz_zeros(ADZ_SHAPE(hidden), ADZ_F32));
 *     adz_module_add_child(cell, "linear", adz_linear_new(in, hidden, NULL));
 *     adz_scope_close(scope);
 *     return adz_recurrent_new(cell, NULL); // y = adz_module_forward(layer, x), x[T, B, in]
 * }
 * @endcode
 */
#ifndef ADZE_RECURRENCE_H
#define ADZE_RECURRENCE_H

#include "adze/nn.h"

#ifdef __cplusplus
extern "C" {
#endif

/** Options of a recurrent layer. Start from ADZ_RECURRENT_OPTIONS. */
typedef struct adz_recurrent_options {
    size_t size;      /**< sizeof(adz_recurrent_options) */
    bool batch_first; /**< x and y are [B, T, ...] instead of [T, B, ...]; false */
    bool reverse;     /**< begins with the last step of x, or of each sequence if there are lengths;
                           false */
    int64_t truncated_bptt_steps; /**< truncated backpropagation through time: after so many steps
                                       the states go on, and their gradients do not. 1 to 65535; 0:
                                       gradients go through all steps; 0 */
} adz_recurrent_options;

/** The defaults. */
#define ADZ_RECURRENT_OPTIONS                                                            \
    {                                                                                    \
        ADZ_MEMBER(size, sizeof(adz_recurrent_options)), ADZ_MEMBER(batch_first, false), \
            ADZ_MEMBER(reverse, false), ADZ_MEMBER(truncated_bptt_steps, 0)              \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_recurrent_options) as the caller knows it
 */
ADZ_API void adz_recurrent_options_init(adz_recurrent_options *options, size_t size);

/**
 * A layer that calls a recurrent cell for each step of a sequence.
 *
 *     y_t, states = cell(x_t, states)   for t = 0, 1, ..., T-1
 *
 * A cell is a module whose type declares its states (adz_module_type.cell_states), such as
 * adz_gru_cell_new, adz_lstm_cell_new and adz_rnn_cell_new, a type of the program, or an
 * adz_activation_checkpoint_new around one of them. It is called with x_t[B, ...] and its states by
 * position. It gives the next states, of which the first one is y_t, too; or y_t and behind it the
 * next states.
 *
 * A call of the layer takes x[T, B, ...] ([B, T, ...] with batch_first) with one step or more, and
 * may take the initial states, all or none, by position or under their names with a 0 behind them,
 * such as "h0" [B, H]; left out, they are zeros in the dtype of x. It may take "lengths", int64
 * [B], 1 .. T, if x is padded. Its results are y[T, B, ...], where y[t] belongs to x[t], and under
 * their names, such as "h", the states after the last step of each sequence.
 *
 * With lengths the padding may hold anything: the cell gets 0 there, states pass it unchanged, y is
 * 0 in it, and no gradient flows into it or out of it. The cell computes the padding, so its
 * derivatives at 0 must be finite.
 *
 * The steps are those of adz_scan: derivatives of any order have the bits of the unrolled program,
 * a plan has a loop, and exports write one. So the cell does the same in each step. A sequence has
 * at most 65535 steps; with truncated_bptt_steps so many pieces of at most so many steps.
 *
 * The parameters are those of the cell, such as "cell.weight_ih".
 *
 * @param cell     its reference is taken over in every case, failure included; take one more with
 *                 adz_module_keep to go on using it elsewhere
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 *                 (an option; a module that is no cell), ADZ_ERR_OWNERSHIP or ADZ_ERR_MEMORY
 *                 recorded
 * @see            keras.layers.RNN
 */
ADZ_API adz_module *adz_recurrent_new(adz_module *cell, const adz_recurrent_options *options);

#ifdef __cplusplus
}
#endif

#endif
