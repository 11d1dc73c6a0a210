/* How exports write operators: solvers and factorisations. ONNX has no nodes for them but Det,
 * which leaves its gradient out. C programs bring functions for the short ones along
 * (export/c99/sources/systems.c); the others would carry the library's loops. */
#include "export/rows/row.h"

adzi_c99_printer adzi_c99_cholesky, adzi_c99_inv, adzi_c99_solve, adzi_c99_solve_triangular;

#define NO_WRITER                                                                            \
    "factors matrices, for which exports have no code; compute it in the program that runs " \
    "the exported function"
#define NO_CODE .c = { .refused = NO_WRITER }, .onnx = { .refused = NO_WRITER }
#define NO_NODE \
    .onnx = { .refused = "factors matrices, for which ONNX has no node; write a C file" }

const adzi_row adzi_rows_decomposition[] = {
    { .op = "cholesky", C99(cholesky), NO_NODE },
    { .op = "det", NO_CODE },
    { .op = "eigh", NO_CODE },
    { .op = "inv", C99(inv), NO_NODE },
    { .op = "lu_factor", NO_CODE },
    { .op = "lu_rows", .internal = true },
    { .op = "matrix_exp", NO_CODE },
    { .op = "pinv", NO_CODE },
    { .op = "qr", NO_CODE },
    { .op = "slogdet", NO_CODE },
    { .op = "solve", C99(solve), NO_NODE },
    { .op = "solve_triangular", C99(solve_triangular), NO_NODE },
    { .op = "svd", NO_CODE },
    { .op = NULL },
};
