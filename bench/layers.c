/* bench-layers: adze's side of bench/torch_layers.py, which runs it.
 *
 *     bench-layers LAYER THREADS FILE
 *
 * One operator of networks of images, forward and backward with the gradients of x and of the
 * weights. The sorts run forward only. FILE gets the tensors. For each line on standard input the
 * program makes CALLS calls and prints a line: the seconds of one call, by the clock and of the
 * processor, and a mean over the gradient of x; for the line "first" a mean over the result alone.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "bench.h"
#include "start.h"

enum { CALLS = 8 };

typedef struct work work;
typedef struct {
    const char *name;
    adz_shape x, weight;             /* weight {}: none */
    adz_tensor *(*forward)(work *w); /* the result */
    bool sorts;
} layer;

struct work {
    const layer *layer;
    adz_tensor *x, *weight, *bias, *upstream;
};

static adz_tensor *convolved(work *w, int64_t padding, int64_t groups)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.padding = ADZ_SHAPE(padding);
    o.groups = groups;
    return adz_conv2d(w->x, w->weight, w->bias, &o);
}

static adz_tensor *conv3x3(work *w)
{
    return convolved(w, 1, 1);
}

static adz_tensor *conv1x1(work *w)
{
    return convolved(w, 0, 1);
}

static adz_tensor *depthwise(work *w)
{
    return convolved(w, 1, adz_tensor_size(w->x, 1));
}

static adz_tensor *stem(work *w)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(3);
    return adz_conv2d(w->x, w->weight, w->bias, &o);
}

static adz_tensor *depthwise2(work *w)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    o.groups = adz_tensor_size(w->x, 1);
    return adz_conv2d(w->x, w->weight, w->bias, &o);
}

static adz_tensor *grouped(work *w)
{
    return convolved(w, 1, 8);
}

static adz_tensor *transposed(work *w)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    return adz_conv_transpose2d(w->x, w->weight, w->bias, &o);
}

static adz_tensor *max_pool2(work *w)
{
    return adz_max_pool2d(w->x, ADZ_SHAPE(2), NULL, NULL);
}

static adz_tensor *max_pool3(work *w)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    return adz_max_pool2d(w->x, ADZ_SHAPE(3), &o, NULL);
}

static adz_tensor *avg_pool2(work *w)
{
    return adz_avg_pool2d(w->x, ADZ_SHAPE(2), NULL);
}

static adz_tensor *avg_pool3(work *w)
{
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    return adz_avg_pool2d(w->x, ADZ_SHAPE(3), &o);
}

static adz_tensor *batch_norm(work *w)
{
    return adz_batch_norm(w->x, ADZ_NONE, ADZ_NONE, w->weight, w->bias, true, 0.1, 1e-5);
}

static adz_tensor *relu(work *w)
{
    return adz_relu(w->x);
}

static adz_tensor *sorted(work *w)
{
    adz_tensor *indices;
    return adz_sort(w->x, -1, false, &indices);
}

#define SHAPE(...)                                          \
    {                                                       \
        sizeof(int64_t[]){ __VA_ARGS__ } / sizeof(int64_t), \
        {                                                   \
            __VA_ARGS__                                     \
        }                                                   \
    }
static const layer layers[] = {
    { "conv3x3", SHAPE(32, 64, 16, 16), SHAPE(64, 64, 3, 3), conv3x3, false },
    { "conv1x1", SHAPE(32, 192, 16, 16), SHAPE(192, 192, 1, 1), conv1x1, false },
    { "depthwise", SHAPE(32, 128, 32, 32), SHAPE(128, 1, 3, 3), depthwise, false },
    { "depthwise2", SHAPE(32, 128, 32, 32), SHAPE(128, 1, 3, 3), depthwise2, false },
    { "grouped", SHAPE(32, 128, 16, 16), SHAPE(128, 16, 3, 3), grouped, false },
    { "stem", SHAPE(4, 3, 112, 112), SHAPE(64, 3, 7, 7), stem, false },
    { "transposed", SHAPE(16, 64, 16, 16), SHAPE(64, 64, 4, 4), transposed, false },
    { "max_pool2", SHAPE(32, 64, 32, 32), { 0, { 0 } }, max_pool2, false },
    { "max_pool3", SHAPE(32, 64, 32, 32), { 0, { 0 } }, max_pool3, false },
    { "avg_pool2", SHAPE(32, 64, 32, 32), { 0, { 0 } }, avg_pool2, false },
    { "avg_pool3", SHAPE(32, 64, 32, 32), { 0, { 0 } }, avg_pool3, false },
    { "batch_norm", SHAPE(32, 64, 32, 32), SHAPE(64), batch_norm, false },
    { "relu", SHAPE(32, 64, 32, 32), { 0, { 0 } }, relu, false },
    { "sort", SHAPE(100000), { 0, { 0 } }, sorted, true },
    { "sort_rows", SHAPE(1000, 1000), { 0, { 0 } }, sorted, true },
};

