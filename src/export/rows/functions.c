/* How exports write operators: the elementwise functions of the table. */
#include "export/rows/row.h"

/* Neither writer has a printer. */
#define BY_EXPRESSION .c = { .print = NULL }

#define NO_ONNX(why) .onnx = { .refused = why }

#define FUNCTION(fn, saved, kernel, gradient, ...)                { .op = #fn, __VA_ARGS__ },
#define FUNCTION_BY_LOOP(fn, saved, gradient, ...)                { .op = #fn, __VA_ARGS__ },
#define FUNCTION2(fn, kernel, gradient_a, gradient_b, ...)        { .op = #fn, __VA_ARGS__ },
#define FUNCTION_EXPRESSED(fn, kernel, expression, gradient, ...) { .op = #fn, __VA_ARGS__ },
#define FUNCTION2_EXPRESSED(fn, kernel, expression, gradient_a, gradient_b, ...) \
    { .op = #fn, __VA_ARGS__ },
#define DERIVED(fn, kernel, expression, ...)                { .op = #fn, __VA_ARGS__ },
#define DERIVED2(fn, kernel, expression, ...)               { .op = #fn, __VA_ARGS__ },
#define STEPS(fn, kernel, kernel_of_integers, instead, ...) { .op = #fn, __VA_ARGS__ },

const adzi_row adzi_rows_functions[] = {
#include "ops/functions/table.h"
    { .op = NULL },
};
