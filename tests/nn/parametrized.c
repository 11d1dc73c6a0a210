/* Layers with parametrised parameters. */
#include "nn/case.h"

static adz_module *normed(adz_module *m, int dim)
{
    adz_weight_norm(m, "weight", dim);
    return m;
}

static adz_module *weight_norm(adz_generator *g)
{
    (void)g;
    return normed(adz_linear_new(3, 2, NULL), 0);
}

static adz_module *one_length(adz_generator *g)
{
    (void)g;
    return normed(adz_linear_new(3, 2, NULL), -1);
}

static adz_module *in_sequence(adz_generator *g)
{
    (void)g;
    return ADZ_SEQUENTIAL(normed(adz_conv1d_new(2, 3, 2, NULL), 0), adz_relu_new(),
        normed(adz_conv_transpose1d_new(3, 2, 2, NULL), 1));
}

/* The norm of one dimension draws nothing and moves nothing. */
static adz_module *recurrent(adz_generator *g)
{
    (void)g;
    adz_module *m = adz_gru_new(2, 3, NULL);
    adz_weight_norm(m, "weight_hh_l0", 0);
    adz_spectral_norm(m, "bias_ih_l0", NULL);
    return m;
}

/* A parameter that a recurrent layer reads by its position is the computed one. */
static void recurrent_layers_read_the_value(void **state)
{
    (void)state;
    adz_module *m = adz_gru_new(2, 3, NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 1, 2), ADZ_F32), *y = adz_module_forward(m, x);
    adz_weight_norm(m, "weight_hh_l0", 0);
    expect_same(adz_module_forward(m, x), y, 1e-6);
    fill(adz_module_get_parameter(m, "parametrizations.weight_hh_l0.original0"), 0);
    assert_false(adz_equal(adz_module_forward(m, x), y));
    adz_module_release(&m);
}

static const struct CMUnitTest facts[] = { TEST(recurrent_layers_read_the_value) };

#define WEIGHT_NORM(indent, name)                      \
    "\n" indent "  (parametrizations): ModuleDict("    \
    "\n" indent "    (" name "): ParametrizationList(" \
    "\n" indent "      (0): _WeightNorm()"             \
    "\n" indent "    )"                                \
    "\n" indent "  )"                                  \
    "\n" indent ")"

const module_case parametrized_module = {
    .name = "parametrized",
    .samples = { { weight_norm,
                     "ParametrizedLinear(\n  in_features=3, out_features=2, bias=True" WEIGHT_NORM(
                         "", "weight"),
                     "bias parametrizations.weight.original0 parametrizations.weight.original1",
                     { X(4, 3) } },
        { one_length,
            "ParametrizedLinear(\n  in_features=3, out_features=2, bias=True" WEIGHT_NORM(
                "", "weight"),
            "bias parametrizations.weight.original0 parametrizations.weight.original1",
            { X(4, 3) } },
        { in_sequence,
            "Sequential(\n"
            "  (0): ParametrizedConv1d(\n"
            "    2, 3, kernel_size=(2,), stride=(1,)" WEIGHT_NORM(
                "  ", "weight") "\n"
                                "  (1): ReLU()\n"
                                "  (2): ParametrizedConvTranspose1d(\n"
                                "    3, 2, kernel_size=(2,), stride=(1,)" WEIGHT_NORM(
                                    "  ", "weight") "\n)",
            "0.bias 0.parametrizations.weight.original0 0.parametrizations.weight.original1 "
            "2.bias 2.parametrizations.weight.original0 2.parametrizations.weight.original1",
            { X(2, 2, 5) } },
        { recurrent,
            "ParametrizedGRU(\n"
            "  2, 3\n"
            "  (parametrizations): ModuleDict(\n"
            "    (weight_hh_l0): ParametrizationList(\n"
            "      (0): _WeightNorm()\n"
            "    )\n"
            "    (bias_ih_l0): ParametrizationList(\n"
            "      (0): _SpectralNorm()\n"
            "    )\n"
            "  )\n"
            ")",
            "weight_ih_l0 bias_hh_l0 parametrizations.weight_hh_l0.original0 "
            "parametrizations.weight_hh_l0.original1 parametrizations.bias_ih_l0.original",
            { X(3, 1, 2) } } },
    FACTS(facts),
};
