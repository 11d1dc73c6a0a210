/* The elementwise functions. An entry is all that the library knows of a function besides its
 * public comment: the kernels, the operator, the list of operators, the rows of exports and the
 * table in docs/operators.md are made of it. functions.kernel.c, functions.c, meson.build and
 * export/rows/functions.c read this file. They define what an entry means, and the end of this file
 * makes it undefined again. Entries are sorted by name.
 *
 * FUNCTION(name, saved, kernel, gradient, row): y = f(x) for f32 and f64. An integer x becomes f32.
 * The node saves x or y. `kernel` computes y from x, both of the type elem. `gradient` is dx, made
 * of recorded operators from dy and from what is saved, so it can be differentiated again.
 *
 * FUNCTION_BY_LOOP(name, saved, gradient, row): a FUNCTION whose kernel is a loop in
 * functions.kernel.c.
 *
 * DERIVED(name, kernel, expression, row): `expression` is the function of x as recorded operators.
 * The gradient is derived from it, and a writer that `row` leaves out writes it. The node saves x.
 *
 * FUNCTION2(name, kernel, gradient_a, gradient_b, row) and DERIVED2(name, kernel, expression, row):
 * y = f(a, b), whose shapes broadcast. The node saves a and b.
 *
 * FUNCTION_EXPRESSED(name, kernel, expression, gradient, row) and FUNCTION2_EXPRESSED(name, kernel,
 * expression, gradient_a, gradient_b, row): functions with an expression, which exports write,
 * whose derivative would lose digits, and with gradients of their own. The node saves the inputs.
 *
 * STEPS(name, kernel, kernel_of_integers, instead, row): a function that is constant between its
 * jumps, so dx is 0 and nothing is saved. y has the dtype of x. bool is refused with the advice to
 * use `instead`, unless that is NULL.
 *
 * `row` is what exports write (export/rows/row.h, export/rows.h): the expression of an element in
 * C, and the node in ONNX. What C files bring along for programs without libm is in
 * export/c99/elementary.h. */

#define SELU_ALPHA 1.6732632423543772848170429916717
#define SELU_SCALE 1.0507009873554804934193349852946

/* clang-format off */
/* -dy / sqrt(1 - x^2) */
FUNCTION(acos, x, VMATH(acos)(x),
    adz_neg(adz_mul(dy, adz_rsqrt(less_square(x)))),
    C99_ELEMENT("@acos($a)"), ONNX_NODE("Acos"))
/* dy / sqrt(x^2 - 1) by the roots of the factors: the square may overflow, and it cancels near 1. */
FUNCTION(acosh, x, VMATH(acosh)(x),
    adz_mul(dy, adz_mul(adz_rsqrt(adz_sub_number(x, 1)), adz_rsqrt(adz_add_number(x, 1)))),
    C99_ELEMENT("@acosh($a)"), ONNX_NODE("Acosh"))
/* dy / sqrt(1 - x^2) */
FUNCTION(asin, x, VMATH(asin)(x),
    adz_mul(dy, adz_rsqrt(less_square(x))),
    C99_ELEMENT("@asin($a)"), ONNX_NODE("Asin"))
/* dy / sqrt(x^2 + 1), in which the square may overflow */
FUNCTION(asinh, x, VMATH(asinh)(x),
    adz_mul(dy, adz_reciprocal(length_with_one(x))),
    C99_ELEMENT("@asinh($a)"), ONNX_NODE("Asinh"))
/* dy / (1 + x^2) by two divisions: the square of 1 + x^2 in the second derivative may overflow. */
FUNCTION(atan, x, VMATH(atan)(x),
    adz_div(adz_div(dy, length_with_one(x)), length_with_one(x)),
    C99_ELEMENT("@atan($a)"), ONNX_NODE("Atan"))
/* The angle of the point (b, a): dy b / (a^2 + b^2) and -dy a / (a^2 + b^2). */
FUNCTION2(atan2, VMATH(atan2)(a, b),
    angle_gradient(dy, a, b, false),
    angle_gradient(dy, a, b, true),
    C99_ELEMENT("@atan2($a, $b)"),
    NO_ONNX("has no node in ONNX, and atan of a quotient cannot tell the quadrants of zeros and infinities; use adz_atan where the divisor is positive"))
/* dy / (1 - x^2) */
FUNCTION(atanh, x, VMATH(atanh)(x),
    adz_div(dy, less_square(x)),
    C99_ELEMENT("@atanh($a)"), ONNX_NODE("Atanh"))
STEPS(ceil, KERNEL(above)(x), x, "x itself",
    C99_ELEMENT("@ceil($a)"), .c.whole = "$a", ONNX(rounded, broadcast, "Ceil"))
