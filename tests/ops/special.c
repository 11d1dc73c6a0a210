/* Elementwise operators at special values: zeros, infinities, NaN, borders between branches,
 * numbers whose exponential overflows. PyTorch 2.15 computed the expected values in double
 * precision, with exceptions that are marked.
 *
 * Every case runs in f32 and f64. There are enough copies of each value for whole and partial
 * vectors. The fused backward and the expression must both give the gradient. */
#include "ops/facts.h"

enum { MOST = 19, COPIES = 19 };

#define ONE(name, call)                    \
    static adz_tensor *name(adz_tensor *x) \
    {                                      \
        return call;                       \
    }
#define TWO(name, call)                                   \
    static adz_tensor *name(adz_tensor *a, adz_tensor *b) \
    {                                                     \
        return call;                                      \
    }

ONE(of_abs, adz_abs(x))
ONE(of_cos, adz_cos(x))
ONE(of_sin, adz_sin(x))
ONE(of_erf, adz_erf(x))
ONE(of_exp, adz_exp(x))
ONE(of_expm1, adz_expm1(x))
ONE(of_log, adz_log(x))
ONE(of_log1p, adz_log1p(x))
ONE(of_logsigmoid, adz_logsigmoid(x))
ONE(of_reciprocal, adz_reciprocal(x))
ONE(of_rsqrt, adz_rsqrt(x))
ONE(of_sqrt, adz_sqrt(x))
ONE(of_square, adz_square(x))
ONE(of_sigmoid, adz_sigmoid(x))
ONE(of_tanh, adz_tanh(x))
ONE(of_relu, adz_relu(x))
ONE(of_silu, adz_silu(x))
ONE(of_gelu, adz_gelu(x, ADZ_GELU_NONE))
ONE(of_gelu_tanh, adz_gelu(x, ADZ_GELU_TANH))
ONE(of_elu, adz_elu(x, 1))
ONE(of_elu_down, adz_elu(x, -0.5))
ONE(of_softplus, adz_softplus(x, 1, 20))
ONE(of_softplus_early, adz_softplus(x, 2, 1))
ONE(of_leaky_relu, adz_leaky_relu(x, 0.25))
ONE(of_clamp, adz_clamp(x, -0.5, 2))
ONE(of_power_0, adz_pow_number(x, 0))
ONE(of_power_half, adz_pow_number(x, 0.5))
ONE(of_power_1, adz_pow_number(x, 1))
ONE(of_power_2, adz_pow_number(x, 2))
ONE(of_power_3, adz_pow_number(x, 3))
ONE(of_power_less, adz_pow_number(x, -1))
ONE(of_power_broken, adz_pow_number(x, 1.5))
ONE(of_power_infinite, adz_pow_number(x, INFINITY))
ONE(of_zero_to, adz_number_pow(0, x))
ONE(of_two_to, adz_number_pow(2, x))
ONE(of_less_to, adz_number_pow(-1, x))

TWO(of_two_add, adz_add(a, b))
TWO(of_two_sub, adz_sub(a, b))
TWO(of_two_mul, adz_mul(a, b))
TWO(of_two_div, adz_div(a, b))
TWO(of_two_pow, adz_pow(a, b))
TWO(of_two_maximum, adz_maximum(a, b))
TWO(of_two_minimum, adz_minimum(a, b))
TWO(of_two_mse, adz_mse_loss(a, b, ADZ_REDUCE_NONE))
TWO(of_two_l1, adz_l1_loss(a, b, ADZ_REDUCE_NONE))
TWO(of_two_smooth_l1, adz_smooth_l1_loss(a, b, ADZ_REDUCE_NONE, 2))
TWO(of_two_huber, adz_huber_loss(a, b, ADZ_REDUCE_NONE, 2))
TWO(of_two_logits, adz_binary_cross_entropy_with_logits(a, b, ADZ_NONE, ADZ_REDUCE_NONE, ADZ_NONE))
TWO(of_two_kl, adz_kl_div(a, b, ADZ_REDUCE_NONE, false))
TWO(of_two_kl_of_logs, adz_kl_div(a, b, ADZ_REDUCE_NONE, true))

