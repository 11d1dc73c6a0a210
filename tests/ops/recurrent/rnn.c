#define STATES                 2
#define GATES                  1
#define OPTIONS                adz_rnn_options
#define DEFAULTS               ADZ_RNN_OPTIONS
#define RUN(x, h0, w, n, o, h) adz_rnn(x, h0, w, n, o, h)
#include "ops/recurrent/one_state.h"

/* p[5] = 1 for ReLU, 2 for an activation function that is refused. */
static int call(const op_args *a, adz_tensor **out)
{
    adz_rnn_options o = options_of(a);
    o.nonlinearity = a->p[5] == 0   ? ADZ_ACTIVATION_TANH
                     : a->p[5] == 1 ? ADZ_ACTIVATION_RELU
                                    : ADZ_ACTIVATION_GELU;
    out[0] = adz_rnn(a->in[0], a->in[1], a->in + STATES, n_weights(a), &o, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    a->p[5] = strcmp(config_text(config, "nonlinearity", "tanh"), "relu") == 0;
    return read_config(config, a);
}

const op_case rnn_case = {
    .name = "rnn",
    .call = call,
    .samples = {
        { .in = { IN(3, 2, 3), IN(1, 2, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN_T(2, 3, 3), IN_T(2, 2, 2), WEIGHTS(3, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 1, 1 } },
        { .in = { IN(2, 2, 1), IN_NONE, WEIGHTS(1, 2), WEIGHTS(2, 2) }, .p = { 2, 1, 0, 0 } },
        { .in = { IN(2, 0, 3), IN(1, 0, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN(3, 3), IN(1, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 } },
        { .in = { IN(2, 1, 2), IN(2, 1, 1), IN(1, 2), IN(1, 1), IN(1, 2), IN(1, 1) }, .p = { 1, 0, 0, 1 } },
        { .in = { IN_T(3, 4, 2), IN(4, 3, 2), NO_BIAS(2, 2), NO_BIAS(2, 2), NO_BIAS(4, 2), NO_BIAS(4, 2) }, .p = { 2, 0, 1, 1 }, .text = "241" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "13" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0, 0, 1 } },
    },
    .rejects = {
        { .in = { IN(3, 2, 4), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "weight_ih" },
        { .in = { IN(3, 2, 3), IN(1, 3, 2), WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "h0" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 2, 1, 0, 0 }, .status = ADZ_ERR_ARGUMENT, .says = "take 8" },
        { .in = { IN(0, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .status = ADZ_ERR_SHAPE, .says = "time steps" },
        { .in = { IN(3, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "3", .status = ADZ_ERR_ARGUMENT, .says = "no batch" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "321", .status = ADZ_ERR_SHAPE, .says = "lengths[3] must have shape [2]" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "30", .status = ADZ_ERR_INDEX, .says = "lengths[1] is 0, but must be 1 or more" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0 }, .text = "43", .status = ADZ_ERR_INDEX, .says = "lengths[0] is 4, but must be 1 or more and at most 3" },
        { .in = { IN(3, 2, 3), IN_NONE, WEIGHTS(3, 2) }, .p = { 1, 1, 0, 0, 0, 2 }, .status = ADZ_ERR_ARGUMENT, .says = "nonlinearity is 1" },
    },
    .vectors = { "rnn" },
    .inputs = { "x", "h0", NAMES("l0"), NAMES("l0_reverse"), NAMES("l1"), NAMES("l1_reverse") },
    .outputs = { "y", "h" },
    .config = config,
    FACTS(facts),
};
