/* Convolutions, transposed ones, the gradient of a weight, and unfold and fold. */
#include <stdio.h>
#include <string.h>

#include "export/c99/c99.h"

enum { AXES = 2, TEXT = ADZI_C99_INDEX + ADZI_C99_NAME };

/* The three tensors of a convolution: the image with more elements, which a kernel slides over; the
 * image with one element per place of the kernel; and the weight. A convolution computes SMALL from
 * BIG, and a transposed one BIG from SMALL. */
enum { BIG, SMALL, WEIGHT, TENSORS };

/* The loops of a convolution. weight[O, C / groups, kernel], big[..., C, image] and
 * small[..., O, places] with n dimensions each in `image`, `places` and `kernel`. */
typedef struct {
    const adzi_c99_call *call;
    const adzi_c99_value *of[TENSORS]; /* what is read; NULL if it is not needed */
    adzi_c99_value to[TENSORS];        /* what is added to */
    bool adds[TENSORS];                /* `to` is valid */
    adzi_c99_value shape[TENSORS];     /* the layouts, whichever memory is read or written */
    int n;
    int64_t groups;
    char item[4], o[4], c[4], place[AXES][4], tap[AXES][4]; /* loop variables; "" for one pass */
    char image[AXES][80]; /* the place in the big image that a tap reads; "" for the first */
} conv;

/* ---- loops and elements ---------------------------------------------------------------------- */

static void close_loops(adzi_c99 *c, int loops)
{
    for (; loops > 0; --loops) {
        adzi_c99_end(c);
    }
}

static void add_index(char index[ADZI_C99_INDEX], const char *variable, int64_t stride)
{
    if (variable[0] != '\0') {
        adzi_c99_index(index, ADZI_C99_INDEX, variable, stride);
    }
}

/* Starts an index with the value's offset; 0 adds nothing. */
static void start_index(char index[ADZI_C99_INDEX], const adzi_c99_value *value)
{
    index[0] = '\0';
    if (value->offset != 0) {
        snprintf(index, ADZI_C99_INDEX, "%lld", (long long)value->offset);
    }
}

/* The element of big, small or weight at the loop variables, in the memory of `value`. */
static const char *element(
    adzi_c99 *c, const conv *k, int which, const adzi_c99_value *value, char text[TEXT])
{
    const int lead = value->rank - k->n; /* the first dimension of an image or of the kernel */
    const int64_t *strides = value->strides;
    char index[ADZI_C99_INDEX], group[40];
    start_index(index, value);
    if (which == WEIGHT || which == SMALL) {
        add_index(index, k->o, strides[which == WEIGHT ? 0 : lead - 1]);
    } else if (k->groups > 1) {
        const long long each = k->shape[WEIGHT].sizes[0] / k->groups;
        snprintf(group, sizeof group, each > 1 ? "%s / %lld" : "%s", k->o, each);
        add_index(index, group, strides[lead - 1] * k->shape[WEIGHT].sizes[1]);
    }
    if (which != SMALL) {
        add_index(index, k->c, strides[lead - 1]);
    }
    if (which != WEIGHT && lead == 2) {
        add_index(index, k->item, strides[0]);
    }
    for (int d = 0; d < k->n; ++d) {
        const char *at = which == SMALL ? k->place[d] : which == WEIGHT ? k->tap[d] : k->image[d];
        add_index(index, at, strides[lead + d]);
    }
    adzi_c99_element(c, value->memory, index, text, TEXT);
    return text;
}

/* Opens the loops over the elements of the small image, or a block if it has one element. */
static int open_places(adzi_c99 *c, conv *k)
{
    const adzi_c99_value *small = &k->shape[SMALL];
    const int lead = small->rank - k->n;
    int loops = lead == 2 ? adzi_c99_loop_over(c, small->sizes[0], k->item) : 0;
    loops += adzi_c99_loop_over(c, small->sizes[lead - 1], k->o);
    for (int d = 0; d < k->n; ++d) {
        loops += adzi_c99_loop_over(c, small->sizes[lead + d], k->place[d]);
    }
    if (loops == 0) {
        adzi_c99_line(c, "{");
        ++c->depth;
    }
    return loops;
}

