/* The losses that compare x with a target t element by element: l = f(x, t), then none, mean or
 * sum. An entry is all that the library knows of such a loss besides its public comment: the
 * kernels, the operator, the list of operators, the rows of exports and the table in
 * docs/operators.md are made of it. table.c, pair_loss.kernel.c, meson.build and loss.rows.c
 * read this file. Each defines the columns that it needs. Entries are sorted by name.
 *
 * LOSS(name, value, dx, dt, expression): the whole of a loss without arguments of its own. `value`
 * is the kernel of the loss of a = x and b = t, `dx` and `dt` are its derivatives by x and by t,
 * all of the type elem. `expression` is the loss of x and t as recorded operators, from which
 * derivatives with a graph are derived.
 *
 * OWN_FILE(name, row): the loss has a file of its own. It does not compare element by element.
 *
 * All others are several columns, one below the other:
 *
 * NUMBER(name, "number", bounds): a number as an argument. It is p[0] in kernels and `number` in
 * expressions.
 *
 * KERNELS(name, value, dx, dt) and EXPRESSION(name, expression): as above.
 * GRADIENTS(name, gradient_x, gradient_t): dx and dt as recorded operators, from g = dy times the
 * factor of the reduction, x, t and number.
 * SLOPE(name, slope): the same for a loss of x - t. dx is g times the slope, and dt is -dx.
 * OPERATOR(name, fields, members, more): the operator, with members of adzi_op in parentheses and
 * with more members of adzi_pair_loss.
 * PUBLIC(name): the public function. Those that do more than call are in table.c.
 * EXPORT(name, row): what exports write (export/rows/row.h); most losses as their expressions. */

