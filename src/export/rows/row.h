/* What a row of an operator is made of; export/rows.h says what its columns mean. */
#ifndef ADZI_EXPORT_ROWS_ROW_H
#define ADZI_EXPORT_ROWS_ROW_H

#include "export/c99/printer.h"
#include "export/onnx.h"

/** A function prints the call. The file of the row declares it by `adzi_c99_printer`. */
#define C99(print_) .c = { .print = adzi_c99_##print_ }

/** An expression of y. */
#define C99_ELEMENT(y_) .c = { .print = adzi_c99_elementwise, .element = y_ }

/** A function makes the expression of y. */
#define C99_TEXT(text_) .c = { .print = adzi_c99_elementwise, .text = adzi_c99_##text_##_text }

/** An expression of y in files of doubles. `why_` follows "it". */
#define C99_OF_DOUBLES(y_, why_) \
    .c = { .print = adzi_c99_elementwise, .element = y_, .of_doubles = why_ }

/** Functions add the nodes and say where the batch goes; `type_` may be NULL. */
#define ONNX(print_, batch_, type_)                                                              \
    .onnx = {                                                                                    \
        .print = adzi_onnx_print_##print_, .batch_rule = adzi_onnx_batch_##batch_, .type = type_ \
    }

/** ONNX_TEXT(text, batch, more...): a text of the nodes, a function that says where the batch goes,
 * and further columns. */
#define ONNX_TEXT(...) ONNX_TEXT_(__VA_ARGS__, .type = NULL)
#define ONNX_TEXT_(text_, batch_, ...)          \
    .onnx = { .print = adzi_onnx_print_text,    \
        .batch_rule = adzi_onnx_batch_##batch_, \
        .text = text_,                          \
        __VA_ARGS__ }

/** ONNX_NODE(text, more...): that of an elementwise operator, whose inputs broadcast. */
#define ONNX_NODE(...)         ONNX_NODE_(__VA_ARGS__, .second = NULL)
#define ONNX_NODE_(text_, ...) ONNX_TEXT(text_, broadcast, __VA_ARGS__)

#endif
