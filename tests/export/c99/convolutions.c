/* Convolutions in C: the order in which an element is summed, and what long patches use. */
#include "network.h"
#include "tests.h"

/* A convolution of x[N, C, H, W], or a transposed one. */
typedef struct {
    bool transposed;
    int64_t n, in, out, h, w, kh, kw, stride, padding, dilation, groups;
} shape;

static const shape shapes[] = {
    { false, 2, 3, 8, 7, 9, 3, 3, 1, 1, 1, 1 },
    { false, 1, 4, 6, 8, 30, 3, 5, 2, 2, 1, 2 },
    { false, 1, 5, 5, 6, 11, 2, 3, 1, 2, 2, 5 }, /* depthwise */
    { false, 2, 6, 4, 5, 4, 1, 1, 1, 0, 1, 2 },  /* a product */
    { false, 1, 2, 3, 9, 40, 2, 12, 1, 3, 2, 1 },
    { false, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1 }, /* nothing but padding */
    { true, 2, 3, 4, 5, 6, 3, 3, 1, 1, 1, 1 },
    { true, 1, 4, 6, 4, 9, 4, 4, 2, 1, 1, 2 },
    { true, 1, 3, 2, 5, 7, 3, 2, 3, 0, 2, 1 },
    { true, 1, 2, 2, 9, 20, 2, 18, 1, 4, 1, 1 },
    { true, 1, 4, 8, 5, 5, 1, 1, 1, 0, 1, 4 },
};

static const shape *current;
static adz_tensor *weight, *bias;

static adz_tensor *convolve(adz_module *module, adz_tensor **in)
{
    (void)module;
    const shape *s = current;
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(s->stride);
    o.padding = ADZ_SHAPE(s->padding);
    o.dilation = ADZ_SHAPE(s->dilation);
    o.groups = s->groups;
    return s->transposed ? adz_conv_transpose2d(in[0], weight, bias, &o)
                         : adz_conv2d(in[0], weight, bias, &o);
}

/* The result for group g, result r and row i, column j of item n: the sum begins with the bias and
 * goes on through the channels and the kernel. A transposed convolution meets its input in
 * row-major order. */
static float sum_of(const shape *s, const float *x, int64_t n, int64_t o, int64_t i, int64_t j)
{
    const int64_t outs = s->out / s->groups, ins = s->in / s->groups, g = o / outs;
    const float *w = adz_tensor_data_f32(weight);
    float sum = adz_tensor_data_f32(bias)[o];
    for (int64_t c = 0; c < ins; ++c) {
        for (int64_t a = 0; a < s->kh; ++a) {
            for (int64_t b = 0; b < s->kw; ++b) {
                const int64_t k = s->transposed ? s->kh - 1 - a : a;
                const int64_t l = s->transposed ? s->kw - 1 - b : b;
                int64_t row = i * s->stride + k * s->dilation - s->padding;
                int64_t column = j * s->stride + l * s->dilation - s->padding;
                if (s->transposed) {
                    row = i + s->padding - k * s->dilation;
                    column = j + s->padding - l * s->dilation;
                    if (row % s->stride != 0 || column % s->stride != 0) {
                        continue;
                    }
                    row /= s->stride;
                    column /= s->stride;
                }
                if (row < 0 || row >= s->h || column < 0 || column >= s->w) {
                    continue;
                }
                const int64_t at = s->transposed ? (g * ins + c) * outs + o % outs : o * ins + c;
                sum += w[(at * s->kh + k) * s->kw + l] *
                       x[((n * s->in + g * ins + c) * s->h + row) * s->w + column];
            }
        }
    }
    return sum;
}

static void compare_with_sums(const shape *s)
{
    adz_scope *scope = adz_scope_open();
    current = s;
    const int64_t first = s->transposed ? s->in : s->out;
    const int64_t second = (s->transposed ? s->out : s->in) / s->groups;
    weight = adz_randn(ADZ_SHAPE(first, second, s->kh, s->kw), ADZ_F32);
    bias = adz_randn(ADZ_SHAPE(s->out), ADZ_F32);
    c_network n = { .in = { adz_randn(ADZ_SHAPE(s->n, s->in, s->h, s->w), ADZ_F32) },
        .n_in = 1,
        .call = convolve };
    adz_tensor *y = call_network(&n);
    if (write_network(&n, "sums.c", NULL) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const compiled c = compile("sums", false);
    float *ours = malloc((size_t)adz_tensor_numel(y) * sizeof *ours);
    call_run(&c, &n, ours);
    const float *x = adz_tensor_data_f32(n.in[0]), *at = ours;
    for (int64_t item = 0; item < s->n; ++item) {
        for (int64_t o = 0; o < s->out; ++o) {
            for (int64_t i = 0; i < adz_tensor_size(y, 2); ++i) {
                for (int64_t j = 0; j < adz_tensor_size(y, 3); ++j) {
                    const float sum = sum_of(s, x, item, o, i, j);
                    if (memcmp(at++, &sum, sizeof sum) != 0) {
                        fail_msg("shape %d: y[%d, %d, %d, %d] is %.9g and not %.9g",
                            (int)(s - shapes), (int)item, (int)o, (int)i, (int)j, (double)at[-1],
                            (double)sum);
                    }
                }
            }
        }
    }
    free(ours);
    dlclose(c.library);
    adz_scope_close(scope);
}

static void an_element_is_summed_in_order(void **state)
{
    (void)state;
    adz_manual_seed(15);
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        compare_with_sums(&shapes[i]);
    }
}

/* How often a text stands in a file. */
static int count_in_file(const char *name, const char *text)
{
    static char contents[100000];
    FILE *file = fopen(temporary_path(name), "r");
    assert_non_null(file);
    contents[fread(contents, 1, sizeof contents - 1, file)] = '\0';
    fclose(file);
    int count = 0;
    for (const char *at = contents; (at = strstr(at, text)) != NULL; ++at) {
        ++count;
    }
    return count;
}

/* Kernels that see a long patch in a row, whole rows, or everything; with padding, too. */
static void long_patches_use_the_dot_product(void **state)
{
    (void)state;
    static const struct {
        int64_t h, w, kh, kw, stride, padding;
    } cases[] = { { 1, 400, 1, 80, 4, 0 }, { 12, 8, 3, 8, 1, 0 }, { 4, 6, 4, 6, 1, 0 },
        { 1, 90, 1, 40, 8, 40 } };
    adz_manual_seed(16);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
        o.stride = ADZ_SHAPE(1, cases[i].stride);
        o.padding = ADZ_SHAPE(0, cases[i].padding);
        c_network n = of(adz_conv2d_new(2, 3, ADZ_SHAPE(cases[i].kh, cases[i].kw), &o),
            adz_randn(ADZ_SHAPE(2, 2, cases[i].h, cases[i].w), ADZ_F32));
        check_network(&n, 1e-6);
        assert_int_equal(count_in_file("net.c", " += net_dot("), 1);
        adz_module_release(&n.module);
        adz_scope_close(scope);
    }
}

int convolution_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_element_is_summed_in_order),
        cmocka_unit_test(long_patches_use_the_dot_product),
    };
    return cmocka_run_group_tests_name("c99: convolutions", tests, temporary_begin, temporary_end);
}
