/* Gal and Ghahramani, "Dropout as a Bayesian Approximation" (2016). A network that was trained with
 * dropout predicts many times with dropout on. The spread of its predictions tells how sure it is.
 */
#include "recipe.h"

#include <adze/zoo.h>
#include <math.h>

#include "../shared/interrupt.h"
#include "../shared/ridge.h"
#include "../shared/steps.h"

enum { BATCH = 128, PASSES_AT_ONCE = 100 };

/* Two linear layers with dropout on the inputs of both. Weights begin Glorot-uniform, biases 0. */
adz_module *new_network(const network_shape *s)
{
    adz_module *network = ADZ_SEQUENTIAL(adz_darts_monte_carlo_dropout_new(s->input_dropout, NULL),
        adz_linear_new(s->inputs, s->hidden, NULL), adz_relu_new(),
        adz_darts_monte_carlo_dropout_new(s->dropout, NULL),
        adz_linear_new(s->hidden, s->outputs, NULL));
    adz_init_xavier_uniform_(adz_module_get_parameter(network, "1.weight"), 1, NULL);
    adz_init_xavier_uniform_(adz_module_get_parameter(network, "4.weight"), 1, NULL);
    adz_init_zeros_(adz_module_get_parameter(network, "1.bias"));
    adz_init_zeros_(adz_module_get_parameter(network, "4.bias"));
    return network;
}

/* The penalty r w^2 has the gradient 2 r w, which a weight decay of 2 r adds in Adam. The biases
 * are a group of their own without weight decay. */
static adz_optimizer *new_adam(adz_module *network, double penalty)
{
    adz_tensor *weights[] = { adz_module_get_parameter(network, "1.weight"),
        adz_module_get_parameter(network, "4.weight") };
    adz_tensor *biases[] = { adz_module_get_parameter(network, "1.bias"),
        adz_module_get_parameter(network, "4.bias") };
    adz_adam_options o = ADZ_ADAM_OPTIONS;
    o.eps = 1e-7;
    o.weight_decay = 2 * penalty;
    adz_optimizer *adam = adz_adam_new((adz_tensor_list){ weights, 2 }, 0.001, &o);
    int group = adz_optimizer_add_param_group(adam, (adz_tensor_list){ biases, 2 });
    adz_optimizer_set(adam, group, "weight_decay", 0);
    return adam;
}

typedef struct training {
    adz_module *network;
    loss_function loss;
    adz_optimizer *adam;
} training;

static adz_tensor *step(adz_tensor *const *batch, void *user)
{
    const training *t = user;
    adz_tensor *loss = t->loss(adz_module_forward(t->network, batch[0]), batch[1]);
    adz_backward(loss);
    adz_optimizer_step(t->adam);
    adz_optimizer_zero_grad(t->adam);
    return loss;
}

int64_t fit(
    adz_module *network, adz_dataset *rows, loss_function loss, double penalty, const recipe *how)
{
    training t = { network, loss, new_adam(network, penalty) };
    steps *each = new_steps(step, &t, 2, how->capture);
    adz_loader_options l = ADZ_LOADER_OPTIONS;
    l.batch_size = BATCH;
    l.shuffle = true;
    adz_loader *loader = adz_loader_new(rows, &l);
    adz_module_train(network, true);
    int64_t epoch = 0;
    while (epoch < how->epochs && !is_interrupted()) {
        adz_tensor *batch[2];
        adz_scope *scope = adz_scope_open();
        if (adz_loader_next(loader, batch)) {
            make_step(each, batch);
        } else {
            ++epoch;
        }
        adz_scope_close(scope); /* frees the step's tensors */
    }
    free_steps(each);
    adz_loader_free(&loader);
    adz_optimizer_release(&t.adam);
    return epoch;
}

