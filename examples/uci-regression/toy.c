/* The toy set: draws rows, trains a network with two outputs, and draws the picture. */
#include "toy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/files.h"
#include "../shared/svg.h"
#include "../shared/interrupt.h"
#include "../shared/progress.h"
#include "../shared/ridge.h"
#include "plot.h"
#include "report.h"

/* Rows lie in [LEFT, GAP_LEFT] and [GAP_RIGHT, RIGHT]. */
static const double LEFT = -4, GAP_LEFT = -0.5, GAP_RIGHT = 1, RIGHT = 4;

enum { TRAIN_ROWS = 300, TEST_ROWS = 300, HIDDEN = 200, EPOCHS = 4000 };

static double truth(double x)
{
    return sin(1.5 * x) + 0.3 * x;
}

static double noise(double x)
{
    return 0.05 + 0.07 * (x - LEFT);
}

/* Draws n rows x[n, 1] and y[n, 1], f32. */
static adz_dataset *draw_rows(int64_t n)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_rand(ADZ_SHAPE(n, 1), ADZ_F32), *y = adz_randn(ADZ_SHAPE(n, 1), ADZ_F32);
    float *input = adz_tensor_data_f32(x), *value = adz_tensor_data_f32(y);
    for (int64_t i = 0; i < n; ++i) {
        double at = LEFT + input[i] * (GAP_LEFT - LEFT + RIGHT - GAP_RIGHT);
        at += at > GAP_LEFT ? GAP_RIGHT - GAP_LEFT : 0;
        input[i] = (float)at;
        value[i] = (float)(truth(at) + noise(at) * value[i]);
    }
    adz_tensor *both[] = { x, y };
    adz_dataset *rows = adz_dataset_new(both, 2);
    adz_scope_close(scope);
    return rows;
}

/* The network has two outputs for each row: the mean of y and the logarithm of its variance. */
static adz_tensor *mean_of(adz_tensor *outputs)
{
    return adz_narrow(outputs, -1, 0, 1);
}

static adz_tensor *log_variance_of(adz_tensor *outputs)
{
    return adz_narrow(outputs, -1, 1, 1);
}

/* The loss -2 log p(y) without its constant: (y - m)^2 / v + log v. */
static adz_tensor *surprise(adz_tensor *outputs, adz_tensor *y)
{
    adz_tensor *log_variance = log_variance_of(outputs);
    adz_tensor *error = adz_square(adz_sub(mean_of(outputs), y));
    return adz_add(adz_mul(error, adz_exp(adz_neg(log_variance))), log_variance);
}

