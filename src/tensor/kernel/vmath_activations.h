/* Activations and their derivatives, composed of vmath.h's functions; included by it once per
 * type T. No include guard: that is the point. */

/** x / (1 + e^-x) */
static inline T VM(silu)(T x)
{
    return x * VM(sigmoid)(x);
}

/** d/dx silu(x) = s (1 + x (1 - s)), s = sigmoid(x) */
static inline T VM(silu_derivative)(T x)
{
    T s = VM(sigmoid)(x);
    return s * ((T)1 + x * ((T)1 - s));
}

/** log(1 + e^x), without overflow */
static inline T VM(softplus)(T x)
{
    T positive = x > (T)0 ? x : (T)0;
    return positive + VM(log1p_unit)(VM(exp_nonpositive)(-VM(abs)(x)));
}

/** log(sigmoid(x)) = -softplus(-x) */
static inline T VM(logsigmoid)(T x)
{
    T negative = x < (T)0 ? x : (T)0;
    return negative - VM(log1p_unit)(VM(exp_nonpositive)(-VM(abs)(x)));
}

/** x/2 (1 + tanh u), u = sqrt(2/pi) (x + 0.044715 x^3): PyTorch's gelu with approximate "tanh";
 * computed as x sigmoid(2u), which is the same */
static inline T VM(gelu_tanh)(T x)
{
    T twice = (T)1.5957691216057307118 * x * ((T)1 + (T)0.044715 * x * x);
    return x / ((T)1 + VM(exp)(-twice));
}

/** The derivative of gelu_tanh, s + 2 x u' s (1 - s) with s = sigmoid(2u); s (1 - s) is
 * e / (1 + e)^2 with e = e^-|2u|, which does not cancel. Beyond 40 all is constant, and x is held
 * there so that the cube cannot overflow against a vanished factor. At both infinities it is NaN,
 * as the product of x and that factor is. */
static inline T VM(gelu_tanh_derivative)(T x)
{
    T held = x > (T)40 ? (T)40 : x;
    held = held < (T)-40 ? (T)-40 : held;
    T square = held * held;
    T twice = (T)1.5957691216057307118 * held * ((T)1 + (T)0.044715 * square);
    T slope = (T)1.5957691216057307118 * ((T)1 + (T)0.134145 * square);
    T e = VM(exp_nonpositive)(-VM(abs)(twice));
    T s = (T)1 / ((T)1 + e);
    T below = e * s; /* 1 - s */
    return (twice < (T)0 ? below : s) + held * slope * s * below + (x - x);
}
