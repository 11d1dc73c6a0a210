/* What a row of an operator is made of; export/rows.h says what its columns mean. */
#ifndef ADZI_EXPORT_ROWS_ROW_H
#define ADZI_EXPORT_ROWS_ROW_H

#include "export/c99/c99.h"
#include "export/onnx.h"

/** Functions print the call and add to the gradients; without a gradient: C99_FORWARD. */
#define C99(print_, backward_) .c = { .print = adzi_c99_##print_, .backward = adzi_c99_##backward_ }
#define C99_FORWARD(print_)    .c = { .print = adzi_c99_##print_ }

/** Expressions of y and of the gradients of up to three inputs, of one input, and of none. */
#define C99_ELEMENT(y_, da_, db_, dc_)             \
    .c = { .print = adzi_c99_elementwise,          \
        .backward = adzi_c99_elementwise_backward, \
        .element = { y_, da_, db_, dc_ } }
#define C99_UNARY(y_, da_) C99_ELEMENT(y_, da_, NULL, NULL)
#define C99_TEXT(y_)       C99_ELEMENT(y_, NULL, NULL, NULL)

/** Functions add the nodes and say where the batch goes; `type_` may be NULL. */
#define ONNX(print_, carry_, type_) \
    .onnx = { .print = adzi_onnx_print_##print_, .carry = adzi_onnx_carry_##carry_, .type = type_ }

/** One node, whose inputs broadcast. */
#define ONNX_NODE(type_) ONNX(plain, broadcast, type_)

#endif
