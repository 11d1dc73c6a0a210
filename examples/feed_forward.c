/* Trains a feed-forward network on pairs that a fixed rule makes, and writes its weights to a file
 * that PyTorch opens too. */
#include <stdio.h>

#include <adze/adze.h>

#include "shared/about.h"

/* The rule to learn: the tanh of each feature plus the feature before it. */
static adz_tensor *target(adz_tensor *x)
{
    adz_tensor *first = adz_slice(x, 1, 0, 7, 1), *rest = adz_slice(x, 1, 1, 8, 1);
    adz_tensor *parts[] = { adz_slice(x, 1, 0, 1, 1), adz_add(first, rest) };
    return adz_tanh(adz_cat(parts, 2, 1));
}

static const char help[] =
    "Trains a feed-forward network on pairs that a fixed rule makes, and writes its\n"
    "weights to a file that PyTorch opens too.\n"
    "\n"
    "usage: feed_forward [FILE.safetensors]\n";

int main(int argc, char **argv)
{
    begin_program("feed_forward", argc, argv, 1, help);
    adz_on_error(adz_die, NULL); /* the first call that fails ends the program */
    adz_manual_seed(42);

    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.activation = ADZ_ACTIVATION_GELU;
    adz_module *model = adz_feed_forward_new(8, 32, &o); /* d_model, d_ff */
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.05, NULL);

    for (int step = 0; step < 1000; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_module_zero_grad(model);
        adz_tensor *x = adz_randn(ADZ_SHAPE(64, 8), ADZ_F32);
        adz_tensor *loss = adz_mse_loss(adz_module_forward(model, x), target(x), ADZ_REDUCE_MEAN);
        adz_backward(loss);
        adz_optimizer_step(sgd);
        if (step % 250 == 0 || step == 999) {
            printf("step %3d  loss %.4f\n", step, adz_item(loss));
        }
        adz_scope_close(scope); /* frees the step's tensors */
    }
    if (argc > 1) {
        adz_module_save(model, argv[1]); /* PyTorch opens this file */
        printf("wrote %s\n", argv[1]);
    }
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    return 0;
}