static adz_tensor *gaussian_loss(adz_tensor *outputs, adz_tensor *y)
{
    return adz_mul_number(adz_mean(surprise(outputs, y), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.5);
}

/* ---- the band of the predictions ------------------------------------------------------------ */

typedef struct band {
    adz_tensor *mean, *spread, *total; /* [N, 1]: mean, its deviation over passes, with the noise */
} band;

static band predict_band(adz_module *network, adz_tensor *x, int64_t passes)
{
    adz_tensor *each = adz_to(predict_passes(network, x, passes), ADZ_F64);
    adz_tensor *variance = adz_var(mean_of(each), ADZ_DIMS(0), 0, ADZ_DROPDIM);
    adz_tensor *noisy = adz_mean(adz_exp(log_variance_of(each)), ADZ_DIMS(0), ADZ_DROPDIM);
    return (band){ adz_mean(mean_of(each), ADZ_DIMS(0), ADZ_DROPDIM), adz_sqrt(variance),
        adz_sqrt(adz_add(variance, noisy)) };
}

static double rmse(adz_tensor *y, adz_tensor *target)
{
    return sqrt(adz_item(adz_mse_loss(adz_to(y, ADZ_F64), target, ADZ_REDUCE_MEAN)));
}

static score score_toy(adz_module *network, adz_tensor *x, adz_tensor *y, int64_t passes)
{
    adz_tensor *each = adz_to(predict_passes(network, x, passes), ADZ_F64);
    adz_tensor *exponents = adz_mul_number(surprise(each, y), -0.5);
    adz_tensor *sums = adz_logsumexp(exponents, ADZ_DIMS(0), ADZ_DROPDIM);
    adz_module_eval(network);
    return (score){ .rmse = rmse(adz_mean(mean_of(each), ADZ_DIMS(0), ADZ_DROPDIM), y),
        .log_likelihood = adz_item(adz_mean(sums, ADZ_ALL_DIMS, ADZ_DROPDIM)) -
                          log((double)passes) - log(2 * acos(-1)) / 2,
        .rmse_no_dropout = rmse(mean_of(adz_module_forward(network, x)), y) };
}

/* The share of rows whose target lies within two deviations. */
static double coverage(const band *b, adz_tensor *y)
{
    adz_tensor *away = adz_abs(adz_sub(y, b->mean));
    adz_tensor *inside = adz_le(away, adz_mul_number(b->total, 2));
    return adz_item(adz_mean(adz_to(inside, ADZ_F64), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/* ---- the picture ---------------------------------------------------------------------------- */

static void draw(const options *o, adz_module *network, adz_dataset *train)
{
    enum { POINTS = 181 };
    static curve_point curve[POINTS];
    adz_tensor *x = adz_linspace(LEFT - 0.5, RIGHT + 0.5, POINTS, ADZ_F32);
    band b = predict_band(network, adz_reshape(x, ADZ_SHAPE(POINTS, 1)), 3000);
    for (int64_t i = 0; i < POINTS; ++i) {
        double at = adz_tensor_at(x, &i);
        curve[i] = (curve_point){ at, truth(at), noise(at), adz_tensor_data_f64(b.mean)[i],
            adz_tensor_data_f64(b.spread)[i], adz_tensor_data_f64(b.total)[i] };
    }
    picture p = { .curve = curve,
        .n_curve = POINTS,
        .x = adz_tensor_data_f32(adz_dataset_at(train, 0)),
        .y = adz_tensor_data_f32(adz_dataset_at(train, 1)),
        .n_rows = TRAIN_ROWS };
    draw_picture(o->plot, &p);
}

void run_toy(const options *o)
{
    if (plot_file(o->plot) != NULL) {
        check_writable(o->plot);
    }
    const network_shape shape = { 1, HIDDEN, 2, 0, 0.01 }; /* the only input is never dropped */
    double start = seconds_now();
    adz_scope *scope = adz_scope_open();
    adz_manual_seed((uint64_t)o->seed);
    adz_set_num_threads(1); /* a network this small is faster on one thread */
    adz_dataset *train = draw_rows(TRAIN_ROWS), *test = draw_rows(TEST_ROWS);
    adz_module *network = new_network(&shape);
    /* Each hidden unit bends at -bias / weight. With these values the bends spread over the range.
     */
    adz_init_uniform_(adz_module_get_parameter(network, "1.weight"), -1, 1, NULL);
    adz_init_uniform_(adz_module_get_parameter(network, "1.bias"), LEFT, RIGHT, NULL);
    double penalty = 1e-4 * (1 - shape.dropout) / (2.0 * TRAIN_ROWS);
    int64_t epochs = o->epochs > 0 ? o->epochs : EPOCHS;
    listen_to_interrupts();
    print_text("toy set: %d rows to train on, %d to test on; the noise grows from left to right",
        TRAIN_ROWS, TEST_ROWS);
    const recipe how = { .epochs = epochs, .capture = !o->no_capture };
    int64_t done = fit(network, train, gaussian_loss, penalty, &how);
    stop_listening();
    if (done < epochs) {
        printf("stopped by %s; %lld of %lld epochs are done\n", interrupt_name(), (long long)done,
            (long long)epochs);
    }
    outcome result = { .dropout = shape.dropout };
    ADZ_NO_GRAD
    {
        adz_tensor *x = adz_dataset_at(test, 0);
        adz_tensor *y = adz_to(adz_dataset_at(test, 1), ADZ_F64);
        result.score = score_toy(network, x, y, o->passes);
        ridge simple = fit_ridge(train, NULL);
        result.score.ridge_rmse = ridge_rmse(&simple, test);
        free_ridge(&simple);
        band b = predict_band(network, x, 1000);
        printf("%.1f%% of the test rows lie within two deviations of the predicted mean\n",
            100 * coverage(&b, y));
        draw(o, network, train);
    }
    print_result_line("toy", &result, 1, seconds_now() - start);
    adz_module_release(&network);
    adz_dataset_release(&train);
    adz_dataset_release(&test);
    adz_scope_close(scope);
}
