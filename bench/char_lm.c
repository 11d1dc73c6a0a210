/* bench-char-lm: adze's side of bench/torch_char_lm.py, which runs it.
 *
 *     bench-char-lm small|large|wide[-again|-captured|-recomputing] THREADS [START]
 *     bench-char-lm token THREADS [START]
 *
 * The GPT-2 of examples/char-lm. small: a training step of 4 layers, d_model 128, 4 heads, 12 rows
 * of 64; large: 4 layers, d_model 256, 8 heads, 8 rows of 256; wide: 2 layers, d_model 768, 12
 * heads, 4 rows of 256; AdamW and clipping included. "again": every block keeps its input alone and
 * computes the rest again in the backward. "captured": the step is replayed by a plan.
 * "recomputing": under adz_set_recomputing(). token: a token that the small one writes once its
 * context is full, which every 33rd time means to read the newer half again: the mean of 33. For
 * each line on standard input it prints the seconds by the clock and of the processor, the loss,
 * and after "memory" the bytes by which the process's peak grew, and the peak of what adze has
 * allocated; for the line "first" the loss alone, without a step. The first weights are saved to
 * START.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "start.h"
#include "../examples/char-lm/sample.h"

const char program_name[] = "bench-char-lm";

enum { VOCABULARY = 65, ROUND = 33 };

typedef struct work {
    options o;
    adz_module *network;
    adz_optimizer *adamw;
    adz_tensor *x, *y;
    writer writer;
    adz_plan *plan; /* of the step, or NULL */
    bool writes, captured;
    int64_t next;
} work;

/* Token numbers that both sides can compute: a walk through the vocabulary. */
static adz_tensor *ids(const options *o, int64_t from)
{
    adz_tensor *t = adz_empty(ADZ_SHAPE(o->batch, o->context), ADZ_I64);
    int64_t *to = adz_tensor_data_i64(t);
    for (int64_t i = 0; i < o->batch * o->context; ++i) {
        to[i] = (i + from) * (i + from) * 7 % VOCABULARY;
    }
    return adz_keep(t);
}

/* Computes the loss. A scope ends the keys and values of every block, which a step does not need.
 */
static adz_tensor *forward(work *w)
{
    adz_scope *scope = adz_scope_open();
    adz_values *results = adz_values_new();
    adz_tensor *loss = loss_of(run_network(w->network, w->x, results), w->y);
    adz_values_free(&results);
    return adz_scope_return(scope, loss);
}

static adz_tensor *step(void *user)
{
    work *w = user;
    adz_tensor *loss = forward(w);
    adz_backward(loss);
    adz_clip_grads(adz_module_parameters(w->network), 1, 2);
    adz_optimizer_step(w->adamw);
    adz_module_zero_grad(w->network);
    return loss;
}

static double train(work *w)
{
    if (w->captured && w->plan == NULL) {
        w->plan = adz_plan_new(step, w, NULL);
        return adz_item(adz_plan_output(w->plan));
    }
    if (w->captured) {
        adz_plan_run(w->plan);
        return adz_item(adz_plan_output(w->plan));
    }
    adz_scope *scope = adz_scope_open();
    double value = adz_item(step(w));
    adz_scope_close(scope);
    return value;
}

/* The loss of the current weights. */
static void run_first(work *w)
{
    adz_scope *scope = adz_scope_open();
    bool recorded = adz_set_grad_enabled(false);
    printf("%.9g\n", adz_item(forward(w)));
    fflush(stdout);
    adz_set_grad_enabled(recorded);
    adz_scope_close(scope);
}

static double write_one(work *w)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *p = adz_softmax(write_on(&w->writer, &w->next, 1), 0);
    w->next = adz_item_i64(adz_multinomial(p, 1, false, NULL));
    adz_scope_close(scope);
    return 0;
}

