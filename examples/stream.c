/* Runs a stack of causal convolutions over a signal block by block, as a program does that gets its
 * samples from a sound card. Each layer keeps the last samples that it has read. The step is
 * captured as a plan, so a block allocates nothing. The result has the bits of one call over the
 * whole signal; the program compares both and ends with 1 if they differ. */
#include <stdio.h>
#include <string.h>

#include <adze/adze.h>

#include "shared/about.h"

enum { CHANNELS = 16, LAYERS = 10, KERNEL = 2, BLOCK = 256, BLOCKS = 32 };

typedef struct {
    adz_module *layers;
    adz_tensor *x;            /* [1, CHANNELS, BLOCK], the block to compute */
    adz_tensor *past[LAYERS]; /* [1, CHANNELS, (KERNEL - 1) dilation], what a layer read before */
} stream;

/* Computes one block. Before the first one the past is zeros, which is what padding in front of the
 * whole signal is. */
static adz_tensor *next_block(void *user)
{
    stream *s = user;
    adz_tensor *y = s->x;
    for (size_t i = 0; i < LAYERS; ++i) {
        adz_tensor *both = adz_cat((adz_tensor *[]){ s->past[i], y }, 2, 2);
        y = adz_relu(adz_module_forward(adz_module_child_at(s->layers, i), both));
        adz_copy_(s->past[i], adz_narrow(both, 2, BLOCK, adz_tensor_size(s->past[i], 2)));
    }
    return y;
}

static adz_tensor *whole(const stream *s, adz_tensor *y)
{
    for (size_t i = 0; i < LAYERS; ++i) {
        const int64_t front[] = { adz_tensor_size(s->past[i], 2), 0 };
        y = adz_relu(
            adz_module_forward(adz_module_child_at(s->layers, i), adz_pad(y, front, 2, 0)));
    }
    return y;
}

static const char help[] =
    "Runs causal convolutions over a signal block by block, and compares the result\n"
    "with one call over the whole signal.\n"
    "\n"
    "usage: stream\n";

int main(int argc, char **argv)
{
    begin_program("stream", argc, argv, 0, help);
    adz_on_error(adz_die, NULL); /* the first call that fails ends the program */
    adz_manual_seed(1);
    adz_set_grad_enabled(false);
    stream s = { adz_sequential_new(NULL, 0), adz_zeros(ADZ_SHAPE(1, CHANNELS, BLOCK), ADZ_F32),
        { NULL } };
    for (int i = 0; i < LAYERS; ++i) {
        adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
        o.dilation = ADZ_SHAPE((int64_t)1 << i);
        adz_sequential_append(s.layers, adz_conv1d_new(CHANNELS, CHANNELS, KERNEL, &o));
        s.past[i] = adz_zeros(ADZ_SHAPE(1, CHANNELS, (KERNEL - 1) * ((int64_t)1 << i)), ADZ_F32);
    }
    adz_tensor *signal = adz_randn(ADZ_SHAPE(1, CHANNELS, BLOCK * BLOCKS), ADZ_F32);
    adz_tensor *expected = whole(&s, signal);

    /* Capturing computes a block of its own. Its zeros become the past only through the biases. */
    adz_plan *plan = adz_plan_new(next_block, &s, NULL);
    adz_plan_run(plan);
    for (int i = 0; i < LAYERS; ++i) {
        adz_zero_(s.past[i]); /* the stream begins here */
    }

    const float *from = adz_tensor_data_f32(signal), *wanted = adz_tensor_data_f32(expected);
    float *x = adz_tensor_data_f32(s.x);
    long differences = 0;
    adz_memory_info before, after;
    adz_get_memory_info(&before, sizeof before);
    for (int block = 0; block < BLOCKS; ++block) {
        for (int c = 0; c < CHANNELS; ++c) {
            memcpy(x + c * BLOCK, from + (c * BLOCKS + block) * BLOCK, BLOCK * sizeof *x);
        }
        adz_plan_run(plan);
        const float *y = adz_tensor_data_f32(adz_plan_output(plan));
        for (int c = 0; c < CHANNELS; ++c) {
            const float *part = wanted + (c * BLOCKS + block) * BLOCK;
            differences += memcmp(y + c * BLOCK, part, BLOCK * sizeof *y) != 0;
        }
    }
    adz_get_memory_info(&after, sizeof after);
    const unsigned long long requests = after.requests - before.requests;
    printf("%d blocks of %d samples: %ld rows differ from the whole, %llu requests for memory\n",
        BLOCKS, BLOCK, differences, requests);
    adz_plan_free(&plan);
    adz_module_release(&s.layers);
    return differences == 0 && requests == 0 ? 0 : 1;
}