adz_tensor *predict_passes(adz_module *network, adz_tensor *x, int64_t passes)
{
    int64_t n = adz_tensor_size(x, 0), inputs = adz_tensor_size(x, 1);
    adz_scope *scope = adz_scope_open();
    adz_tensor *all = NULL;
    adz_module_eval(network);
    adz_darts_set_mc_dropout(network, true); /* in evaluation too */
    ADZ_NO_GRAD
    {
        for (int64_t done = 0; done < passes; done += PASSES_AT_ONCE) {
            int64_t count = passes - done < PASSES_AT_ONCE ? passes - done : PASSES_AT_ONCE;
            adz_tensor *copies = adz_expand(x, ADZ_SHAPE(count, n, inputs));
            adz_tensor *y = adz_module_forward(network, copies);
            if (all == NULL) {
                int64_t outputs = adz_tensor_size(y, 2);
                all = adz_empty(ADZ_SHAPE(passes, n, outputs), ADZ_F32);
            }
            adz_copy_(adz_narrow(all, 0, done, count), y);
        }
    }
    adz_darts_set_mc_dropout(network, false);
    return adz_scope_return(scope, all);
}

/* log p(y) = logsumexp_t(-tau/2 (y - y_t)^2) - log T - log(2 pi)/2 + log(tau)/2, mean over rows */
static double log_likelihood(adz_tensor *passes, adz_tensor *y, double tau)
{
    const double pi = 3.14159265358979323846;
    double count = (double)adz_tensor_size(passes, 0);
    adz_tensor *exponents = adz_mul_number(adz_square(adz_sub(passes, y)), -tau / 2);
    adz_tensor *sums = adz_logsumexp(exponents, ADZ_DIMS(0), ADZ_DROPDIM);
    return adz_item(adz_mean(sums, ADZ_ALL_DIMS, ADZ_DROPDIM)) - log(count) - log(2 * pi) / 2 +
           log(tau) / 2;
}

static double rmse(adz_tensor *y, adz_tensor *target)
{
    return sqrt(adz_item(adz_mse_loss(y, target, ADZ_REDUCE_MEAN)));
}

static adz_tensor *squared_error(adz_tensor *outputs, adz_tensor *target)
{
    return adz_mse_loss(outputs, target, ADZ_REDUCE_MEAN);
}

/* Computes the score of a trained network, whose inputs and outputs are standardised. */
static void measure(score *s, adz_module *network, adz_module *inputs, adz_module *target,
    adz_dataset *rows, double tau, int64_t passes)
{
    adz_tensor *x = adz_to(adz_module_forward(inputs, adz_dataset_at(rows, 0)), ADZ_F32);
    adz_tensor *y = adz_dataset_at(rows, 1);
    adz_tensor *each = adz_standardizer_inverse(target, predict_passes(network, x, passes));
    s->rmse = rmse(adz_mean(each, ADZ_DIMS(0), ADZ_DROPDIM), y);
    s->log_likelihood = log_likelihood(each, y, tau);
    adz_module_eval(network);
    s->rmse_no_dropout = rmse(adz_standardizer_inverse(target, adz_module_forward(network, x)), y);
}

score train_and_score(const samples *rows, const recipe *how)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_dataset_at(rows->train, 0), *y = adz_dataset_at(rows->train, 1);
    adz_module *inputs = adz_standardizer_new(adz_tensor_size(x, 1), ADZ_F64);
    adz_module *target = adz_standardizer_new(1, ADZ_F64);
    adz_standardizer_fit(inputs, x);
    adz_standardizer_fit(target, y);
    adz_tensor *both[] = { adz_to(adz_module_forward(inputs, x), ADZ_F32),
        adz_to(adz_module_forward(target, y), ADZ_F32) };
    adz_dataset *standard = adz_dataset_new(both, 2);

    const network_shape shape = { adz_tensor_size(x, 1), how->hidden, 1, how->dropout,
        how->dropout };
    adz_module *network = new_network(&shape);
    double n = (double)adz_dataset_row_count(rows->train);
    double penalty = 1e-4 * (1 - how->dropout) / (2 * n * how->tau);
    score s = { .complete = fit(network, standard, squared_error, penalty, how) == how->epochs };
    if (s.complete) {
        ridge simple = fit_ridge(rows->train, NULL);
        s.ridge_rmse = ridge_rmse(&simple, rows->test);
        free_ridge(&simple);
        ADZ_NO_GRAD
        {
            measure(&s, network, inputs, target, rows->test, how->tau, how->passes);
        }
    }
    adz_module_release(&network);
    adz_dataset_release(&standard);
    adz_module_release(&target);
    adz_module_release(&inputs);
    adz_scope_close(scope);
    return s;
}