static adz_tensor *leaf(adz_tensor *t)
{
    return adz_requires_grad_(adz_keep(t), true);
}

static work new_work(const layer *of, const char *path)
{
    adz_scope *scope = adz_scope_open();
    work w = { .layer = of, .x = adz_keep(adz_randn(of->x, ADZ_F32)) };
    start_tensor start[] = { { "x", w.x }, { "upstream", NULL }, { "weight", NULL },
        { "bias", NULL } };
    if (!of->sorts) {
        adz_requires_grad_(w.x, true);
    }
    if (of->weight.rank > 0) {
        start[2].tensor = w.weight = leaf(adz_randn(of->weight, ADZ_F32));
        start[3].tensor = w.bias = leaf(adz_randn(ADZ_SHAPE(of->weight.sizes[0]), ADZ_F32));
    }
    adz_tensor *y = of->forward(&w);
    start[1].tensor = w.upstream = adz_keep(adz_randn_like(y));
    save_start(path, NULL, start, of->weight.rank > 0 ? 4 : 2);
    adz_scope_close(scope);
    return w;
}

/* The mean of the squares of the result and a part of its own for each element. */
static double first_of(void *user)
{
    work *w = user;
    adz_tensor *y = adz_add(adz_detach(w->layer->forward(w)), w->upstream);
    return adz_item(adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM));
}

static void call(work *w)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *y = w->layer->forward(w);
    if (!w->layer->sorts) {
        adz_tensor *leaves[] = { w->x, w->weight, w->bias };
        for (int i = 0; i < 3 && leaves[i] != NULL; ++i) {
            adz_tensor_set_grad(leaves[i], ADZ_NONE);
        }
        adz_autograd_backward(&y, &w->upstream, 1, NULL);
    }
    adz_scope_close(scope);
}

static void run_timed(void *user)
{
    work *w = user;
    const double start = now(), cpu = processor_time();
    for (int i = 0; i < CALLS; ++i) {
        call(w);
    }
    printf("%.9f %.9f", (now() - start) / CALLS, (processor_time() - cpu) / CALLS);
    adz_scope *scope = adz_scope_open();
    adz_tensor *checked = w->layer->sorts ? w->x : adz_tensor_grad(w->x);
    printf(" %.6g", adz_item(adz_mean(adz_square(checked), ADZ_ALL_DIMS, ADZ_DROPDIM)));
    adz_scope_close(scope);
}

int main(int argc, char **argv)
{
    const int threads = argc == 4 ? atoi(argv[2]) : 0;
    const layer *of = NULL;
    for (size_t i = 0; threads > 0 && i < sizeof layers / sizeof *layers; ++i) {
        of = strcmp(argv[1], layers[i].name) == 0 ? &layers[i] : of;
    }
    if (of == NULL) {
        fputs("usage: bench-layers LAYER THREADS FILE\n", stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-layers");
    adz_set_num_threads(threads);
    adz_manual_seed(7);
    work w = new_work(of, argv[3]);
    answer_lines(&(side){ .first = first_of, .timed = run_timed }, &w);
    adz_tensor **all[] = { &w.x, &w.weight, &w.bias, &w.upstream };
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (*all[i] != NULL) {
            adz_release(all[i]);
        }
    }
    return EXIT_SUCCESS;
}