/* f and its first and second derivatives at x. The second derivative of 0^x is 0 for x >= 0, and
 * not PyTorch's NaN. */
static const struct {
    const char *name;
    adz_tensor *(*f)(adz_tensor *);
    int n;
    double x[MOST], y[MOST], first[MOST], second[MOST];
} ones[] = {
    { "abs", of_abs, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { INFINITY, 1, 0, 0, 1, INFINITY, NAN }, { -1, -1, 0, 0, 1, 1, 0 },
        { 0, 0, 0, 0, 0, 0, 0 } },
    { "cos", of_cos, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { NAN, 0.5403023058681398, 1, 1, 0.5403023058681398, NAN, NAN },
        { NAN, 0.8414709848078965, 0, 0, -0.8414709848078965, NAN, NAN },
        { NAN, -0.5403023058681398, -1, -1, -0.5403023058681398, NAN, NAN } },
    { "sin", of_sin, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { NAN, -0.8414709848078965, 0, 0, 0.8414709848078965, NAN, NAN },
        { NAN, 0.5403023058681398, 1, 1, 0.5403023058681398, NAN, NAN },
        { NAN, 0.8414709848078965, 0, 0, -0.8414709848078965, NAN, NAN } },
    { "erf", of_erf, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { -1, -0.8427007929497149, 0, 0, 0.8427007929497149, 1, NAN },
        { 0, 0.4151074974205947, 1.1283791670955126, 1.1283791670955126, 0.4151074974205947, 0,
            NAN },
        { NAN, 0.8302149948411894, 0, 0, -0.8302149948411894, NAN, NAN } },
    { "exp", of_exp, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { 0, 0.36787944117144233, 1, 1, 2.7182818284590455, INFINITY, NAN, INFINITY, 0 },
        { 0, 0.36787944117144233, 1, 1, 2.7182818284590455, INFINITY, NAN, INFINITY, 0 },
        { 0, 0.36787944117144233, 1, 1, 2.7182818284590455, INFINITY, NAN, INFINITY, 0 } },
    { "expm1", of_expm1, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { -1, -0.6321205588285577, 0, 0, 1.718281828459045, INFINITY, NAN, INFINITY, -1 },
        { 0, 0.36787944117144233, 1, 1, 2.718281828459045, INFINITY, NAN, INFINITY, 0 },
        { 0, 0.36787944117144233, 1, 1, 2.718281828459045, INFINITY, NAN, INFINITY, 0 } },
    { "log", of_log, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { NAN, NAN, -INFINITY, -INFINITY, 0, INFINITY, NAN },
        { 0, -1, -INFINITY, INFINITY, 1, 0, NAN }, { 0, -1, -INFINITY, -INFINITY, -1, 0, NAN } },
    { "log1p", of_log1p, 8, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, -2 },
        { NAN, -INFINITY, 0, 0, 0.6931471805599453, INFINITY, NAN, NAN },
        { 0, INFINITY, 1, 1, 0.5, 0, NAN, -1 }, { 0, -INFINITY, -1, -1, -0.25, 0, NAN, -1 } },
    { "logsigmoid", of_logsigmoid, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { -INFINITY, -1.3132616875182228, -0.6931471805599453, -0.6931471805599453,
            -0.31326168751822286, 0, NAN, 0, -1e+03 },
        { 1, 0.7310585786300049, 0.5, 0.5, 0.2689414213699951, 0, NAN, 0, 1 },
        { 0, -0.19661193324148185, -0.25, -0.25, -0.19661193324148185, 0, NAN, 0, 0 } },
    { "reciprocal", of_reciprocal, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { 0, -1, -INFINITY, INFINITY, 1, 0, NAN }, { 0, -1, -INFINITY, -INFINITY, -1, 0, NAN },
        { 0, -2, -INFINITY, INFINITY, 2, 0, NAN } },
    { "rsqrt", of_rsqrt, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { NAN, NAN, -INFINITY, INFINITY, 1, 0, NAN },
        { NAN, NAN, INFINITY, -INFINITY, -0.5, 0, NAN },
        { NAN, NAN, -INFINITY, INFINITY, 0.75, 0, NAN } },
    { "sqrt", of_sqrt, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { NAN, NAN, 0, 0, 1, INFINITY, NAN }, { NAN, NAN, -INFINITY, INFINITY, 0.5, 0, NAN },
        { NAN, NAN, INFINITY, -INFINITY, -0.25, 0, NAN } },
    { "square", of_square, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { INFINITY, 1, 0, 0, 1, INFINITY, NAN }, { -INFINITY, -2, 0, 0, 2, INFINITY, NAN },
        { 2, 2, 2, 2, 2, 2, 2 } },
    { "sigmoid", of_sigmoid, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { 0, 0.2689414213699951, 0.5, 0.5, 0.7310585786300049, 1, NAN, 1, 0 },
        { 0, 0.19661193324148185, 0.25, 0.25, 0.19661193324148185, 0, NAN, 0, 0 },
        { 0, 0.09085774767294842, 0, 0, -0.09085774767294842, 0, NAN, 0, 0 } },
    { "tanh", of_tanh, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { -1, -0.7615941559557649, 0, 0, 0.7615941559557649, 1, NAN, 1, -1 },
        { 0, 0.41997434161402614, 1, 1, 0.41997434161402614, 0, NAN, 0, 0 },
        { 0, 0.6397000084492246, 0, 0, -0.6397000084492246, 0, NAN, 0, 0 } },
    { "relu", of_relu, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { 0, 0, 0, 0, 1, INFINITY, NAN }, { 0, 0, 0, 0, 1, 1, 1 }, { 0, 0, 0, 0, 0, 0, 0 } },
    { "silu", of_silu, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { NAN, -0.2689414213699951, 0, 0, 0.7310585786300049, INFINITY, NAN, 1e+03, 0 },
        { NAN, 0.07232948812851325, 0.5, 0.5, 0.9276705118714869, NAN, NAN, 1, 0 },
        { NAN, 0.3023661188100153, 0.5, 0.5, 0.3023661188100153, NAN, NAN, 0, 0 } },
    { "gelu", of_gelu, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { NAN, -0.15865525393145702, 0, 0, 0.841344746068543, INFINITY, NAN, 1e+03, 0 },
        { NAN, -0.08331547058768635, 0.5, 0.5, 1.0833154705876864, NAN, NAN, 1, 0 },
        { NAN, 0.2419707245191433, 0.7978845608028654, 0.7978845608028654, 0.2419707245191433, NAN,
            NAN, 0, 0 } },
    { "gelu_tanh", of_gelu_tanh, 7, { -1, 0, 0, 1, NAN, 1e+03, -1e+03 },
        { -0.15880800939172326, 0, 0, 0.8411919906082768, NAN, 1e+03, 0 },
        { -0.08296408384578252, 0.5, 0.5, 1.0829640838457826, NAN, 1, 0 },
        { 0.2421481979837728, 0.7978845608028654, 0.7978845608028654, 0.2421481979837728, NAN, 0,
            0 } },
    { "elu", of_elu, 9, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 1e+03, -1e+03 },
        { -1, -0.6321205588285577, 0, 0, 1, INFINITY, NAN, 1e+03, -1 },
        { 0, 0.36787944117144233, 1, 1, 1, 1, 1, 1, 0 },
        { 0, 0.36787944117144233, 0, 0, 0, 0, NAN, 0, 0 } },
    { "elu_down", of_elu_down, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { 0.5, 0.31606027941427883, 0, 0, 1, INFINITY, NAN },
        { 0, -0.18393972058572117, -0.5, -0.5, 1, 1, 1 },
        { 0, -0.18393972058572117, 0, 0, 0, 0, NAN } },
    { "softplus", of_softplus, 10, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 2e+01, 1e+03, -1e+03 },
        { 0, 0.31326168751822286, 0.6931471805599453, 0.6931471805599453, 1.3132616875182228,
            INFINITY, NAN, 20.000000002061153, 1e+03, 0 },
        { 0, 0.2689414213699951, 0.5, 0.5, 0.7310585786300049, 1, NAN, 0.9999999979388464, 1, 0 },
        { 0, 0.19661193324148185, 0.25, 0.25, 0.19661193324148185, 0, NAN, 0, 0, 0 } },
    { "softplus_early", of_softplus_early, 8, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 0.5 },
        { 0, 0.06346400552148625, 0.34657359027997264, 0.34657359027997264, 1, INFINITY, NAN,
            0.6566308437591114 },
        { 0, 0.11920292202211755, 0.5, 0.5, 1, 1, NAN, 0.7310585786300049 },
        { 0, 0.209987170807013, 0.5, 0.5, 0, 0, NAN, 0 } },
    { "leaky_relu", of_leaky_relu, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { -INFINITY, -0.25, 0, 0, 1, INFINITY, NAN }, { 0.25, 0.25, 0.25, 0.25, 1, 1, 0.25 },
        { 0, 0, 0, 0, 0, 0, 0 } },
    { "clamp", of_clamp, 8, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 3 },
        { -0.5, -0.5, 0, 0, 1, 2, NAN, 2 }, { 0, 0, 1, 1, 1, 0, 0, 0 },
        { 0, 0, 0, 0, 0, 0, 0, 0 } },
    { "power_0", of_power_0, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN }, { 1, 1, 1, 1, 1, 1, 1 },
        { 0, 0, 0, 0, 0, 0, 0 }, { 0, 0, 0, 0, 0, 0, 0 } },
    { "power_half", of_power_half, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { NAN, NAN, 0, 0, 1, INFINITY, NAN }, { NAN, NAN, -INFINITY, INFINITY, 0.5, 0, NAN },
        { NAN, NAN, -INFINITY, -INFINITY, -0.25, 0, NAN } },
    { "power_1", of_power_1, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { -INFINITY, -1, 0, 0, 1, INFINITY, NAN }, { 1, 1, 1, 1, 1, 1, 1 },
        { 0, 0, 0, 0, 0, 0, 0 } },
    { "power_2", of_power_2, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { INFINITY, 1, 0, 0, 1, INFINITY, NAN }, { -INFINITY, -2, 0, 0, 2, INFINITY, NAN },
        { 2, 2, 2, 2, 2, 2, 2 } },
    { "power_3", of_power_3, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { -INFINITY, -1, 0, 0, 1, INFINITY, NAN }, { INFINITY, 3, 0, 0, 3, INFINITY, NAN },
        { -INFINITY, -6, 0, 0, 6, INFINITY, NAN } },
    { "power_less", of_power_less, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { 0, -1, -INFINITY, INFINITY, 1, 0, NAN }, { 0, -1, -INFINITY, -INFINITY, -1, 0, NAN },
        { 0, -2, -INFINITY, INFINITY, 2, 0, NAN } },
    { "power_broken", of_power_broken, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { INFINITY, NAN, 0, 0, 1, INFINITY, NAN }, { NAN, NAN, 0, 0, 1.5, INFINITY, NAN },
        { NAN, NAN, -INFINITY, INFINITY, 0.75, 0, NAN } },
    { "power_infinite", of_power_infinite, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { INFINITY, 1, 0, 0, 1, INFINITY, NAN },
        { INFINITY, INFINITY, NAN, NAN, INFINITY, INFINITY, NAN },
        { INFINITY, INFINITY, NAN, NAN, INFINITY, INFINITY, NAN } },
    { "zero_to", of_zero_to, 7, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN },
        { INFINITY, INFINITY, 1, 1, 0, 0, NAN }, { -INFINITY, -INFINITY, 0, 0, 0, 0, NAN },
        { INFINITY, INFINITY, 0, 0, 0, 0, NAN } },
    { "two_to", of_two_to, 8, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 2e+03 },
        { 0, 0.5, 1, 1, 2, INFINITY, NAN, INFINITY },
        { 0, 0.34657359027997264, 0.6931471805599453, 0.6931471805599453, 1.3862943611198906,
            INFINITY, NAN, INFINITY },
        { 0, 0.2402265069591007, 0.4804530139182014, 0.4804530139182014, 0.9609060278364028,
            INFINITY, NAN, INFINITY } },
    { "less_to", of_less_to, 8, { -INFINITY, -1, 0, 0, 1, INFINITY, NAN, 2 },
        { 1, -1, 1, 1, -1, 1, NAN, 1 }, { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN },
        { NAN, NAN, NAN, NAN, NAN, NAN, NAN, NAN } },
};