static void close_places(adzi_c99 *c, int loops)
{
    if (loops == 0) {
        --c->depth;
        adzi_c99_line(c, "}");
    }
    close_loops(c, loops);
}

/* Opens the loop over the taps of dimension d and leaves those out that read the padding. */
static int open_taps(adzi_c99 *c, conv *k, int d)
{
    const int64_t *stride = adzi_c99_attr_list(k->call, "stride");
    const int64_t *dilation = adzi_c99_attr_list(k->call, "dilation");
    const int64_t padding = ((const int64_t *)adzi_c99_attr_list(k->call, "padding"))[d];
    const adzi_c99_value *big = &k->shape[BIG], *small = &k->shape[SMALL];
    const int64_t taps = k->shape[WEIGHT].sizes[2 + d], in = big->sizes[big->rank - k->n + d];
    const int64_t last =
        (small->sizes[small->rank - k->n + d] - 1) * stride[d] + (taps - 1) * dilation[d] - padding;
    const bool checked = padding > 0 || last >= in;
    char at[ADZI_C99_INDEX] = "";
    k->tap[d][0] = '\0';
    if (taps != 1 || checked) { /* the check needs a loop that it can continue */
        adzi_c99_loop(c, taps, k->tap[d]);
    }
    add_index(at, k->place[d], stride[d]);
    add_index(at, k->tap[d], dilation[d]);
    if (!checked) {
        snprintf(k->image[d], sizeof k->image[d], strchr(at, ' ') != NULL ? "(%s)" : "%s", at);
        return taps != 1;
    }
    const char *name = d + AXES - k->n == 0 ? "row" : "column"; /* a signal has columns alone */
    snprintf(k->image[d], sizeof k->image[d], "%s", name);
    adzi_c99_line(c, "const int %s = %s - %lld;", name, at, (long long)padding);
    adzi_c99_line(c, "if (%s < 0 || %s >= %lld) {", name, name, (long long)in);
    ++c->depth;
    adzi_c99_line(c, "continue;");
    --c->depth;
    adzi_c99_line(c, "}");
    return true;
}

/* ---- the convolution ------------------------------------------------------------------------- */

/* Prints what one tap adds: the product of two of the tensors goes to the third. */
static void print_products(adzi_c99 *c, const conv *k)
{
    char to[TEXT], from[TEXT], weight[TEXT];
    if (k->adds[SMALL]) {
        adzi_c99_line(c, "sum += %s * %s;", element(c, k, WEIGHT, k->of[WEIGHT], weight),
            element(c, k, BIG, k->of[BIG], from));
    }
    if (k->adds[BIG]) {
        adzi_c99_line(c, "%s += e * %s;", element(c, k, BIG, &k->to[BIG], to),
            element(c, k, WEIGHT, k->of[WEIGHT], weight));
    }
    if (k->adds[WEIGHT]) {
        adzi_c99_line(c, "%s += e * %s;", element(c, k, WEIGHT, &k->to[WEIGHT], to),
            element(c, k, BIG, k->of[BIG], from));
    }
}

/* Prints the loops. `e` is the element of the small image, and `sum` is what it gets. The sum
 * starts at the element of `bias`, if there is one, and the element is set to it; without `sets` it
 * is added. */
