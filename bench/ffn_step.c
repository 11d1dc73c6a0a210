/* adze-bench ffn-step: one training or inference step of a feed-forward network of any size, with
 * the products it is made of. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "gemm_floor.h"
#include "start.h"

enum { SGD, ADAMW };
enum { TRAIN, INFER };
enum { F32, BF16 };
enum { MOST_STEPS = 100000, COUNTED_FROM = 3, COUNTED_TO = 20 };

typedef struct {
    int64_t batch, seq, d_model, d_ff, depth, threads, steps;
    int activation, optimizer, precision, mode;
    bool gated, json, rounds, steps_only, captured, packed;
    double dropout;
    const char *start;
} settings;

typedef struct {
    settings s;
    adz_module *network;
    adz_optimizer *optimizer;
    adz_tensor *x, *target;
    adz_plan *plan; /* with --captured */
    gemm_floor floor;
    float *weights, *gradients; /* for the floor of the update */
    int64_t parameters;
    double first_loss; /* without dropout */
} ffn;

/* The measurements of a round. */
typedef struct {
    double *seconds, *openblas, *onednn, *mkl, *update;
    double allocations[COUNTED_TO], faults[COUNTED_TO];
    double processor, openblas_processor; /* per step */
    long resident;
    size_t allocator_peak;
} record;

/* What a plan captures, and what an ordinary step computes in a scope. */
static adz_tensor *compute(void *user)
{
    ffn *f = user;
    if (f->s.mode == INFER) {
        return adz_module_forward(f->network, f->x);
    }
    adz_tensor *y = adz_module_forward(f->network, f->x);
    adz_tensor *loss = adz_mse_loss(y, f->target, ADZ_REDUCE_MEAN);
    adz_backward(loss);
    adz_optimizer_step(f->optimizer);
    adz_optimizer_zero_grad(f->optimizer); /* here, gradients take less memory in a plan */
    return loss;
}

static void step(ffn *f)
{
    if (f->plan != NULL) {
        adz_plan_run(f->plan);
        return;
    }
    adz_scope *scope = adz_scope_open();
    compute(f);
    adz_scope_close(scope);
}

static double first_loss(const ffn *f)
{
    adz_scope *scope = adz_scope_open();
    adz_module_eval(f->network);
    adz_tensor *y = adz_module_forward(f->network, f->x);
    double loss = adz_item(adz_mse_loss(y, f->target, ADZ_REDUCE_MEAN));
    adz_module_train(f->network, f->s.mode == TRAIN);
    adz_scope_close(scope);
    return loss;
}

/* The matrices of a step. Hidden values, their weights and gradients are there twice, for the gate.
 */
enum { X, H, H_GATE, Y, W, W_GATE, W_OUT, DH, DH_GATE, DW, DW_GATE, DW_OUT };

static void add_product(gemm_floor *f, product p)
{
    f->products[f->count++] = p;
}

/* One entry for each product of the step; x wants no gradient. dy is y with other contents. */
static void list_products(gemm_floor *f, const settings *s)
{
    const int64_t rows = s->batch * s->seq, in = s->d_model, hidden = s->d_ff;
    for (int i = 0; i < 1 + s->gated; ++i) {
        add_product(f, (product){ false, true, rows, hidden, in, X, W + i, H + i });
    }
    add_product(f, (product){ false, true, rows, in, hidden, H, W_OUT, Y });
    if (s->mode == TRAIN) {
        add_product(f, (product){ false, false, rows, hidden, in, Y, W_OUT, DH });
        add_product(f, (product){ true, false, in, hidden, rows, Y, H, DW_OUT });
        for (int i = 0; i < 1 + s->gated; ++i) {
            add_product(f, (product){ true, false, hidden, in, rows, DH + i, X, DW + i });
        }
    }
}

/* One network, or a chain of `depth` of them. */
static adz_module *network_of(const settings *s)
{
    static const adz_activation activations[] = { ADZ_ACTIVATION_RELU, ADZ_ACTIVATION_GELU,
        ADZ_ACTIVATION_SILU };
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = s->dropout;
    o.activation = activations[s->activation];
    o.is_gated = s->gated;
    if (s->depth == 1) {
        return adz_feed_forward_new(s->d_model, s->d_ff, &o);
    }
    adz_module *chain = adz_sequential_new(NULL, 0);
    for (int64_t i = 0; i < s->depth; ++i) {
        adz_sequential_append(chain, adz_feed_forward_new(s->d_model, s->d_ff, &o));
    }
    return chain;
}