/* |a| or -|a|. 1 / b tells -0 from 0. */
DERIVED2(copysign, VMATH(sign_of)(a, b),
    adz_where(is_negative(adz_detach(b)), adz_neg(adz_abs(a)), adz_abs(a)),
    C99_ELEMENT("@copysign($a, $b)"))
/* The node saves x: y gives the sine only up to its sign. */
FUNCTION_BY_LOOP(cos, x,
    adz_neg(adz_mul(dy, adz_sin(x))),
    C99_ELEMENT("@cos($a)"), ONNX_NODE("Cos"))
FUNCTION(cosh, x, VMATH(cosh)(x),
    adz_mul(dy, adz_sinh(x)),
    C99_ELEMENT("@cosh($a)"), ONNX_NODE("Cosh"))
/* The derivative of the logarithm of the gamma function. */
FUNCTION(digamma, x, VMATH(digamma)(x),
    adz_mul(dy, adz_polygamma(1, x)),
    C99_OF_DOUBLES("@digamma($a)", "needs double precision near its zero"),
    NO_ONNX("has no counterpart in ONNX; export what comes before it"))
/* dy 2 / sqrt(pi) e^(-x^2) */
FUNCTION(erf, x, VMATH(erf)(x),
    adz_mul(dy, adz_mul_number(adz_exp(adz_neg(adz_mul(x, x))), 1.12837916709551257390)),
    C99_ELEMENT("@erf($a)"), ONNX_NODE("Erf"))
/* Accurate where erf is close to 1. */
DERIVED(erfc, VMATH(erfc)(x),
    adz_number_sub(1, adz_erf(x)),
    C99_ELEMENT("@erfc($a)"))
FUNCTION(exp, y, VMATH(exp)(x),
    adz_mul(dy, y),
    C99_ELEMENT("@exp($a)"), ONNX_NODE("Exp"))
DERIVED(exp2, VMATH(exp2)(x),
    adz_number_pow(2, x),
    C99_ELEMENT("@exp2($a)"))
/* e^x - 1. The derivative is e^x and not y + 1: for x < 0, y has lost the digits of e^x. */
FUNCTION(expm1, x, VMATH(expm1)(x),
    adz_mul(dy, adz_exp(x)),
    C99_ELEMENT("@expm1($a)"), ONNX(expm1, broadcast, NULL))
STEPS(floor, KERNEL(below)(x), x, "x itself",
    C99_ELEMENT("@floor($a)"), .c.whole = "$a", ONNX(rounded, broadcast, "Floor"))
/* x times a sigmoid of straight lines. The slope is 0 at -3 and 1 at 3, as in PyTorch. */
DERIVED(hardswish,
    x * ((x < ELEM(-3) ? ELEM(0) : x > ELEM(3) ? ELEM(6) : x + ELEM(3)) / ELEM(6)),
    adz_mul(x, adz_div_number(adz_relu6(adz_add_number(x, 3)), 6)),
    C99_ELEMENT("$a * (($a < -3 ? 0 : $a > 3 ? 6 : $a + 3) / 6)"))
/* sqrt(a^2 + b^2): dy a / y and dy b / y. y is computed again, because most calls need no gradient. */
FUNCTION2(hypot, VMATH(hypot)(a, b),
    adz_mul(dy, adz_div(a, adz_hypot(a, b))),
    adz_mul(dy, adz_div(b, adz_hypot(a, b))),
    C99_ELEMENT("@hypot($a, $b)"), ONNX(hypot, broadcast, NULL))
/* log |gamma(x)| */
FUNCTION(lgamma, x, VMATH(lgamma)(x),
    adz_mul(dy, adz_digamma(x)),
    C99_ELEMENT("@lgamma($a)"), NO_ONNX("has no counterpart in ONNX; export what comes before it"))
FUNCTION(log, x, VMATH(log)(x),
    adz_div(dy, x),
    C99_ELEMENT("@log($a)"), ONNX_NODE("Log"))
DERIVED(log10, VMATH(log10)(x),
    adz_mul_number(adz_log(x), 0.43429448190325183),
    C99_ELEMENT("@log10($a)"))
/* log(1 + x) */
FUNCTION(log1p, x, VMATH(log1p)(x),
    adz_div(dy, adz_add_number(x, 1)),
    C99_ELEMENT("@log1p($a)"), ONNX(log1p, broadcast, NULL))
DERIVED(log2, VMATH(log2)(x),
    adz_mul_number(adz_log(x), 1.4426950408889634),
    C99_ELEMENT("@log2($a)"))
/* log(e^a + e^b) = max(a, b) + log(1 + e^-|a - b|), and dy sigmoid(a - b) and dy sigmoid(b - a). Third
 * formula: the second derivative where a = b is 1/4, and that of the expression 0. */
