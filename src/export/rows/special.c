/* How exports write operators: other logarithms and powers, and the gamma function. */
#include "export/rows/row.h"

#define NO_GAMMA "has no counterpart in ONNX; export what comes before it"

const adzi_row adzi_rows_special[] = {
    { .op = "digamma",
        .c = { .refused = "needs double precision near its zero; export what comes before it" },
        .onnx = { .refused = NO_GAMMA } },
    { .op = "erfc", C99_ELEMENT("@erfc($a)") },
    { .op = "exp2", C99_ELEMENT("@exp2($a)") },
    { .op = "lgamma", C99_ELEMENT("@lgamma($a)"), .onnx = { .refused = NO_GAMMA } },
    { .op = "log10", C99_ELEMENT("@log10($a)") },
    { .op = "log2", C99_ELEMENT("@log2($a)") },
    { .op = "polygamma",
        .c = { .refused = "is a sum whose length depends on n; export what comes before it" },
        .onnx = { .refused = NO_GAMMA } },
    { .op = NULL },
};