static void print_loops(adzi_c99 *c, conv *k, const adzi_c99_value *bias, bool sets)
{
    char text[TEXT], index[ADZI_C99_INDEX];
    const int loops = open_places(c, k);
    if (k->adds[SMALL]) {
        if (bias != NULL) {
            start_index(index, bias);
            add_index(index, k->o, bias->strides[0]);
            adzi_c99_element(c, bias->memory, index, text, sizeof text);
        }
        adzi_c99_line(c, "float sum = %s;", bias != NULL ? text : "0");
    }
    if (k->adds[BIG] || k->adds[WEIGHT]) {
        adzi_c99_line(c, "const float e = %s;", element(c, k, SMALL, k->of[SMALL], text));
    }
    int inner = adzi_c99_loop_over(c, k->shape[WEIGHT].sizes[1], k->c);
    for (int d = 0; d < k->n; ++d) {
        inner += open_taps(c, k, d);
    }
    print_products(c, k);
    close_loops(c, inner);
    if (k->adds[SMALL]) {
        adzi_c99_line(
            c, "%s %s sum;", element(c, k, SMALL, &k->to[SMALL], text), sets ? "=" : "+=");
    }
    close_places(c, loops);
}

static conv conv_of(const adzi_c99_call *call, const adzi_c99_value *big,
    const adzi_c99_value *small, const adzi_c99_value *weight)
{
    return (conv){ .call = call,
        .shape = { [BIG] = *big, [SMALL] = *small, [WEIGHT] = *weight },
        .n = weight->rank - 2,
        .groups = (int64_t)adzi_c99_attr(call, "groups", 1) };
}

/* Has the loops add to a tensor. */
static void add_to(conv *k, int which, adzi_c99_value to)
{
    k->to[which] = to;
    k->adds[which] = true;
}

/* A vector of channels, laid over images with n dimensions. */
static adzi_c99_value over_images(const adzi_c99_value *channels, const adzi_c99_value *y, int n)
{
    adzi_c99_value v = *channels;
    v.rank = y->rank;
    for (int d = 0; d < y->rank; ++d) {
        v.sizes[d] = y->sizes[d];
        v.strides[d] = d == y->rank - n - 1 ? channels->strides[0] : 0;
    }
    return v;
}

/* The tensors of a call: x, weight and bias; bias may be NULL. */
typedef struct {
    const adzi_c99_value *x, *weight, *bias, *y;
} arguments;

static arguments arguments_of(const adzi_c99 *c, const adzi_c99_call *call)
{
    return (arguments){ .x = adzi_c99_in(c, call, 0),
        .weight = adzi_c99_in(c, call, 1),
        .bias = adzi_c99_in(c, call, 2),
        .y = adzi_c99_out(c, call, 0) };
}

/* dbias += the sum of dy over the items and the places. */
static void print_bias_backward(adzi_c99 *c, const arguments *a, const adzi_c99_value *dy, int n)
{
    if (a->bias != NULL && adzi_c99_wants(c, a->bias)) {
        const adzi_c99_value db = adzi_c99_gradient(c, a->bias);
        const adzi_c99_value to = over_images(&db, dy, n);
        adzi_c99_map(c, &to, "+= $a", dy);
    }
}

void adzi_c99_conv_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const arguments a = arguments_of(c, call);
    const adzi_c99_value dy = adzi_c99_gradient(c, a.y);
    conv k = conv_of(call, a.x, a.y, a.weight);
    print_bias_backward(c, &a, &dy, k.n);
    k.of[BIG] = a.x;
    k.of[SMALL] = &dy;
    k.of[WEIGHT] = a.weight;
    if (adzi_c99_wants(c, a.x)) {
        add_to(&k, BIG, adzi_c99_gradient(c, a.x));
    }
    if (adzi_c99_wants(c, a.weight)) {
        add_to(&k, WEIGHT, adzi_c99_gradient(c, a.weight));
    }
    if (k.adds[BIG] || k.adds[WEIGHT]) {
        print_loops(c, &k, NULL, false);
    }
}

void adzi_c99_conv_transpose_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const arguments a = arguments_of(c, call);
    const adzi_c99_value dy = adzi_c99_gradient(c, a.y);
    conv k = conv_of(call, a.y, a.x, a.weight);
    print_bias_backward(c, &a, &dy, k.n);
    k.of[BIG] = &dy;
    k.of[SMALL] = a.x;
    k.of[WEIGHT] = a.weight;
    if (adzi_c99_wants(c, a.x)) {
        add_to(&k, SMALL, adzi_c99_gradient(c, a.x));
    }
    if (adzi_c99_wants(c, a.weight)) {
        add_to(&k, WEIGHT, adzi_c99_gradient(c, a.weight));
    }
    if (k.adds[SMALL] || k.adds[WEIGHT]) {
        print_loops(c, &k, NULL, false);
    }
}

