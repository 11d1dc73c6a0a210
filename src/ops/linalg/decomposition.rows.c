/* How exports write operators: solvers and factorisations. ONNX has no nodes for them but Det,
 * which leaves its gradient out, and a C program would carry the library's loops. */
#include "export/rows/row.h"

#define NO_WRITER                                                                            \
    "factors matrices, for which exports have no code; compute it in the program that runs " \
    "the exported function"
#define NO_CODE .c = { .refused = NO_WRITER }, .onnx = { .refused = NO_WRITER }

const adzi_row adzi_rows_decomposition[] = {
    { .op = "cholesky", NO_CODE },
    { .op = "det", NO_CODE },
    { .op = "eigh", NO_CODE },
    { .op = "inv", NO_CODE },
    { .op = "matrix_exp", NO_CODE },
    { .op = "pinv", NO_CODE },
    { .op = "qr", NO_CODE },
    { .op = "slogdet", NO_CODE },
    { .op = "solve", NO_CODE },
    { .op = "solve_triangular", NO_CODE },
    { .op = "svd", NO_CODE },
    { .op = NULL },
};