#ifndef KERNELS
#define KERNELS(...)
#endif
#ifndef OPERATOR
#define NUMBER(...)
#define EXPRESSION(...)
#define GRADIENTS(...)
#define SLOPE(...)
#define OPERATOR(...)
#define PUBLIC(...)
#endif
#ifndef EXPORT
#define EXPORT(...)
#endif
#define LOSS(fn, value, dx, dt, formula)                                                 \
    KERNELS(fn, value, dx, dt)                                                           \
    EXPRESSION(fn, formula)                                                              \
    OPERATOR(fn, adzi_pair_fields, (.expression = fn##_expression), .same_shape = false) \
    PUBLIC(fn)                                                                           \
    EXPORT(fn)
#define OWN_FILE EXPORT

/* clang-format off */
/* -(t log x + (1 - t) log(1 - x)). As in PyTorch, each logarithm is at least -100 and the divisor x (1 - x) of
 * the derivative at least 1e-12, so that an x of exactly 0 or 1 gives finite numbers. Third formula: the slope is
 * bounded by 1e12 where the loss is constant, as in PyTorch. */
KERNELS(binary_cross_entropy, -(b * LOG_X + (ELEM(1) - b) * LOG_1_X),
    (a - b) / AT_LEAST(a * (ELEM(1) - a), 1e-12), LOG_1_X - LOG_X)
GRADIENTS(binary_cross_entropy,
    adz_mul(g, adz_div(adz_sub(x, t), adz_clamp(adz_mul(x, adz_number_sub(1, x)), 1e-12, INFINITY))),
    adz_mul(g, adz_sub(bounded_log(adz_number_sub(1, x)), bounded_log(x))))
EXPRESSION(binary_cross_entropy,
    adz_neg(adz_add(adz_mul(t, bounded_log(x)), adz_mul(adz_number_sub(1, t), bounded_log_of_rest(x)))))
OPERATOR(binary_cross_entropy, adzi_pair_fields,
    (.backward = binary_cross_entropy_backward, .expression = binary_cross_entropy_expression),
    .same_shape = true, .check = are_probabilities)
EXPORT(binary_cross_entropy)
/* binary_cross_entropy of sigmoid(x), without its overflow and loss of digits: t softplus(-x) + (1 - t)
 * softplus(x). Both share the logarithm, log(1 + e^-|x|) + (1 - t) x for x > 0 and - t x otherwise, and no
 * exponential overflows. Third formula: the derived one takes 1.7 times the memory. */
KERNELS(binary_cross_entropy_with_logits,
    VMATH(log1p)(VMATH(exp)(-VMATH(abs)(a))) + (a > 0 ? (ELEM(1) - b) * a : -(b * a)),
    VMATH(sigmoid)(a) - b, -a)
GRADIENTS(binary_cross_entropy_with_logits,
    adz_mul(g, adz_sub(adz_sigmoid(x), t)), adz_mul_number(adz_mul(g, x), -1))
EXPRESSION(binary_cross_entropy_with_logits, loss_of_logits(x, t))
OPERATOR(binary_cross_entropy_with_logits, adzi_pair_fields,
    (.backward = binary_cross_entropy_with_logits_backward,
     .expression = binary_cross_entropy_with_logits_expression),
    .same_shape = true)
EXPORT(binary_cross_entropy_with_logits)
OWN_FILE(cross_entropy)
OWN_FILE(ctc_loss, .c = { .refused = WALKS }, .onnx = { .refused = WALKS })
/* d^2 / 2 for d = x - t and |d| < delta, else delta (|d| - delta / 2). A NaN fails every comparison, takes the
 * last branch and stays NaN. From |d| = delta on the slope is a constant, whose derivative is 0. Third formula:
 * the derived one takes 1.2 times the memory. */
NUMBER(huber_loss, "delta", ADZ_ABOVE(0))
KERNELS(huber_loss,
    VMATH(abs)(a - b) < P ? ELEM(0.5) * (a - b) * (a - b) : P * (VMATH(abs)(a - b) - ELEM(0.5) * P),
    KERNEL(huber_slope)(a - b, P), -KERNEL(huber_slope)(a - b, P))
SLOPE(huber_loss, held(adz_sub(x, t), number))
EXPRESSION(huber_loss, huber_of(adz_sub(x, t), number))
OPERATOR(huber_loss, huber_loss_fields, (.backward = huber_loss_backward, .expression = huber_loss_expression),
    .same_shape = false)
EXPORT(huber_loss)
/* t (log t - x): x holds log-probabilities. t log t has the limit 0 at t = 0, where the product itself would be
 * NaN. With log_target, of which kl_div_log is the loss, t is the logarithm of the target, and the loss is
 * e^t (t - x). table.c has its operator, which chooses among the kernels. */
KERNELS(kl_div, (b == 0 ? ELEM(0) : b * VMATH(log)(b)) - b * a, -b, VMATH(log)(b) + ELEM(1) - a)
KERNELS(kl_div_log, VMATH(exp)(b) * (b - a), -VMATH(exp)(b), VMATH(exp)(b) * (b - a + ELEM(1)))
EXPORT(kl_div)
/* |x - t|, whose slope is the sign of x - t: 0 where they are equal, and where either is NaN. */
LOSS(l1_loss, VMATH(abs)(a - b), KERNEL(sign_of_difference)(a, b), KERNEL(sign_of_difference)(b, a),
    adz_abs(adz_sub(x, t)))
LOSS(mse_loss, (a - b) * (a - b), ELEM(2) * (a - b), ELEM(2) * (b - a), adz_square(adz_sub(x, t)))
OWN_FILE(nll_loss)
/* d^2 / (2 beta) for d = x - t and |d| < beta, else |d| - beta / 2. NaN and the slope from beta on: as
 * huber_loss. Third formula: the derived one takes 1.2 times the memory. */
NUMBER(smooth_l1_loss, "beta", ADZ_AT_LEAST(0))
KERNELS(smooth_l1_loss,
    VMATH(abs)(a - b) < P ? ELEM(0.5) * (a - b) * (a - b) / P : VMATH(abs)(a - b) - ELEM(0.5) * P,
    KERNEL(smooth_slope)(a - b, P), -KERNEL(smooth_slope)(a - b, P))
SLOPE(smooth_l1_loss, adz_div_number(held(adz_sub(x, t), number), number))
EXPRESSION(smooth_l1_loss, smooth_l1_of(adz_sub(x, t), number))
OPERATOR(smooth_l1_loss, smooth_l1_loss_fields,
    (.backward = smooth_l1_loss_backward, .expression = smooth_l1_loss_expression),
    .same_shape = false)
EXPORT(smooth_l1_loss)
/* log(1 + e^(-t x)). */
LOSS(soft_margin_loss, -VMATH(logsigmoid)(a * b), -b * VMATH(sigmoid)(-a * b), -a * VMATH(sigmoid)(-a * b),
    adz_neg(adz_logsigmoid(adz_mul(t, x))))
/* clang-format on */

#undef KERNELS
#undef NUMBER
#undef EXPRESSION
#undef GRADIENTS
#undef SLOPE
#undef OPERATOR
#undef PUBLIC
#undef EXPORT
#undef LOSS
#undef OWN_FILE
