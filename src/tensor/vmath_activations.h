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
    return positive + VM(log1p)(VM(exp)(-VM(abs)(x)));
}

/** log(sigmoid(x)) = -softplus(-x) */
static inline T VM(logsigmoid)(T x)
{
    T negative = x < (T)0 ? x : (T)0;
    return negative - VM(log1p)(VM(exp)(-VM(abs)(x)));
}

/** x Phi(x), Phi the normal distribution function: PyTorch's gelu with approximate "none" */
static inline T VM(gelu)(T x)
{
    return (T)0.5 * x * ((T)1 + VM(erf)(x * (T)0.7071067811865475244));
}

/** d/dx gelu(x) = Phi(x) + x phi(x) */
static inline T VM(gelu_derivative)(T x)
{
    T cdf = (T)0.5 * ((T)1 + VM(erf)(x * (T)0.7071067811865475244));
    T pdf = (T)0.39894228040143267794 * VM(exp)((T)-0.5 * x * x);
    return cdf + x * pdf;
}

/** x/2 (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): approximate "tanh" */
static inline T VM(gelu_tanh)(T x)
{
    T inner = (T)0.79788456080286535588 * (x + (T)0.044715 * x * x * x);
    return (T)0.5 * x * ((T)1 + VM(tanh)(inner));
}

/** The derivative of gelu_tanh. Beyond 20 it is constant, and x is held there so that the cube
 * cannot overflow against a vanished factor. */
static inline T VM(gelu_tanh_derivative)(T x)
{
    T held = x > (T)20 ? (T)20 : x;
    held = held < (T)-20 ? (T)-20 : held;
    T square = held * held;
    T inner = (T)0.79788456080286535588 * held * ((T)1 + (T)0.044715 * square);
    T slope = (T)0.79788456080286535588 * ((T)1 + (T)0.134145 * square);
    T t = VM(tanh)(inner);
    return (T)0.5 * ((T)1 + t) + (T)0.5 * held * ((T)1 - t * t) * slope;
}