static void begin(ffn *f)
{
    const settings *s = &f->s;
    adz_set_num_threads((int)s->threads);
    adz_set_matmul_precision(s->precision == BF16 ? ADZ_MATMUL_MEDIUM : ADZ_MATMUL_HIGHEST);
    f->floor.bf16 = s->precision == BF16;
    f->network = network_of(s);
    f->x = adz_keep(adz_randn(ADZ_SHAPE(s->batch, s->seq, s->d_model), ADZ_F32));
    f->target = adz_keep(adz_randn(ADZ_SHAPE(s->batch, s->seq, s->d_model), ADZ_F32));
    adz_tensor_list all = adz_module_parameters(f->network);
    f->parameters = adz_module_numel(f->network);
    const start_tensor start[] = { { "x", f->x }, { "target", f->target } };
    save_start(s->start, f->network, start, 2);
    f->first_loss = first_loss(f);
    if (s->mode == INFER) {
        adz_module_eval(f->network);
        adz_set_grad_enabled(false);
    } else if (s->optimizer == SGD) {
        f->optimizer = adz_sgd_new(all, 1e-3, NULL);
    } else {
        f->optimizer = adz_adamw_new(all, 1e-4, NULL);
    }
}

static void end(ffn *f)
{
    adz_plan_free(&f->plan);
    gemm_floor_end(&f->floor);
    free(f->weights);
    free(f->gradients);
    adz_optimizer_release(&f->optimizer);
    adz_module_release(&f->network);
    adz_release(&f->x);
    adz_release(&f->target);
}

/* The floors take memory only after the steps have shown how much they need. */
static bool begin_floors(ffn *f)
{
    list_products(&f->floor, &f->s);
    size_t bytes = (size_t)f->parameters * sizeof(float);
    f->weights = calloc(1, bytes);
    f->gradients = calloc(1, bytes);
    if (!gemm_floor_begin(&f->floor) || f->weights == NULL || f->gradients == NULL) {
        return false;
    }
    for (int64_t i = 0; i < f->parameters; ++i) { /* pages of their own, before a pass is timed */
        f->gradients[i] = 0.5f;
    }
    gemm_floor_openblas(&f->floor, (int)f->s.threads);
    gemm_floor_onednn(&f->floor, (int)f->s.threads);
    gemm_floor_mkl(&f->floor, (int)f->s.threads);
    update_floor(f->weights, f->gradients, f->parameters);
    return true;
}

/* Runs steps [from, to) and measures the time of each, and the system calls of the first ones. */
static void run_steps(ffn *f, record *r, int64_t from, int64_t to)
{
    double before = processor_time();
    for (int64_t i = from; i < to; ++i) {
        uint64_t allocations = system_allocations();
        long faults = page_faults();
        double start = now();
        step(f);
        r->seconds[i] = now() - start;
        if (i < COUNTED_TO) {
            r->allocations[i] = (double)(system_allocations() - allocations);
            r->faults[i] = (double)(page_faults() - faults);
        }
    }
    r->processor += (processor_time() - before) / (double)f->s.steps;
}

static void run_floors(ffn *f, record *r, int64_t from, int64_t to)
{
    int threads = (int)f->s.threads;
    if (f->s.steps_only) {
        for (int64_t i = from; i < to; ++i) {
            r->openblas[i] = r->onednn[i] = r->mkl[i] = r->update[i] = -1;
        }
        return;
    }
    double before = processor_time();
    for (int64_t i = from; i < to; ++i) {
        r->openblas[i] = gemm_floor_openblas(&f->floor, threads);
    }
    r->openblas_processor += (processor_time() - before) / (double)f->s.steps;
    for (int64_t i = from; i < to; ++i) {
        r->onednn[i] = gemm_floor_onednn(&f->floor, threads);
    }
    for (int64_t i = from; i < to; ++i) {
        r->mkl[i] = gemm_floor_mkl(&f->floor, threads);
    }
    for (int64_t i = from; i < to; ++i) {
        r->update[i] = update_floor(f->weights, f->gradients, f->parameters);
    }
    if (threads > 1) { /* the floors used OpenMP, whose threads keep spinning for a while */
        nanosleep(&(struct timespec){ .tv_nsec = 30000000 }, NULL);
    }
}