/* f and its derivatives with respect to a and b. Two values differ from PyTorch's NaN. logits(-inf,
 * 0.25) is infinite, as its formula is. The derivative of kl with respect to a target of 0 or
 * infinity is the limit. */
static const struct {
    const char *name;
    adz_tensor *(*f)(adz_tensor *, adz_tensor *);
    int n;
    double a[MOST], b[MOST], y[MOST], da[MOST], db[MOST];
} twos[] = {
    { "add", of_two_add, 11, { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 1, -1, INFINITY, INFINITY, INFINITY, -INFINITY, NAN, NAN, NAN, 5 },
        { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
    { "sub", of_two_sub, 11, { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 1, -1, -INFINITY, INFINITY, NAN, -INFINITY, NAN, NAN, INFINITY, -1 },
        { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 }, { -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1 } },
    { "mul", of_two_mul, 11, { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 0, 0, NAN, INFINITY, INFINITY, -INFINITY, NAN, NAN, -INFINITY, 6 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 } },
    { "div", of_two_div, 13,
        { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2, 0, 1e-30 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3, 1e-30, 1e-30 },
        { NAN, INFINITY, -INFINITY, 0, INFINITY, NAN, -INFINITY, NAN, NAN, NAN, 0.6666666666666666,
            0, 1 },
        { INFINITY, INFINITY, INFINITY, 0, 1, 0, 0.5, 1, NAN, 0, 0.3333333333333333,
            9.999999999999999e+29, 9.999999999999999e+29 },
        { NAN, -INFINITY, INFINITY, 0, -INFINITY, NAN, INFINITY, NAN, NAN, NAN, -0.2222222222222222,
            0, -9.999999999999999e+29 } },
    { "pow", of_two_pow, 19,
        { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2, -2, -2, 0, 0, 0,
            INFINITY, 0.5, 1 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3, 2, 0.5, 2, -1, 0.5, 0, -INFINITY,
            INFINITY },
        { 1, 1, 1, 0, INFINITY, INFINITY, INFINITY, NAN, 1, 0, 8, 4, NAN, 0, INFINITY, 0, 1,
            INFINITY, 1 },
        { 0, 0, 0, NAN, 1, INFINITY, -INFINITY, 1, NAN, NAN, 12, -4, NAN, 0, -INFINITY, INFINITY, 0,
            -INFINITY, INFINITY },
        { 0, 0, NAN, 0, INFINITY, INFINITY, NAN, NAN, 0, NAN, 5.545177444479562, NAN, NAN, 0,
            -INFINITY, 0, INFINITY, -INFINITY, 0 } },
    { "maximum", of_two_maximum, 11,
        { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 1, 0, INFINITY, INFINITY, INFINITY, 2, NAN, NAN, INFINITY, 3 },
        { 0.5, 1, 0, 0, 1, 0.5, 0, 1, 1, 1, 0 }, { 0.5, 0, 1, 1, 0, 0.5, 1, 1, 1, 0, 1 } },
    { "minimum", of_two_minimum, 11,
        { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 0, -1, 0, 1, INFINITY, -INFINITY, NAN, NAN, -INFINITY, 2 },
        { 0.5, 0, 1, 1, 0, 0.5, 1, 1, 1, 0, 1 }, { 0.5, 1, 0, 0, 1, 0.5, 0, 1, 1, 1, 0 } },
    { "mse", of_two_mse, 11, { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 1, 1, INFINITY, INFINITY, NAN, INFINITY, NAN, NAN, INFINITY, 1 },
        { 0, 2, -2, -INFINITY, INFINITY, NAN, -INFINITY, NAN, NAN, INFINITY, -2 },
        { 0, -2, 2, INFINITY, -INFINITY, NAN, INFINITY, NAN, NAN, -INFINITY, 2 } },
    { "l1", of_two_l1, 11, { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3 },
        { 0, 1, 1, INFINITY, INFINITY, NAN, INFINITY, NAN, NAN, INFINITY, 1 },
        { 0, 1, -1, -1, 1, 0, -1, 0, 0, 1, -1 }, { 0, -1, 1, 1, -1, 0, 1, 0, 0, -1, 1 } },
    { "smooth_l1", of_two_smooth_l1, 14,
        { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2, 3, 1, 1 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3, 1, 3, 2 },
        { 0, 0.25, 0.25, INFINITY, INFINITY, NAN, INFINITY, NAN, NAN, INFINITY, 0.25, 1, 1, 0.25 },
        { 0, 0.5, -0.5, -1, 1, NAN, -1, NAN, NAN, 1, -0.5, 1, -1, -0.5 },
        { 0, -0.5, 0.5, 1, -1, NAN, 1, NAN, NAN, -1, 0.5, -1, 1, 0.5 } },
    { "huber", of_two_huber, 14,
        { 0, 1, -1, 0, INFINITY, INFINITY, -INFINITY, NAN, 1, INFINITY, 2, 3, 1, 1 },
        { 0, 0, 0, INFINITY, 1, INFINITY, 2, 1, NAN, -INFINITY, 3, 1, 3, 2 },
        { 0, 0.5, 0.5, INFINITY, INFINITY, NAN, INFINITY, NAN, NAN, INFINITY, 0.5, 2, 2, 0.5 },
        { 0, 1, -1, -2, 2, NAN, -2, NAN, NAN, 2, -1, 2, -2, -1 },
        { 0, -1, 1, 2, -2, NAN, 2, NAN, NAN, -2, 1, -2, 2, 1 } },
    { "logits", of_two_logits, 10,
        { 0, 0, INFINITY, INFINITY, -INFINITY, INFINITY, -INFINITY, 1e+03, -1e+03, NAN },
        { 0, 1, 0, 1, 0, 0.25, 0.25, 0.25, 0.25, 0.5 },
        { 0.6931471805599453, 0.6931471805599453, INFINITY, NAN, NAN, INFINITY, INFINITY, 7.5e+02,
            2.5e+02, NAN },
        { 0.5, -0.5, 1, 0, 0, 0.75, -0.25, 0.75, -0.25, NAN },
        { 0, 0, -INFINITY, -INFINITY, INFINITY, -INFINITY, INFINITY, -1e+03, 1e+03, NAN } },
    { "kl", of_two_kl, 8, { -1, -1, -INFINITY, -INFINITY, -1, NAN, -1, -1 },
        { 0, 1, 0.5, 0, -1, 0.5, NAN, INFINITY }, { 0, 1, INFINITY, NAN, NAN, NAN, NAN, INFINITY },
        { 0, -1, -0.5, 0, 1, -0.5, NAN, -INFINITY },
        { -INFINITY, 2, INFINITY, NAN, NAN, NAN, NAN, INFINITY } },
    { "kl_of_logs", of_two_kl_of_logs, 6, { -1, -1, -INFINITY, -INFINITY, NAN, -1 },
        { 0, -INFINITY, -1, -INFINITY, -1, NAN }, { 1, NAN, INFINITY, NAN, NAN, NAN },
        { -1, 0, -0.36787944117144233, 0, -0.36787944117144233, NAN },
        { 2, NAN, INFINITY, NAN, NAN, NAN } },
};

/* A vector with COPIES copies of each of the n values. The copies of one value follow each other.
 */
static adz_tensor *copies_of(const double *values, int n, adz_dtype dtype)
{
    adz_tensor *row = adz_tensor_from(values, ADZ_SHAPE(n, 1), ADZ_F64);
    adz_tensor *all = adz_reshape(adz_repeat(row, ADZ_SHAPE(1, COPIES)), ADZ_SHAPE(n * COPIES));
    return adz_requires_grad_(adz_to(all, dtype), true);
}

static void expect(adz_tensor *got, const double *wanted, const char *name, const char *what,
    const double *x, int n)
{
    if (got == NULL) {
        fail_msg("%s: %s", name, adz_error_message());
    }
    const bool single = adz_tensor_dtype(got) == ADZ_F32;
    const double tolerance = single ? 1e-5 : 1e-12;
    for (int64_t i = 0; i < (int64_t)n * COPIES; ++i) {
        double y = adz_tensor_at(got, &i), w = wanted[i / COPIES];
        bool near = fabs(y - w) <= tolerance * fabs(w) + 1e-14;
        if (!(near || y == w || (isnan(y) && isnan(w)))) {
            fail_msg("%s, %s in %s at %g: %.17g instead of %.17g", name, what,
                single ? "f32" : "f64", x[i / COPIES], y, w);
        }
    }
}

static void check_one(size_t k, adz_dtype dtype)
{
    const char *name = ones[k].name;
    const double *at = ones[k].x;
    const int n = ones[k].n;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = copies_of(at, n, dtype), *y = ones[k].f(x);
    expect(y, ones[k].y, name, "value", at, n);
    expect(gradient_of(y, x), ones[k].first, name, "gradient", at, n);
    adz_tensor *g = gradient_by_expression(y, x);
    expect(g, ones[k].first, name, "gradient by the expression", at, n);
    if (adz_tensor_requires_grad(g)) {
        adz_backward_options o = ADZ_BACKWARD_OPTIONS;
        adz_tensor *sum = adz_sum(g, ADZ_ALL_DIMS, ADZ_DROPDIM), *h = NULL;
        o.allow_unused = true;
        assert_int_equal(adz_autograd_grad(&sum, NULL, 1, &x, 1, &o, &h), ADZ_OK);
        h = h == ADZ_NONE ? adz_zeros_like(x) : h;
        expect(h, ones[k].second, name, "second derivative", at, n);
    }
    adz_scope_close(scope);
}

/* The gradient of f at x for an infinite dy, by either backward. */
static adz_tensor *steep_gradient(size_t k, adz_tensor *x, bool graph)
{
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_tensor *y = ones[k].f(x), *dy = adz_full_like(y, INFINITY), *dx = NULL;
    o.create_graph = graph;
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, &x, 1, &o, &dx), ADZ_OK);
    return adz_contiguous(adz_to(adz_detach(dx), ADZ_F64));
}

