/* Learns y = x^2 from random points: the smallest complete training program. */
#include <stdio.h>

#include <adze/adze.h>

#include "shared/about.h"

static const char help[] =
    "Learns y = x^2 from random points: the smallest complete training program.\n"
    "\n"
    "usage: toy_regression\n";

int main(int argc, char **argv)
{
    begin_program("toy_regression", argc, argv, 0, help);
    adz_on_error(adz_die, NULL); /* the first call that fails ends the program */
    adz_manual_seed(42);

    adz_module *model =
        ADZ_SEQUENTIAL(adz_linear_new(1, 32, NULL), adz_relu_new(), adz_linear_new(32, 1, NULL));
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
    adz_module_print(model, stdout);

    for (int step = 0; step <= 2000; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_module_zero_grad(model);
        adz_tensor *x = adz_add_number(adz_mul_number(adz_rand(ADZ_SHAPE(32, 1), ADZ_F32), 2), -1);
        adz_tensor *loss =
            adz_mse_loss(adz_module_forward(model, x), adz_mul(x, x), ADZ_REDUCE_MEAN);
        adz_backward(loss);
        adz_optimizer_step(sgd);
        if (step % 500 == 0) {
            printf("step %4d  loss %.6f\n", step, adz_item(loss));
        }
        adz_scope_close(scope); /* frees the step's tensors */
    }

    adz_module_eval(model);
    ADZ_NO_GRAD
    {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = adz_linspace(-1, 1, 5, ADZ_F32);
        adz_tensor *y = adz_module_forward(model, adz_reshape(x, ADZ_SHAPE(5, 1)));
        for (int64_t i = 0; i < 5; ++i) {
            int64_t at[] = { i, 0 };
            printf("%5.2f^2 is about %.3f\n", adz_tensor_at(x, at), adz_tensor_at(y, at));
        }
        adz_scope_close(scope);
    }
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    return 0;
}
