/* fastai's losses, called through modules so that the sweep reaches them. */
#include "adze/zoo.h"
#include "nn/case.h"

typedef struct {
    double eps; /* of label smoothing; below 0 the loss is CrossEntropyFlat along axis */
    adz_reduction reduction;
    int axis;
} loss_state;

static adz_status loss_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const loss_state *s = adz_module_data(self);
    adz_tensor *x = adz_values_argument(in, 0, "x"), *y;
    adz_tensor *target = adz_values_argument(in, 1, "target");
    if (s->eps >= 0) {
        y = adz_fastai_label_smoothing_cross_entropy(x, target, s->eps, s->reduction);
    } else {
        adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
        o.reduction = s->reduction;
        y = adz_fastai_cross_entropy_flat(x, target, ADZ_NONE, s->axis, &o);
    }
    return adz_values_add(out, "loss", y);
}

static const adz_module_type loss_type = {
    .size = sizeof(adz_module_type),
    .name = "Loss",
    .call = loss_call,
};

static adz_module *loss_new(loss_state state)
{
    adz_module *self = adz_module_new(&loss_type, sizeof state);
    if (self != NULL) {
        *(loss_state *)adz_module_data(self) = state;
    }
    return self;
}

#define SAMPLE(name, ...)                             \
    static adz_module *name(adz_generator *g)         \
    {                                                 \
        (void)g;                                      \
        return loss_new((loss_state){ __VA_ARGS__ }); \
    }
SAMPLE(smoothed_mean, 0.2, ADZ_REDUCE_MEAN, 0)
SAMPLE(smoothed_sum, 0.1, ADZ_REDUCE_SUM, 0)
SAMPLE(smoothed_each, 1, ADZ_REDUCE_NONE, 0)
SAMPLE(flat_last, -1, ADZ_REDUCE_MEAN, -1)
SAMPLE(flat_middle, -1, ADZ_REDUCE_NONE, 1)

/* Without ignored rows, it equals the label smoothing of PyTorch's cross entropy. */
static void smoothing_is_cross_entropys(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(6, 4), ADZ_F64);
    adz_tensor *target = adz_randint(0, 4, ADZ_SHAPE(6), ADZ_I64);
    for (int i = 0; i < 3; ++i) {
        static const adz_reduction all[] = { ADZ_REDUCE_NONE, ADZ_REDUCE_MEAN, ADZ_REDUCE_SUM };
        adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
        o.label_smoothing = 0.3;
        o.reduction = all[i];
        expect_same(adz_fastai_label_smoothing_cross_entropy(x, target, 0.3, all[i]),
            adz_cross_entropy(x, target, ADZ_NONE, &o), 1e-12);
    }
    adz_tensor *row = adz_select(x, 0, 0), *label = adz_select(target, 0, 0);
    adz_tensor *y = adz_fastai_label_smoothing_cross_entropy(row, label, 0, ADZ_REDUCE_MEAN);
    expect_same(y, adz_cross_entropy(row, label, ADZ_NONE, NULL), 1e-12);
}

/* A row of class -100 keeps its share of the spread part, and counts in that part's mean. */
static void ignored_rows_keep_the_spread_part(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    adz_tensor *target = adz_tensor_from((int64_t[]){ -100, 2 }, ADZ_SHAPE(2), ADZ_I64);
    adz_tensor *p = adz_log_softmax(x, -1), *sum = adz_sum(p, ADZ_DIMS(-1), ADZ_DROPDIM);
    double first = adz_tensor_at(sum, (int64_t[]){ 0 }),
           second = adz_tensor_at(sum, (int64_t[]){ 1 });
    double nll = -adz_tensor_at(p, (int64_t[]){ 1, 2 });
    adz_tensor *each = adz_fastai_label_smoothing_cross_entropy(x, target, 0.3, ADZ_REDUCE_NONE);
    assert_true(HOLDS(each, 1e-12, -0.1 * first, 0.7 * nll - 0.1 * second));
    adz_tensor *mean = adz_fastai_label_smoothing_cross_entropy(x, target, 0.3, ADZ_REDUCE_MEAN);
    assert_true(HOLDS(mean, 1e-12, 0.7 * nll - 0.05 * (first + second)));
}