/* Steps and floors take turns of some twenty milliseconds, so that both see the same processor: its
 * speed changes within a second where others share it. */
static void run_round(ffn *f, record *r, double seconds)
{
    int64_t turn = 1 + (int64_t)(0.02 / seconds);
    r->processor = r->openblas_processor = 0;
    for (int64_t i = 0; i < f->s.steps; i += turn) {
        int64_t to = i + turn < f->s.steps ? i + turn : f->s.steps;
        run_steps(f, r, i, to);
        run_floors(f, r, i, to);
    }
}

/* A number of microseconds, or null. */
static const char *microseconds(double seconds, char *text)
{
    if (seconds < 0) {
        return "null";
    }
    snprintf(text, 32, "%.3f", seconds * 1e6);
    return text;
}

static void report(const ffn *f, record *r)
{
    int n = (int)f->s.steps, counted = n < COUNTED_TO ? n : COUNTED_TO;
    int from = counted > COUNTED_FROM ? COUNTED_FROM - 1 : 0;
    timing steps = timing_of(r->seconds, n), openblas = timing_of(r->openblas, n);
    timing onednn = timing_of(r->onednn, n), update = timing_of(r->update, n);
    timing mkl = timing_of(r->mkl, n);
    double allocations = timing_of(r->allocations + from, counted - from).median;
    double faults = timing_of(r->faults + from, counted - from).median;
    char blas[32], least[32], dnnl[32], intel[32], pass[32];
    if (!f->s.json && f->s.steps_only) {
        printf("ffn-step: %.1f us (least %.1f)\n", steps.median * 1e6, steps.least * 1e6);
        return;
    }
    if (!f->s.json) {
        printf("ffn-step: %.1f us (least %.1f); its products with OpenBLAS %.1f us: %.3f times\n",
            steps.median * 1e6, steps.least * 1e6, openblas.median * 1e6,
            steps.median / openblas.median);
        return;
    }
    printf(
        "{\"bench\": \"ffn-step\", \"median_us\": %.3f, \"min_us\": %.3f, \"gemm_openblas_us\": %s, \"gemm_openblas_min_us\": %s, \"gemm_onednn_us\": %s, ",
        steps.median * 1e6, steps.least * 1e6, microseconds(openblas.median, blas),
        microseconds(openblas.least, least), microseconds(onednn.median, dnnl));
    printf("\"gemm_mkl_us\": %s, ", microseconds(mkl.median, intel));
    printf(
        "\"update_us\": %s, \"system_allocs_per_step\": %.0f, \"page_faults_per_step\": %.0f, \"peak_rss_kb\": %ld, \"allocator_peak_kb\": %zu, \"cpu_us\": %.3f, \"gemm_openblas_cpu_us\": %.3f, \"threads\": %lld, ",
        microseconds(update.median, pass), allocations, faults, r->resident,
        r->allocator_peak / 1024, r->processor * 1e6, r->openblas_processor * 1e6,
        (long long)f->s.threads);
    printf("\"build\": \"adze %s\", ", adz_version());
    printf("\"cpu\": \"%s\"}\n", json_text(adz_build_info()));
    fflush(stdout);
}

/* Warms the step up, notes the memory that it takes, and makes the floors after that; returns the
 * seconds of a warm step, or a negative number. */
static double warm_up(ffn *f, record *r)
{
    adz_memory_info memory;
    double start = 0;
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.module = f->network;
    options.pack_weights = f->s.packed;
    f->plan = f->s.captured ? adz_plan_new(compute, f, &options) : NULL;
    for (int i = 0; i < 3; ++i) {
        if (f->s.captured && i == 2) {
            adz_reset_peak_memory(); /* the first runs of a plan are ordinary steps */
        }
        start = now();
        step(f);
    }
    double seconds = now() - start;
    adz_get_memory_info(&memory, sizeof memory);
    r->allocator_peak = memory.peak_bytes;
    r->resident = peak_resident();
    if (!f->s.steps_only && !begin_floors(f)) {
        fputs("adze-bench: no memory for the products alone\n", stderr);
        return -1;
    }
    return seconds;
}

