/* Trains a small network with batch norm and dropout on the ranks of MPI, and saves its weights.
 *
 *     train FILE [THREADS] [shard] [fast] [delegate]
 *
 * delegate: compares the fast mode with the default one, on the same ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <adze/adze.h>
#include <adze/mpi.h>

enum { ROWS = 50, WIDTH = 20, STEPS = 20 };

static adz_group *group;

static void die(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    if (group != NULL) {
        adz_group_abort(group, 1, message);
    }
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static adz_module *new_network(void)
{
    adz_manual_seed(1);
    return ADZ_SEQUENTIAL(adz_linear_new(WIDTH, 300, NULL), adz_batch_norm1d_new(300, NULL),
        adz_relu_new(), adz_dropout_new(0.1, NULL), adz_linear_new(300, 300, NULL),
        adz_batch_norm1d_new(300, NULL), adz_relu_new(), adz_linear_new(300, 1, NULL));
}

static adz_module *train(bool sgd, bool shard, bool fast)
{
    adz_module *network = new_network();
    const adz_tensor_list all = adz_module_parameters(network);
    adz_optimizer *optimizer = sgd ? adz_sgd_new(all, 0.05, NULL) : adz_adamw_new(all, 0.01, NULL);
    adz_data_parallel_options o = ADZ_DATA_PARALLEL_OPTIONS;
    o.bucket_bytes = 100000;
    o.fast = fast;
    adz_data_parallel *parallel = adz_data_parallel_new(group, network, &o);
    if (shard) {
        adz_data_parallel_shard(parallel, optimizer);
    }
    adz_tensor *x = adz_randn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32);
    adz_tensor *y = adz_sum(x, ADZ_DIMS(1), ADZ_KEEPDIM);
    for (int step = 0; step < STEPS; ++step) {
        adz_micro_batch m;
        adz_scope *scope = adz_scope_open();
        adz_data_parallel_begin(parallel, step, ROWS);
        while (adz_data_parallel_next(parallel, &m)) {
            adz_tensor *out = adz_module_forward(network, adz_narrow(x, 0, m.begin, m.count));
            adz_tensor *target = adz_narrow(y, 0, m.begin, m.count);
            adz_data_parallel_backward(
                parallel, adz_mse_loss(out, target, ADZ_REDUCE_MEAN), m.weight);
        }
        adz_data_parallel_end(parallel, NULL);
        adz_clip_grad_norm(adz_module_parameters(network), 1, 2);
        adz_data_parallel_step(parallel, optimizer);
        adz_scope_close(scope);
    }
    adz_data_parallel_free(&parallel);
    adz_optimizer_release(&optimizer);
    return network;
}

/* The largest difference of two networks' parameters, divided by 1 plus the parameter. */
static double difference(adz_module *a, adz_module *b)
{
    adz_tensor_list p = adz_module_parameters(a), q = adz_module_parameters(b);
    double most = 0;
    for (size_t i = 0; i < p.count; ++i) {
        const float *u = adz_tensor_data_f32(p.items[i]), *v = adz_tensor_data_f32(q.items[i]);
        for (int64_t k = 0; k < adz_tensor_numel(p.items[i]); ++k) {
            most = fmax(most, fabs(u[k] - v[k]) / (1 + fabs(v[k])));
        }
    }
    return most;
}

int main(int argc, char **argv)
{
    bool shard = false, fast = false, delegate = false;
    adz_on_error(die, NULL);
    group = adz_mpi_group_world();
    for (int i = 2; i < argc; ++i) {
        shard = shard || strcmp(argv[i], "shard") == 0;
        fast = fast || strcmp(argv[i], "fast") == 0;
        delegate = delegate || strcmp(argv[i], "delegate") == 0;
        if (atoi(argv[i]) > 0) {
            adz_set_num_threads(atoi(argv[i]));
        }
    }
    adz_module *network = train(delegate, shard, fast);
    bool good = true;
    if (delegate) {
        adz_module *other = train(true, false, true);
        const double most = difference(other, network);
        good = most < 1e-4;
        printf("the fast mode differs by %.2g\n", most);
        adz_module_release(&other);
    } else if (adz_group_rank(group) == 0) {
        adz_module_save(network, argv[1]);
    }
    adz_module_release(&network);
    adz_group_free(&group);
    return good ? 0 : 1;
}