/* With the classes in the middle, the loss is that of the tensor with the axes swapped. */
static void any_axis_holds_classes(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 5, 3, 4), ADZ_F64);
    adz_tensor *target = adz_randint(0, 5, ADZ_SHAPE(2, 3, 4), ADZ_I64);
    adz_tensor *y = adz_fastai_cross_entropy_flat(x, target, ADZ_NONE, 1, NULL);
    expect_same(y, adz_cross_entropy(x, target, ADZ_NONE, NULL), 1e-12);
    expect_same(adz_fastai_cross_entropy_flat(x, target, ADZ_NONE, -3, NULL), y, 0);
    adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
    o.reduction = ADZ_REDUCE_NONE;
    adz_tensor *each = adz_fastai_cross_entropy_flat(x, target, ADZ_NONE, 1, &o);
    adz_tensor *plain = adz_transpose(adz_cross_entropy(x, target, ADZ_NONE, &o), 1, 2);
    expect_same(each, adz_reshape(plain, ADZ_SHAPE(24)), 1e-12);
    adz_tensor *weight = adz_rand(ADZ_SHAPE(5), ADZ_F64);
    expect_same(adz_fastai_cross_entropy_flat(x, target, weight, 1, NULL),
        adz_cross_entropy(x, target, weight, NULL), 1e-12);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), *y = adz_zeros(ADZ_SHAPE(2), ADZ_I64);
    assert_null(adz_fastai_label_smoothing_cross_entropy(x, y, 1.1, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_ARGUMENT, "eps is 1.1");
    assert_null(adz_fastai_label_smoothing_cross_entropy(x, y, NAN, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_ARGUMENT, "eps is nan");
    assert_null(adz_fastai_label_smoothing_cross_entropy(x, y, 0.1, ADZ_REDUCE_BATCHMEAN));
    expect_error(ADZ_ERR_ARGUMENT, "");
    adz_tensor *outside = adz_full(ADZ_SHAPE(2), 3, ADZ_I64);
    assert_null(adz_fastai_label_smoothing_cross_entropy(x, outside, 0.1, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_INDEX, "3");
    adz_tensor *deep = adz_ones(ADZ_SHAPE(2, 3, 4), ADZ_F32);
    assert_null(adz_fastai_label_smoothing_cross_entropy(deep, y, 0.1, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_SHAPE, "x[2, 3, 4] must be [C] or [N, C]");
    assert_null(adz_fastai_label_smoothing_cross_entropy(
        adz_ones(ADZ_SHAPE(2, 0), ADZ_F32), y, 0.1, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_SHAPE, "x[2, 0]");
    assert_null(adz_fastai_label_smoothing_cross_entropy(NULL, y, 0.1, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_NULL, "x");
    assert_null(adz_fastai_cross_entropy_flat(deep, y, ADZ_NONE, -1, NULL));
    expect_error(ADZ_ERR_SHAPE, "target[2] must have the sizes of x[2, 3, 4] without dimension 2");
    assert_null(adz_fastai_cross_entropy_flat(x, y, ADZ_NONE, 2, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "axis 2 is none of x[2, 3]");
    assert_null(adz_fastai_cross_entropy_flat(x, outside, ADZ_NONE, -1, NULL));
    expect_error(ADZ_ERR_INDEX, "3");
}

/* One class, one axis, and numbers at the borders. */
static void borders_of_losses(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 1), ADZ_F64), *y = adz_zeros(ADZ_SHAPE(2), ADZ_I64);
    for (int eps = 0; eps < 2; ++eps) {
        assert_true(
            HOLDS(adz_fastai_label_smoothing_cross_entropy(x, y, eps, ADZ_REDUCE_MEAN), 0, 0));
    }
    assert_null(adz_fastai_label_smoothing_cross_entropy(x, y, -0.1, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_ARGUMENT, "eps is -0.1, but must be in [0, 1]");
    adz_tensor *scalar = adz_scalar(1, ADZ_F64);
    assert_null(adz_fastai_label_smoothing_cross_entropy(scalar, y, 0, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_SHAPE, "x[] must be [C] or [N, C]");
    assert_null(adz_fastai_label_smoothing_cross_entropy(x, ADZ_NONE, 0, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_ARGUMENT, "cross_entropy: target is not optional");
    adz_tensor *row = adz_randn(ADZ_SHAPE(4), ADZ_F64), *label = adz_scalar(3, ADZ_I64);
    adz_tensor *loss = adz_cross_entropy(row, label, ADZ_NONE, NULL);
    for (int axis = -1; axis < 1; ++axis) {
        expect_same(adz_fastai_cross_entropy_flat(row, label, ADZ_NONE, axis, NULL), loss, 1e-12);
    }
    adz_tensor *columns = adz_randn(ADZ_SHAPE(3, 2), ADZ_F64);
    expect_same(adz_fastai_cross_entropy_flat(columns, y, ADZ_NONE, 0, NULL),
        adz_cross_entropy(adz_transpose(columns, 0, 1), y, ADZ_NONE, NULL), 1e-12);
    assert_null(adz_fastai_cross_entropy_flat(columns, y, ADZ_NONE, 1, NULL));
    expect_error(ADZ_ERR_SHAPE, "target[2] must have the sizes of x[3, 2] without dimension 1");
    assert_null(adz_fastai_cross_entropy_flat(columns, y, ADZ_NONE, -3, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "axis -3 is none of x[3, 2]");
    assert_null(adz_fastai_cross_entropy_flat(ADZ_NONE, y, ADZ_NONE, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "cross_entropy_flat: x is not optional");
    assert_null(adz_fastai_cross_entropy_flat(columns, ADZ_NONE, ADZ_NONE, 0, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "cross_entropy_flat: target is not optional");
    adz_tensor *out = adz_ones(ADZ_SHAPE(2, 2, 2), ADZ_F64);
    assert_null(adz_fastai_ar_tar(ADZ_NONE, out, out, 1, 1));
    expect_error(ADZ_ERR_ARGUMENT, "ar_tar: loss is not optional");
    assert_null(adz_fastai_ar_tar(scalar, scalar, out, 1, 1));
    expect_error(ADZ_ERR_SHAPE, "ar_tar: out[] must be [B, T, D]");
    assert_null(adz_fastai_ar_tar(scalar, out, ADZ_NONE, 1, 1));
    expect_error(ADZ_ERR_ARGUMENT, "ar_tar: raw is not optional");
    assert_null(adz_fastai_ar_tar(scalar, out, out, 1, NAN));
    expect_error(ADZ_ERR_ARGUMENT, "alpha 1 and beta nan must be finite");
}

/* ---- AR and TAR ----------------------------------------------------------------------------- */

typedef struct {
    double alpha, beta;
} regularizer_state;

static adz_status regularizer_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const regularizer_state *s = adz_module_data(self);
    adz_tensor *loss = adz_values_argument(in, 2, "loss");
    loss = loss != ADZ_NONE ? loss : adz_scalar(1, ADZ_F32);
    return adz_values_add(out, "loss",
        adz_fastai_ar_tar(loss, adz_values_argument(in, 0, "out"),
            adz_values_argument(in, 1, "raw"), s->alpha, s->beta));
}

static const adz_module_type regularizer_type = {
    .size = sizeof(adz_module_type),
    .name = "Regularizer",
    .call = regularizer_call,
};

static adz_module *regularizer_new(double alpha, double beta)
{
    adz_module *self = adz_module_new(&regularizer_type, sizeof(regularizer_state));
    if (self != NULL) {
        *(regularizer_state *)adz_module_data(self) = (regularizer_state){ alpha, beta };
    }
    return self;
}

static adz_module *regularizer(adz_generator *g)
{
    (void)g;
    return regularizer_new(0.7, 1.3);
}

static void terms_are_left_out(void **state)
{
    (void)state;
    adz_tensor *loss = adz_scalar(3, ADZ_F64), *x = adz_full(ADZ_SHAPE(2, 3, 1), 2, ADZ_F64);
    static const double numbers[] = { 0, 1, 3, 5, 5, 7 };
    adz_tensor *raw = adz_tensor_from(numbers, ADZ_SHAPE(2, 3, 1), ADZ_F64);
    assert_true(HOLDS(adz_fastai_ar_tar(loss, x, raw, 0.5, 2), 1e-12, 3 + 2 + 2 * 9 / 4.0));
    assert_ptr_equal(adz_fastai_ar_tar(loss, x, raw, 0, 0), loss);
    adz_tensor *one = adz_narrow(raw, 0, 0, 1), *step = adz_narrow(raw, 1, 0, 1);
    assert_true(HOLDS(adz_fastai_ar_tar(loss, x, one, 0.5, 2), 1e-12, 5));
    assert_true(HOLDS(adz_fastai_ar_tar(loss, x, step, 0.5, 2), 1e-12, 5));
    assert_null(adz_fastai_ar_tar(loss, x, raw, INFINITY, 0));
    expect_error(ADZ_ERR_ARGUMENT, "alpha inf and beta 0");
    assert_null(adz_fastai_ar_tar(loss, x, loss, 1, 1));
    expect_error(ADZ_ERR_SHAPE, "raw[] must be [B, T, D]");
    assert_null(adz_fastai_ar_tar(x, x, raw, 1, 1));
    expect_error(ADZ_ERR_SHAPE, "loss[2, 3, 1] must be a scalar");
    assert_null(adz_fastai_ar_tar(loss, ADZ_NONE, raw, 1, 1));
    expect_error(ADZ_ERR_ARGUMENT, "out is not optional");
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    if (strcmp(reference, "fastai RNNTrainer AR/TAR") == 0) {
        return regularizer_new(config_number(config, "alpha", 0), config_number(config, "beta", 0));
    }
    loss_state state = { -1, ADZ_REDUCE_MEAN, (int)config_number(config, "axis", -1) };
    if (strcmp(reference, "fastai LabelSmoothingCrossEntropy") == 0) {
        state.eps = config_number(config, "eps", 0.1);
        state.reduction = (adz_reduction)config_reduction(config);
    }
    return loss_new(state);
}

static const struct CMUnitTest facts[] = {
    TEST(smoothing_is_cross_entropys),
    TEST(ignored_rows_keep_the_spread_part),
    TEST(any_axis_holds_classes),
    TEST(bad_values_are_refused),
    TEST(borders_of_losses),
    TEST(terms_are_left_out),
};

const module_case fastai_loss_module = {
    .name = "fastai_loss",
    .references = { "fastai LabelSmoothingCrossEntropy", "fastai CrossEntropyFlat",
        "fastai RNNTrainer AR/TAR" },
    .from_config = from_config,
    .samples = { { smoothed_mean, "Loss()", "", { X(3, 4), IDS(4, 3) } },
        { smoothed_sum, "Loss()", "", { X(3, 4), IDS(4, 3) } },
        { smoothed_each, "Loss()", "", { X(3, 4), IDS(4, 3) } },
        { flat_last, "Loss()", "", { X(2, 3, 4), IDS(4, 2, 3) } },
        { flat_middle, "Loss()", "", { X(2, 4, 3), IDS(4, 2, 3) } },
        { regularizer, "Regularizer()", "", { X(2, 3, 2), X(2, 3, 2) } } },
    FACTS(facts),
};
