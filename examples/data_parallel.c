/* Learns y = x^2 from random points on several processes, the ranks of a group. Start it like this:
 *
 *     mpirun -n 2 build/examples/data_parallel
 *
 * Each step has 32 points, which are cut into 8 micro-batches. A rank computes some of them, and
 * adze adds up the gradients of all. The program prints the same numbers for 1 to 8 ranks. */
#include <stdio.h>
#include <stdlib.h>

#include <adze/adze.h>
#include <adze/mpi.h>

#include "shared/about.h"

static adz_group *group;

/* The first call that fails calls this function, so that no return value needs a check. */
static void die(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    if (group != NULL) {
        adz_group_abort(group, 1, message); /* ends all ranks */
    }
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static const char help[] = "Learns y = x^2 from random points on several processes.\n"
                           "\n"
                           "usage: mpirun -n N data_parallel\n";

int main(int argc, char **argv)
{
    begin_program("data_parallel", argc, argv, 0, help);
    adz_on_error(die, NULL);
    adz_manual_seed(42);
    group = adz_mpi_group_world();

    adz_module *model =
        ADZ_SEQUENTIAL(adz_linear_new(1, 32, NULL), adz_relu_new(), adz_linear_new(32, 1, NULL));
    adz_optimizer *sgd = adz_sgd_new(adz_module_parameters(model), 0.1, NULL);
    adz_data_parallel *parallel = adz_data_parallel_new(group, model, NULL);

    for (int step = 0; step <= 300; ++step) {
        adz_micro_batch m;
        double mean;
        adz_data_parallel_begin(parallel, step, 32);
        while (adz_data_parallel_next(parallel, &m)) {
            adz_scope *scope = adz_scope_open();
            adz_tensor *x =
                adz_rand(ADZ_SHAPE(m.count, 1), ADZ_F32); /* follows from the step and m */
            x = adz_add_number(adz_mul_number(x, 2), -1);
            adz_tensor *loss =
                adz_mse_loss(adz_module_forward(model, x), adz_mul(x, x), ADZ_REDUCE_MEAN);
            adz_data_parallel_backward(parallel, loss, m.weight);
            adz_scope_close(scope); /* frees the micro-batch's tensors */
        }
        adz_data_parallel_end(parallel, &mean);
        adz_data_parallel_step(parallel, sgd);
        if (step % 75 == 0 && adz_group_rank(group) == 0) {
            printf("step %4d  loss %.9f\n", step, mean);
        }
    }
    adz_data_parallel_free(&parallel);
    adz_optimizer_release(&sgd);
    adz_module_release(&model);
    adz_group_free(&group); /* finalises MPI */
    return 0;
}
