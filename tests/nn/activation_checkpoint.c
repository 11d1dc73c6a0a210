/* Samples of activation checkpoints, whose activations the backward computes again. */
#include "nn/activation_checkpoint.h"

#define NETWORK(indent)                                                                            \
    indent "(0): Linear(in_features=4, out_features=6, bias=True)\n" indent "(1): Tanh()\n" indent \
           "(2): Dropout(p=0.4, inplace=False)\n" indent                                           \
           "(3): Linear(in_features=6, out_features=4, bias=True)\n"
#define INNER(name)                                                                 \
    "    (" name "): ActivationCheckpoint(\n      (module): Sequential(\n" NETWORK( \
        "        ") "      )\n    )\n"
#define WEIGHTS(at) at "0.weight " at "0.bias " at "3.weight " at "3.bias"

const module_case activation_checkpoint_module = {
    .name = "activation_checkpoint",
    .samples = { { checkpoint,
                     "ActivationCheckpoint(\n  (module): Sequential(\n" NETWORK("    ") "  )\n)",
                     WEIGHTS("module."), { X(2, 4) } },
        { nested,
            "ActivationCheckpoint(\n  (module): Sequential(\n" INNER(
                "0") "    (1): Dropout(p=0.2, inplace=False)\n" INNER("2") "  )\n)",
            WEIGHTS("module.0.module.") " " WEIGHTS("module.2.module."), { X(2, 4) } },
        { recurrent, "ActivationCheckpoint(\n  (module): LSTM(3, 2)\n)",
            "module.weight_ih_l0 module.weight_hh_l0 module.bias_ih_l0 module.bias_hh_l0",
            { X(3, 2, 3) } } },
    FACTS(activation_checkpoint_facts),
};