/* An infinite dy is multiplied by f'(x), and not by parts of it that may be 0. */
static void infinite_gradients(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof ones / sizeof ones[0]; ++k) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = copies_of(ones[k].x, ones[k].n, ADZ_F64);
        const double *fused = adz_tensor_data_f64(steep_gradient(k, x, false));
        const double *graph = adz_tensor_data_f64(steep_gradient(k, x, true));
        for (int i = 0; i < ones[k].n * COPIES; ++i) {
            if (fused[i] != graph[i] && !(isnan(fused[i]) && isnan(graph[i]))) {
                fail_msg("%s at %g: %g with a graph, %g without", ones[k].name,
                    ones[k].x[i / COPIES], graph[i], fused[i]);
            }
        }
        adz_scope_close(scope);
    }
}

static void functions_of_one(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof ones / sizeof ones[0]; ++k) {
        check_one(k, ADZ_F64);
        check_one(k, ADZ_F32);
    }
}

static void check_two(size_t k, adz_dtype dtype)
{
    const char *name = twos[k].name;
    const double *at = twos[k].a;
    const int n = twos[k].n;
    adz_scope *scope = adz_scope_open();
    adz_tensor *a = copies_of(at, n, dtype), *b = copies_of(twos[k].b, n, dtype);
    adz_tensor *y = twos[k].f(a, b);
    expect(y, twos[k].y, name, "value", at, n);
    expect(gradient_of(y, a), twos[k].da, name, "gradient of a", at, n);
    expect(gradient_of(y, b), twos[k].db, name, "gradient of b", at, n);
    adz_tensor *g = gradient_by_expression(y, a);
    expect(g, twos[k].da, name, "gradient of a by the expression", at, n);
    g = gradient_by_expression(y, b);
    expect(g, twos[k].db, name, "gradient of b by the expression", at, n);
    adz_scope_close(scope);
}

static void functions_of_two(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof twos / sizeof twos[0]; ++k) {
        check_two(k, ADZ_F64);
        check_two(k, ADZ_F32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one),
        cmocka_unit_test(functions_of_two),
        cmocka_unit_test(infinite_gradients),
    };
    return cmocka_run_group_tests_name("special values", tests, NULL, NULL);
}
