/* bench-attention: adze's side of bench/torch_attention.py, which runs it.
 *
 *     bench-attention LENGTH THREADS [KIND]
 *
 * KIND says what PyTorch's side computes, and changes nothing here.
 *
 * Causal attention of 8 heads of 64 over a sequence of LENGTH, batch 1, forward and backward. For
 * each line on standard input it runs one step and prints a line: the seconds that the step took,
 * by the clock and of the processor, and the gradients' sum of squares, after "memory" also the
 * bytes by which adze's peak and the process's peak grew during the step; for the line "first" the
 * sum of squares alone, after a step.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { HEADS = 8, WIDTH = 64, INPUTS = 3 };

typedef struct {
    adz_tensor *in[INPUTS]; /* query, key, value: [1, HEADS, LENGTH, WIDTH] */
    adz_tensor *upstream;
} work;

/* sin((i + 1) step), i = 0, 1, ...: numbers that both sides can make. */
static adz_tensor *numbers(int64_t length, double step)
{
    int64_t n = HEADS * WIDTH * length;
    adz_tensor *phase = adz_mul_number(adz_arange(1, (double)n + 1, 1, ADZ_F64), step);
    adz_tensor *t = adz_to(adz_sin(phase), ADZ_F32);
    return adz_keep(adz_reshape(t, ADZ_SHAPE(1, HEADS, length, WIDTH)));
}

static void step(work *w)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    for (int i = 0; i < INPUTS; ++i) {
        adz_tensor_set_grad(w->in[i], ADZ_NONE);
    }
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = adz_scaled_dot_product_attention(w->in[0], w->in[1], w->in[2], &o);
    adz_autograd_backward(&y, &w->upstream, 1, NULL);
    adz_scope_close(scope);
}

static double squares(const work *w)
{
    adz_scope *scope = adz_scope_open();
    double sum = 0;
    for (int i = 0; i < INPUTS; ++i) {
        adz_tensor *g = adz_to(adz_tensor_grad(w->in[i]), ADZ_F64);
        sum += adz_item(adz_sum(adz_mul(g, g), ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    adz_scope_close(scope);
    return sum;
}

static void run_timed(work *w)
{
    double start = now(), cpu = processor_time();
    step(w);
    cpu = processor_time() - cpu;
    printf("%.6f %.6f", now() - start, cpu);
}

static void run_with_memory(work *w)
{
    adz_memory_info before, after;
    for (int i = 0; i < INPUTS; ++i) {
        adz_tensor_set_grad(w->in[i], ADZ_NONE);
    }
    adz_empty_cache();
    reset_process_peak();
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    long long process = process_bytes("VmRSS");
    run_timed(w);
    adz_get_memory_info(&after, sizeof after);
    printf(" %.9e %lld %lld", squares(w), (long long)(after.peak_bytes - before.live_bytes),
        process_bytes("VmHWM") - process);
}

int main(int argc, char **argv)
{
    const bool given = argc == 3 || argc == 4;
    int length = given ? atoi(argv[1]) : 0, threads = given ? atoi(argv[2]) : 0;
    if (length < 1 || threads < 1) {
        fputs("usage: bench-attention LENGTH THREADS [KIND]\n", stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-attention");
    adz_set_num_threads(threads);
    adz_scope *scope = adz_scope_open();
    work w = { { NULL }, numbers(length, 0.7) };
    for (int i = 0; i < INPUTS; ++i) {
        w.in[i] = adz_requires_grad_(numbers(length, 0.37 + 0.21 * i), true);
    }
    adz_scope_close(scope);
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "first", 5) == 0) {
            step(&w);
            printf("%.9e", squares(&w));
        } else if (strncmp(line, "memory", 6) == 0) {
            run_with_memory(&w);
        } else {
            run_timed(&w);
        }
        puts("");
        fflush(stdout);
    }
    for (int i = 0; i < INPUTS; ++i) {
        adz_release(&w.in[i]);
    }
    adz_release(&w.upstream);
    return EXIT_SUCCESS;
}