static void run(work *w, bool with_memory)
{
    int count = w->writes ? ROUND : 1;
    double loss = 0;
    if (with_memory) {
        if (!w->captured) {
            adz_module_zero_grad(w->network);
        }
        adz_empty_cache();
        reset_process_peak();
        adz_reset_peak_memory();
    }
    long long before = process_bytes("VmRSS");
    double start = now(), cpu = processor_time();
    for (int i = 0; i < count; ++i) {
        loss = w->writes ? write_one(w) : train(w);
    }
    cpu = processor_time() - cpu;
    printf("%.7f %.7f %.4f", (now() - start) / count, cpu / count, loss);
    if (with_memory) {
        adz_memory_info memory;
        adz_get_memory_info(&memory, sizeof memory);
        printf(" %lld %zu", process_bytes("VmHWM") - before, memory.peak_bytes);
    }
    puts("");
    fflush(stdout);
}

/* Puts every block behind an activation checkpoint. */
static void compute_again(adz_module *network, int64_t layers)
{
    adz_module *blocks = adz_module_get_child(network, "transformer.h");
    for (int64_t i = 0; i < layers; ++i) {
        char name[24];
        snprintf(name, sizeof name, "%lld", (long long)i);
        adz_module *block = adz_module_keep(adz_module_get_child(blocks, name));
        adz_module_set_child(blocks, name, adz_activation_checkpoint_new(block));
    }
}

static options options_of(const char *which)
{
    if (strncmp(which, "wide", 4) == 0) {
        return (options){
            .layers = 2, .heads = 12, .width = 768, .hidden = 3072, .context = 256, .batch = 4
        };
    }
    const bool large = strncmp(which, "large", 5) == 0;
    return (options){ .layers = 4,
        .heads = large ? 8 : 4,
        .width = large ? 256 : 128,
        .hidden = large ? 1024 : 512,
        .context = large ? 256 : 64,
        .batch = large ? 8 : 12 };
}

static work new_work(const char *which, const char *start)
{
    work w = { .o = options_of(which),
        .writes = strcmp(which, "token") == 0,
        .captured = strstr(which, "-captured") != NULL };
    w.network = new_network(&w.o, VOCABULARY);
    save_start(start, w.network, NULL, 0);
    adz_set_recomputing(strstr(which, "-recomputing") != NULL);
    if (strstr(which, "-again") != NULL) {
        compute_again(w.network, w.o.layers);
    }
    adz_adamw_options a = ADZ_ADAMW_OPTIONS;
    a.beta2 = 0.99;
    a.weight_decay = 0.1;
    w.adamw = adz_adamw_new(adz_module_parameters(w.network), 1e-3, &a);
    w.x = ids(&w.o, 0);
    w.y = ids(&w.o, 1);
    return w;
}

int main(int argc, char **argv)
{
    int threads = argc == 3 || argc == 4 ? atoi(argv[2]) : 0;
    if (threads < 1) {
        fputs(
            "usage: bench-char-lm small|large|wide[-again|-captured|-recomputing]|token THREADS [START]\n",
            stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-char-lm");
    adz_manual_seed(1);
    adz_set_num_threads(threads);
    adz_scope *scope = adz_scope_open();
    work w = new_work(argv[1], argc == 4 ? argv[3] : NULL);
    if (w.writes) {
        w.writer = begin_writing(&w.o, w.network);
        write_on(&w.writer, adz_tensor_data_i64(w.x), w.o.context);
    }
    adz_scope_close(scope);
    for (char line[64]; fgets(line, sizeof line, stdin) != NULL;) {
        if (strncmp(line, "first", 5) == 0) {
            run_first(&w);
        } else {
            run(&w, strncmp(line, "memory", 6) == 0);
        }
    }
    if (w.writes) {
        end_writing(&w.writer);
    }
    adz_plan_free(&w.plan);
    adz_release(&w.x);
    adz_release(&w.y);
    adz_optimizer_release(&w.adamw);
    adz_module_release(&w.network);
    return EXIT_SUCCESS;
}
