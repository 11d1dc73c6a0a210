/* A module whose two linear layers share their weight. */
#ifndef ADZE_TESTS_IO_CHECKPOINT_TIED_H
#define ADZE_TESTS_IO_CHECKPOINT_TIED_H

#include "adze/nn.h"
#include "tensor/tensor.h"

static inline adz_tensor *forward_tied(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(
        adz_module_child_at(self, 1), adz_module_forward(adz_module_child_at(self, 0), x));
}

/* Two linear layers that share their weight. */
static inline adz_module *tied(void)
{
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Tied", .forward = forward_tied
    };
    adz_module *self = adz_module_new(&type, 0);
    adz_module_add_child(self, "encoder", adz_linear_new(3, 3, NULL));
    adz_module_add_child(self, "decoder", adz_linear_new(3, 3, NULL));
    adz_module_set_parameter(adz_module_child_at(self, 1), "weight",
        adz_module_parameter_at(adz_module_child_at(self, 0), 0));
    return self;
}

#endif