void adzi_c99_conv_weight_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value *x = adzi_c99_in(c, call, 0), *dy = adzi_c99_in(c, call, 1);
    const adzi_c99_value ddw = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    conv k = conv_of(call, x, dy, &ddw);
    k.of[BIG] = x;
    k.of[SMALL] = dy;
    k.of[WEIGHT] = &ddw;
    if (adzi_c99_wants(c, x)) {
        add_to(&k, BIG, adzi_c99_gradient(c, x));
    }
    if (adzi_c99_wants(c, dy)) {
        add_to(&k, SMALL, adzi_c99_gradient(c, dy));
    }
    if (k.adds[BIG] || k.adds[SMALL]) {
        print_loops(c, &k, NULL, false);
    }
}

/* ---- unfold and fold ------------------------------------------------------------------------- */

/* Prints an assignment between each element of the image[N, C, H, W] and its copy in the
 * columns[N, C KH KW, places], which a kernel with one channel per group would read. N may be
 * absent. */
static void print_patches(adzi_c99 *c, const adzi_c99_call *call, const adzi_c99_value *image,
    const adzi_c99_value *columns, const char *assignment, bool to_image)
{
    const int64_t *kernel = adzi_c99_attr_list(call, "kernel_size");
    const int64_t *stride = adzi_c99_attr_list(call, "stride");
    const int64_t *padding = adzi_c99_attr_list(call, "padding");
    const int64_t *dilation = adzi_c99_attr_list(call, "dilation");
    const int lead = image->rank - AXES;
    const int64_t channels = image->sizes[lead - 1], *strides = columns->strides + lead - 1;
    adzi_c99_value small = *image, weight = { .rank = 4, .sizes = { channels, 1 } };
    char at[ADZI_C99_INDEX], a[TEXT], b[TEXT];
    for (int d = 0; d < AXES; ++d) {
        const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
        weight.sizes[2 + d] = kernel[d];
        small.sizes[lead + d] = (image->sizes[lead + d] + 2 * padding[d] - reach) / stride[d] + 1;
    }
    conv k = conv_of(call, image, &small, &weight);
    k.groups = channels;
    const int loops = open_places(c, &k);
    int taps = open_taps(c, &k, 0);
    taps += open_taps(c, &k, 1);
    start_index(at, columns);
    add_index(at, k.item, columns->strides[0]);
    add_index(at, k.o, kernel[0] * kernel[1] * strides[0]);
    add_index(at, k.tap[0], kernel[1] * strides[0]);
    add_index(at, k.tap[1], strides[0]);
    add_index(at, k.place[0], small.sizes[lead + 1] * strides[1]);
    add_index(at, k.place[1], strides[1]);
    adzi_c99_element(c, columns->memory, at, a, sizeof a);
    element(c, &k, BIG, image, b);
    adzi_c99_line(c, "%s %s %s;", to_image ? b : a, assignment, to_image ? a : b);
    close_loops(c, taps);
    close_places(c, loops);
}

void adzi_c99_unfold_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value dy = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    const adzi_c99_value dx = adzi_c99_gradient(c, adzi_c99_in(c, call, 0));
    print_patches(c, call, &dx, &dy, "+=", true);
}

void adzi_c99_fold_backward(adzi_c99 *c, const adzi_c99_call *call)
{
    const adzi_c99_value dy = adzi_c99_gradient(c, adzi_c99_out(c, call, 0));
    const adzi_c99_value dx = adzi_c99_gradient(c, adzi_c99_in(c, call, 0));
    print_patches(c, call, &dy, &dx, "+=", false);
}