/* One round, or with --rounds one for every line of standard input. */
static int run(ffn *f, record *r)
{
    char line[64];
    double seconds = warm_up(f, r);
    if (seconds < 0) {
        return EXIT_FAILURE;
    }
    while (!f->s.rounds || fgets(line, sizeof line, stdin) != NULL) {
        if (f->s.rounds && strncmp(line, "first", 5) == 0) {
            printf("{\"bench\": \"ffn-step\", \"first_loss\": %.9g}\n", f->first_loss);
            fflush(stdout);
            continue;
        }
        run_round(f, r, seconds);
        report(f, r);
        if (!f->s.rounds) {
            break;
        }
    }
    return EXIT_SUCCESS;
}

static void record_end(record *r)
{
    free(r->seconds);
    free(r->openblas);
    free(r->onednn);
    free(r->mkl);
    free(r->update);
}

/* Room for the times of `steps` steps; false if there is no memory. */
static bool record_begin(record *r, int64_t steps)
{
    size_t bytes = (size_t)steps * sizeof(double);
    *r = (record){ .seconds = malloc(bytes),
        .openblas = malloc(bytes),
        .onednn = malloc(bytes),
        .mkl = malloc(bytes),
        .update = malloc(bytes) };
    if (r->seconds != NULL && r->openblas != NULL && r->onednn != NULL && r->mkl != NULL &&
        r->update != NULL) {
        return true;
    }
    record_end(r);
    return false;
}

int bench_ffn_step(int argc, char **argv)
{
    static const char *const activations[] = { "relu", "gelu", "silu", NULL };
    static const char *const optimizers[] = { "sgd", "adamw", NULL };
    static const char *const precisions[] = { "f32", "bf16", NULL };
    static const char *const modes[] = { "train", "infer", NULL };
    ffn f = { .s = { .batch = 4,
                  .seq = 128,
                  .d_model = 768,
                  .d_ff = 3072,
                  .depth = 1,
                  .activation = 1,
                  .dropout = 0.1,
                  .threads = 1,
                  .steps = 30 } };
    settings *s = &f.s;
    const option options[] = { { "batch", AN_INTEGER, &s->batch, 1, 1e6, NULL },
        { "seq", AN_INTEGER, &s->seq, 1, 1e6, NULL },
        { "d-model", AN_INTEGER, &s->d_model, 1, 1e6, NULL },
        { "d-ff", AN_INTEGER, &s->d_ff, 1, 1e6, NULL },
        { "depth", AN_INTEGER, &s->depth, 1, 1e6, NULL },
        { "activation", A_WORD, &s->activation, 0, 0, activations },
        { "gated", A_FLAG, &s->gated, 0, 0, NULL },
        { "dropout", A_NUMBER, &s->dropout, 0, 1, NULL },
        { "optimizer", A_WORD, &s->optimizer, 0, 0, optimizers },
        { "precision", A_WORD, &s->precision, 0, 0, precisions },
        { "mode", A_WORD, &s->mode, 0, 0, modes },
        { "threads", AN_INTEGER, &s->threads, 1, 256, NULL },
        { "steps", AN_INTEGER, &s->steps, 1, MOST_STEPS, NULL },
        { "rounds", A_FLAG, &s->rounds, 0, 0, NULL },
        { "steps-only", A_FLAG, &s->steps_only, 0, 0, NULL },
        { "captured", A_FLAG, &s->captured, 0, 0, NULL },
        { "packed", A_FLAG, &s->packed, 0, 0, NULL }, /* with --captured, for inference */
        { "start", A_TEXT, &s->start, 0, 0, NULL }, { "json", A_FLAG, &s->json, 0, 0, NULL },
        { NULL, A_FLAG, NULL, 0, 0, NULL } };
    if (!read_options(argc, argv, options, NULL)) {
        return EXIT_FAILURE;
    }
    s->steps_only =
        s->steps_only || s->depth > 1; /* the products listed are those of one network */
    record r;
    if (!record_begin(&r, s->steps)) {
        return EXIT_FAILURE;
    }
    begin(&f);
    int status = run(&f, &r);
    end(&f);
    record_end(&r);
    return status;
}