FUNCTION2_EXPRESSED(logaddexp, VMATH(logaddexp)(a, b),
    adz_add(adz_maximum(a, b), adz_log1p(adz_exp(adz_neg(adz_abs(difference(a, b)))))),
    adz_mul(dy, adz_sigmoid(difference(a, b))),
    adz_mul(dy, adz_sigmoid(difference(b, a))),
    BY_EXPRESSION)
/* x tanh(log(1 + e^x)) */
DERIVED(mish, x * VMATH(tanh)(VMATH(softplus)(x)),
    adz_mul(x, adz_tanh(adz_softplus(x, 1, 20))),
    C99_ELEMENT("$a * @tanh(@softplus($a))"))
/* The node saves y, so that the gradient needs products alone and no division. dy comes first, because y^2
 * may leave the range where dy y^2 does not. */
FUNCTION(reciprocal, y, ELEM(1) / x,
    adz_neg(adz_mul(adz_mul(dy, y), y)),
    C99_ELEMENT("1 / $a"), .c.doubles = true, ONNX_NODE("Reciprocal"))
/* The even one of two nearest integers. */
STEPS(round, KERNEL(nearest)(x), x, "x itself",
    C99_ELEMENT("@round($a)"), .c.whole = "$a", ONNX(rounded, broadcast, "Round"))
/* 1 / sqrt(x), and -dy y^3 / 2 without the third power, which may leave the range */
FUNCTION(rsqrt, y, ELEM(1) / SQUARE_ROOT(x),
    adz_mul(adz_mul(adz_mul(adz_mul_number(dy, -0.5), y), y), y),
    C99_ELEMENT("1 / @sqrt($a)"), ONNX(rsqrt, broadcast, NULL))
/* The self-normalising unit with the constants of its paper: scale x where x > 0, else scale alpha
 * (e^x - 1). */
DERIVED(selu,
    ELEM(SELU_SCALE) * (x <= 0 ? ELEM(SELU_ALPHA) * VMATH(expm1)(x) : x),
    adz_mul_number(adz_elu(x, SELU_ALPHA), SELU_SCALE),
    C99_ELEMENT("1.0507009873554805f * ($a > 0 ? $a : 1.6732632423543772f * @expm1($a))"))
/* 0 for NaN, as in PyTorch. */
STEPS(sign, (elem)((x > 0) - (x < 0)), x > 0 ? 1 : x == 0 ? 0 : -1, NULL,
    C99_ELEMENT("($a > 0) - ($a < 0)"), .c.integers = "($a > 0) - ($a < 0)", .c.whole = "$a != 0",
    .c.doubles = true, ONNX(sign, broadcast, "Sign"))
/* The node saves x: y gives the cosine only up to its sign. */
FUNCTION_BY_LOOP(sin, x,
    adz_mul(dy, adz_cos(x)),
    C99_ELEMENT("@sin($a)"), ONNX_NODE("Sin"))
FUNCTION(sinh, x, VMATH(sinh)(x),
    adz_mul(dy, adz_cosh(x)),
    C99_ELEMENT("@sinh($a)"), ONNX_NODE("Sinh"))
/* x / (1 + |x|), and dy / (1 + |x|)^2. Third formula: the derivative of the quotient cancels where |x| is
 * large. */
FUNCTION_EXPRESSED(softsign, x / (ELEM(1) + VMATH(abs)(x)),
    adz_div(x, adz_add_number(adz_abs(x), 1)),
    adz_div(adz_div(dy, adz_add_number(adz_abs(x), 1)), adz_add_number(adz_abs(x), 1)),
    C99_ELEMENT("$a / (1 + ($a < 0 ? -$a : $a))"))
/* dy / (2 y). At x = 0 the gradient is infinite, or NaN where dy is 0. */
FUNCTION(sqrt, y, SQUARE_ROOT(x),
    adz_div(dy, adz_mul_number(y, 2)),
    C99_ELEMENT("@sqrt($a)"), ONNX_NODE("Sqrt"))
/* dy (1 + y^2) */
FUNCTION_BY_LOOP(tan, y,
    adz_mul(dy, adz_add_number(adz_mul(y, y), 1)),
    C99_ELEMENT("@tan($a)"), ONNX_NODE("Tan"))
STEPS(trunc, VMATH(sign_of)(KERNEL(below)(VMATH(abs)(x)), x), x, "x itself",
    C99_ELEMENT("@trunc($a)"), .c.whole = "$a", ONNX(trunc, broadcast, NULL))
/* clang-format on */

#undef SELU_ALPHA
#undef SELU_SCALE
#undef FUNCTION
#undef FUNCTION_BY_LOOP
#undef DERIVED
#undef FUNCTION2
#undef FUNCTION_EXPRESSED
#undef FUNCTION2_EXPRESSED
#undef DERIVED2
#undef STEPS
