/* adze-bench: what dispatch costs, measured in this process.
 *
 *     adze-bench op NAME [--size N] [--json]   one operator, forward, and with its backward
 *     adze-bench toy [--json]                  the training step of Linear(1,32) ReLU Linear(32,1)
 *     adze-bench mlp [--json]                  the training step of uci-regression's network
 *     adze-bench deep [--ops N] [--json]       a chain of N additions: forward, backward, freeing
 *
 * Times are medians and minima over many rounds after a warm-up. Nothing here fails for being slow.
 */
#define _GNU_SOURCE
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "adze/adze.h"

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void die(adz_status status, const char *message, void *user)
{
    (void)user;
    fprintf(stderr, "adze-bench: %s: %s\n", adz_status_name(status), message);
    exit(EXIT_FAILURE);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

typedef struct {
    double median, least;
} timing;

enum { ROUNDS = 41 };

/* Seconds per call of `work`, each round long enough for the clock. */
static timing measure(void (*work)(void *), void *user, int calls)
{
    double seconds[ROUNDS];
    for (int i = 0; i < calls; ++i) {
        work(user);
    }
    for (int r = 0; r < ROUNDS; ++r) {
        double start = now();
        for (int i = 0; i < calls; ++i) {
            work(user);
        }
        seconds[r] = (now() - start) / calls;
    }
    qsort(seconds, ROUNDS, sizeof *seconds, by_value);
    return (timing){ seconds[ROUNDS / 2], seconds[0] };
}

/* ---- op ----------------------------------------------------------------------------------------
 */

typedef struct {
    const char *name;
    adz_tensor *(*call)(adz_tensor *a, adz_tensor *b);
} operation;

static adz_tensor *call_relu(adz_tensor *a, adz_tensor *b)
{
    (void)b;
    return adz_relu(a);
}

static adz_tensor *call_sum(adz_tensor *a, adz_tensor *b)
{
    (void)b;
    return adz_sum(a, ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_tensor *call_mse(adz_tensor *a, adz_tensor *b)
{
    return adz_mse_loss(a, b, ADZ_REDUCE_MEAN);
}

static adz_tensor *call_dropout(adz_tensor *a, adz_tensor *b)
{
    (void)b;
    return adz_dropout(a, 0.1, true, NULL);
}

static const operation operations[] = { { "add", adz_add }, { "mul", adz_mul },
    { "relu", call_relu }, { "sum", call_sum }, { "mse_loss", call_mse },
    { "dropout", call_dropout } };

typedef struct {
    const operation *op;
    adz_tensor *a, *b, *upstream;
    bool backward;
} op_work;

static void run_op(void *user)
{
    op_work *w = user;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = w->op->call(w->a, w->b);
    if (w->backward) {
        adz_backward_with(&y, &w->upstream, 1, NULL);
        adz_tensor_set_grad(w->a, ADZ_NONE);
    }
    adz_scope_close(scope);
}

static int bench_op(const char *name, int64_t size, bool json)
{
    op_work w = { .op = NULL };
    for (size_t i = 0; i < sizeof operations / sizeof *operations; ++i) {
        w.op = strcmp(operations[i].name, name) == 0 ? &operations[i] : w.op;
    }
    if (w.op == NULL) {
        fprintf(stderr,
            "adze-bench: no operator '%s' here; there are add, mul, relu, sum, mse_loss, dropout\n",
            name);
        return EXIT_FAILURE;
    }
    w.a = adz_requires_grad_(adz_keep(adz_randn(ADZ_SHAPE(size), ADZ_F32)), true);
    w.b = adz_keep(adz_randn(ADZ_SHAPE(size), ADZ_F32));
    w.upstream = adz_keep(adz_ones_like(w.op->call(w.a, w.b)));
    int calls = size < 4096 ? 2000 : size < 1 << 20 ? 20 : 2;
    adz_set_grad_enabled(false);
    timing plain = measure(run_op, &w, calls);
    adz_set_grad_enabled(true);
    timing recorded = measure(run_op, &w, calls);
    w.backward = true;
    timing both = measure(run_op, &w, calls);
    printf(json ? "{\"op\": \"%s\", \"size\": %lld, \"forward_ns\": %.1f, \"recorded_ns\": %.1f, "
                  "\"with_backward_ns\": %.1f}\n"
                : "%s over %lld elements: %.1f ns, recorded %.1f ns, with backward %.1f ns\n",
        name, (long long)size, plain.median * 1e9, recorded.median * 1e9, both.median * 1e9);
    adz_release(&w.a);
    adz_release(&w.b);
    adz_release(&w.upstream);
    return EXIT_SUCCESS;
}

/* ---- toy ---------------------------------------------------------------------------------------
 */

typedef struct {
    adz_tensor *w1, *b1, *w2, *b2, *x, *target;
} toy;

static void update(adz_tensor *p)
{
    float *value = adz_tensor_data_f32(p);
    const float *grad = adz_tensor_data_f32(adz_tensor_grad(p));
    for (int64_t i = 0, n = adz_tensor_numel(p); i < n; ++i) {
        value[i] -= 0.01f * grad[i];
    }
    adz_tensor_touch(p);
}

static void run_toy(void *user)
{
    toy *t = user;
    adz_scope *scope = adz_scope_open();
    adz_tensor *h = adz_relu(adz_linear(t->x, t->w1, t->b1));
    adz_tensor *loss = adz_mse_loss(adz_linear(h, t->w2, t->b2), t->target, ADZ_REDUCE_MEAN);
    adz_tensor *parameters[] = { t->w1, t->b1, t->w2, t->b2 };
    for (int i = 0; i < 4; ++i) {
        adz_tensor_set_grad(parameters[i], ADZ_NONE);
    }
    adz_backward(loss);
    for (int i = 0; i < 4; ++i) {
        update(parameters[i]);
    }
    adz_scope_close(scope);
}

static adz_tensor *parameter(adz_shape shape)
{
    return adz_requires_grad_(adz_keep(adz_mul_number(adz_randn(shape, ADZ_F32), 0.3)), true);
}

/* The same step written out by hand for this one network: what nothing can undercut by much. */
typedef struct {
    float w1[32], b1[32], w2[32], b2, x[32], target[32];
} by_hand;

static void run_by_hand(void *user)
{
    by_hand *n = user;
    float h[32][32], dy[32], dw1[32] = { 0 }, db1[32] = { 0 }, dw2[32] = { 0 }, db2 = 0;
    for (int r = 0; r < 32; ++r) {
        float y = n->b2;
        for (int j = 0; j < 32; ++j) {
            float v = n->x[r] * n->w1[j] + n->b1[j];
            h[r][j] = v > 0 ? v : 0;
            y += h[r][j] * n->w2[j];
        }
        dy[r] = (y - n->target[r]) * (2.0f / 32);
    }
    for (int r = 0; r < 32; ++r) {
        db2 += dy[r];
        for (int j = 0; j < 32; ++j) {
            float dh = h[r][j] > 0 ? dy[r] * n->w2[j] : 0;
            dw2[j] += dy[r] * h[r][j];
            db1[j] += dh;
            dw1[j] += dh * n->x[r];
        }
    }
    for (int j = 0; j < 32; ++j) {
        n->w1[j] -= 0.01f * dw1[j];
        n->b1[j] -= 0.01f * db1[j];
        n->w2[j] -= 0.01f * dw2[j];
    }
    n->b2 -= 0.01f * db2;
}

static int bench_toy(bool json)
{
    adz_scope *scope = adz_scope_open();
    toy t = { parameter(ADZ_SHAPE(32, 1)), parameter(ADZ_SHAPE(32)), parameter(ADZ_SHAPE(1, 32)),
        parameter(ADZ_SHAPE(1)), adz_randn(ADZ_SHAPE(32, 1), ADZ_F32), NULL };
    t.target = adz_mul(t.x, t.x);
    by_hand n = { .b2 = 0 };
    memcpy(n.x, adz_tensor_data(t.x), sizeof n.x);
    memcpy(n.target, adz_tensor_data(t.target), sizeof n.target);
    memcpy(n.w1, adz_tensor_data(t.w1), sizeof n.w1);
    memcpy(n.w2, adz_tensor_data(t.w2), sizeof n.w2);
    timing step = measure(run_toy, &t, 1000), floor = measure(run_by_hand, &n, 1000);
    printf(
        json ? "{\"bench\": \"toy\", \"median_us\": %.3f, \"min_us\": %.3f, \"by_hand_us\": %.3f}\n"
             : "toy step: %.3f us (least %.3f), written out by hand %.3f us\n",
        step.median * 1e6, step.least * 1e6, floor.median * 1e6);
    adz_tensor *parameters[] = { t.w1, t.b1, t.w2, t.b2 };
    for (int i = 0; i < 4; ++i) {
        adz_release(&parameters[i]);
    }
    adz_scope_close(scope);
    return EXIT_SUCCESS;
}

/* ---- mlp ---------------------------------------------------------------------------------------
 */

/* Dropout, Linear(13, 50), ReLU, dropout, Linear(50, 1) on 128 rows, with Adam. */
typedef struct {
    adz_module *network;
    adz_optimizer *adam;
    adz_tensor *weights[2], *biases[2], *x, *target;
    double penalty; /* on the squared weights, in the loss; 0 where Adam's weight decay has it */
} mlp;

static void run_mlp(void *user)
{
    mlp *m = user;
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_module_forward(m->network, m->x);
    adz_tensor *loss = adz_mse_loss(y, m->target, ADZ_REDUCE_MEAN);
    for (int i = 0; i < 2 && m->penalty > 0; ++i) {
        adz_tensor *squares = adz_sum(adz_square(m->weights[i]), ADZ_ALL_DIMS, ADZ_DROPDIM);
        loss = adz_add_scaled(loss, squares, m->penalty);
    }
    adz_module_zero_grad(m->network);
    adz_backward(loss);
    adz_optimizer_step(m->adam);
    adz_scope_close(scope);
}

static mlp new_mlp(double penalty, bool in_loss)
{
    mlp m = { .penalty = in_loss ? penalty : 0 };
    m.network = ADZ_SEQUENTIAL(adz_dropout_new(0.05, NULL), adz_linear_new(13, 50, NULL),
        adz_relu_new(NULL), adz_dropout_new(0.05, NULL), adz_linear_new(50, 1, NULL));
    m.weights[0] = adz_module_parameter(m.network, "1.weight");
    m.weights[1] = adz_module_parameter(m.network, "4.weight");
    m.biases[0] = adz_module_parameter(m.network, "1.bias");
    m.biases[1] = adz_module_parameter(m.network, "4.bias");
    m.x = adz_randn(ADZ_SHAPE(128, 13), ADZ_F32);
    m.target = adz_randn(ADZ_SHAPE(128, 1), ADZ_F32);
    adz_adam_options o = ADZ_ADAM_OPTIONS;
    o.weight_decay = in_loss ? 0 : 2 * penalty;
    m.adam = adz_adam_new((adz_tensor_list){ m.weights, 2 }, 0.001, &o);
    int biases = adz_optimizer_add_param_group(m.adam, (adz_tensor_list){ m.biases, 2 });
    adz_optimizer_set(m.adam, biases, "weight_decay", 0);
    return m;
}

static int bench_mlp(bool json)
{
    adz_scope *scope = adz_scope_open();
    timing t[2];
    for (int in_loss = 0; in_loss < 2; ++in_loss) {
        mlp m = new_mlp(1e-6, in_loss != 0);
        t[in_loss] = measure(run_mlp, &m, 500);
        adz_optimizer_free(&m.adam);
        adz_module_free(&m.network);
    }
    printf(json ? "{\"bench\": \"mlp\", \"median_us\": %.3f, \"min_us\": %.3f, "
                  "\"penalty_in_loss_median_us\": %.3f, \"penalty_in_loss_min_us\": %.3f}\n"
                : "mlp step: %.3f us (least %.3f); with the penalty written into the loss %.3f us "
                  "(least %.3f)\n",
        t[0].median * 1e6, t[0].least * 1e6, t[1].median * 1e6, t[1].least * 1e6);
    adz_scope_close(scope);
    return EXIT_SUCCESS;
}

/* ---- deep --------------------------------------------------------------------------------------
 */

static int bench_deep(int ops, bool json)
{
    double best[3] = { 1e9, 1e9, 1e9 };
    adz_memory_info info;
    for (int round = 0; round < 5; ++round) {
        adz_scope *scope = adz_scope_open();
        double start = now();
        adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(1), ADZ_F32), true), *h = x;
        adz_tensor *step = adz_full(ADZ_SHAPE(1), 1e-6, ADZ_F32);
        for (int i = 0; i < ops; ++i) {
            h = adz_add(h, step);
        }
        double forward = now();
        adz_backward(h);
        double backward = now();
        adz_memory_info_get(&info, sizeof info);
        double closing = now();
        adz_scope_close(scope);
        double end = now();
        double parts[] = { forward - start, backward - forward, end - closing };
        for (int i = 0; i < 3; ++i) {
            best[i] = parts[i] < best[i] ? parts[i] : best[i];
        }
    }
    double scale = 1e9 / ops;
    printf(json ? "{\"bench\": \"deep\", \"ops\": %d, \"forward_ns\": %.0f, \"backward_ns\": %.0f, "
                  "\"free_ns\": %.0f, \"total_ns\": %.0f, \"bytes_per_op\": %.0f}\n"
                : "%d operators deep: forward %.0f ns each, backward %.0f, freeing %.0f, together "
                  "%.0f; %.0f bytes each at the peak\n",
        ops, best[0] * scale, best[1] * scale, best[2] * scale,
        (best[0] + best[1] + best[2]) * scale, (double)info.peak_bytes / ops);
    return EXIT_SUCCESS;
}

/* ---- command line ------------------------------------------------------------------------------
 */

static int usage(int status)
{
    fputs("usage: adze-bench op NAME [--size N] [--json]\n"
          "       adze-bench toy [--json]\n"
          "       adze-bench mlp [--json]\n"
          "       adze-bench deep [--ops N] [--json]\n"
          "       adze-bench info\n",
        status == EXIT_SUCCESS ? stdout : stderr);
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "size", required_argument, NULL, 's' },
        { "ops", required_argument, NULL, 'o' }, { "json", no_argument, NULL, 'j' },
        { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
    long long size = 1024;
    int ops = 1000000, letter;
    bool json = false;
    while ((letter = getopt_long(argc, argv, "h", options, NULL)) != -1) {
        switch (letter) {
        case 's':
            size = atoll(optarg);
            break;
        case 'o':
            ops = atoi(optarg);
            break;
        case 'j':
            json = true;
            break;
        default:
            return usage(letter == 'h' ? EXIT_SUCCESS : EXIT_FAILURE);
        }
    }
    const char *what = optind < argc ? argv[optind] : "";
    if (size < 1 || ops < 1) {
        return usage(EXIT_FAILURE);
    }
    adz_on_error(die, NULL);
    adz_manual_seed(1);
    if (strcmp(what, "op") == 0 && optind + 1 < argc) {
        return bench_op(argv[optind + 1], size, json);
    }
    if (strcmp(what, "toy") == 0) {
        return bench_toy(json);
    }
    if (strcmp(what, "mlp") == 0) {
        return bench_mlp(json);
    }
    if (strcmp(what, "deep") == 0) {
        return bench_deep(ops, json);
    }
    if (strcmp(what, "info") == 0) {
        return puts(adz_build_info()) < 0;
    }
    return usage(EXIT_FAILURE);
}
