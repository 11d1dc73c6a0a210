/* What the cases of all convolutions share: numbers of a sample as options, configurations of
 * reference vectors, and a plain loop that computes a convolution. */
#ifndef ADZE_TESTS_OPS_CONV_CONV_H
#define ADZE_TESTS_OPS_CONV_CONV_H

#include "ops/facts.h"

/* Positions in the numbers of a sample. A pair is for height and width; its second number is left
 * out if it is 0, and -1 stands for 0. A stride, dilation or groups of 0 is the default. For
 * volumes, the depth has the second number too. */
enum { STRIDE = 0, PADDING = 2, DILATION = 4, OUTPUT_PADDING = 6, GROUPS = 8, RULE = 9 };

static inline adz_shape conv_list(const op_args *a, int at, bool volumes)
{
    if (a->p[at + 1] != 0) {
        const int64_t one = (int64_t)a->p[at], two = a->p[at + 1] < 0 ? 0 : (int64_t)a->p[at + 1];
        return volumes ? ADZ_SHAPE(two, one, two) : ADZ_SHAPE(one, two);
    }
    return a->p[at] != 0 ? ADZ_SHAPE((int64_t)a->p[at]) : ADZ_SHAPE_SCALAR;
}

static inline adz_conv_options conv_options_of(const op_args *a, bool volumes)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = conv_list(a, STRIDE, volumes);
    o.padding = conv_list(a, PADDING, volumes);
    o.dilation = conv_list(a, DILATION, volumes);
    o.output_padding = conv_list(a, OUTPUT_PADDING, volumes);
    o.groups = a->p[GROUPS] != 0 ? (int64_t)a->p[GROUPS] : 1;
    o.padding_rule = (adz_padding_rule)(int)a->p[RULE];
    return o;
}

static inline adz_conv_options conv_options(const op_args *a)
{
    return conv_options_of(a, false);
}

static inline void conv_config_list(const json_t *config, const char *key, double *p)
{
    if (config_list(config, key, p, 2) == 2 && p[1] == 0) {
        p[1] = -1;
    }
}

/* Reads the configuration of a vector file. */
static inline bool conv_config(const json_t *config, op_args *args)
{
    conv_config_list(config, "stride", args->p + STRIDE);
    conv_config_list(config, "dilation", args->p + DILATION);
    conv_config_list(config, "output_padding", args->p + OUTPUT_PADDING);
    args->p[GROUPS] = config_number(config, "groups", 1);
    if (config_flag(config, "same", false)) {
        args->p[RULE] = ADZ_PADDING_SAME;
    } else {
        conv_config_list(config, "padding", args->p + PADDING);
    }
    return true;
}

/* One call of the function under test. */
typedef adz_tensor *(*conv_function)(
    adz_tensor *x, adz_tensor *weight, adz_tensor *bias, const adz_conv_options *options);

static inline int conv_case(conv_function function, const op_args *a, adz_tensor **out)
{
    const bool volumes = adz_tensor_rank(a->in[1]) == 5;
    const adz_conv_options o = conv_options_of(a, volumes);
    return case_one(function(a->in[0], a->in[1], a->in[2], &o), out);
}

/* The geometry of a convolution of images for the plain loop. */
typedef struct conv_plain {
    int64_t n, groups, channels, maps; /* channels and maps per group */
    int64_t big[2], small[2], kernel[2];
    int64_t stride[2], padding[2], dilation[2];
} conv_plain;

/* Calls `visit` for every product of the form: the indices of big, weight and small. */
static inline void conv_each(const conv_plain *c,
    void (*visit)(void *user, int64_t big, int64_t weight, int64_t small), void *user)
{
    const int64_t outer = c->n * c->groups * c->maps, kernels = c->kernel[0] * c->kernel[1];
    for (int64_t o = 0; o < outer * c->small[0] * c->small[1]; ++o) {
        const int64_t map = o / (c->small[0] * c->small[1]), m = map % (c->groups * c->maps);
        const int64_t row = o / c->small[1] % c->small[0], column = o % c->small[1];
        for (int64_t k = 0; k < c->channels * kernels; ++k) {
            const int64_t channel = m / c->maps * c->channels + k / kernels;
            const int64_t i =
                row * c->stride[0] - c->padding[0] + k % kernels / c->kernel[1] * c->dilation[0];
            const int64_t j =
                column * c->stride[1] - c->padding[1] + k % c->kernel[1] * c->dilation[1];
            if (i >= 0 && i < c->big[0] && j >= 0 && j < c->big[1]) {
                const int64_t item = map / (c->groups * c->maps);
                visit(user,
                    ((item * c->groups * c->channels + channel) * c->big[0] + i) * c->big[1] + j,
                    m * c->channels * kernels + k, o);
            }
        }
    }
}

#endif
