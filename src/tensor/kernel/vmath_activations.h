/* Activations and their derivatives, composed of the functions of vmath.h, which includes this
 * header once per type elem. It therefore has no include guard. */

/** x / (1 + e^-x) */
static inline elem VMATH(silu)(elem x)
{
    return x * VMATH(sigmoid)(x);
}

/** d/dx silu(x) = s (1 + x (1 - s)), s = sigmoid(x) */
static inline elem VMATH(silu_derivative)(elem x)
{
    elem s = VMATH(sigmoid)(x);
    return s * ((elem)1 + x * ((elem)1 - s));
}

/** log(1 + e^x), without overflow */
static inline elem VMATH(softplus)(elem x)
{
    elem positive = x > (elem)0 ? x : (elem)0;
    return positive + VMATH(log1p_unit)(VMATH(exp_nonpositive)(-VMATH(abs)(x)));
}

/** log(sigmoid(x)) = -softplus(-x) */
static inline elem VMATH(logsigmoid)(elem x)
{
    elem negative = x < (elem)0 ? x : (elem)0;
    return negative - VMATH(log1p_unit)(VMATH(exp_nonpositive)(-VMATH(abs)(x)));
}

/** x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3): PyTorch's gelu with approximate "tanh". It
 * is computed as x sigmoid(2u), which is equal. */
static inline elem VMATH(gelu_tanh)(elem x)
{
    elem twice = (elem)1.5957691216057307118 * x * ((elem)1 + (elem)0.044715 * x * x);
    return x / ((elem)1 + VMATH(exp)(-twice));
}

/** The derivative of gelu_tanh, s + 2 x u' s (1 - s) with s = sigmoid(2u). s (1 - s) is computed as
 * e / (1 + e)^2 with e = e^-|2u|, in which nothing cancels. Beyond |x| = 40 the derivative is
 * constant. x is limited to 40, because its cube could overflow and be multiplied by 0. At both
 * infinities the result is NaN, as infinity times 0 is. */
static inline elem VMATH(gelu_tanh_derivative)(elem x)
{
    elem held = x > (elem)40 ? (elem)40 : x;
    held = held < (elem)-40 ? (elem)-40 : held;
    elem square = held * held;
    elem twice = (elem)1.5957691216057307118 * held * ((elem)1 + (elem)0.044715 * square);
    elem slope = (elem)1.5957691216057307118 * ((elem)1 + (elem)0.134145 * square);
    elem e = VMATH(exp_nonpositive)(-VMATH(abs)(twice));
    elem s = (elem)1 / ((elem)1 + e);
    elem below = e * s; /* 1 - s */
    return (twice < (elem)0 ? below : s) + held * slope * s * below + (x - x);
}
