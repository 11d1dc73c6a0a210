/* How exports write operators: solvers and factorisations. ONNX has no nodes for them but Det,
 * which leaves its gradient out, and a C program would carry the library's loops. */
#include "export/rows/row.h"

#define NO_WRITER                                                                            \
    "factors matrices, for which exports have no code; compute it in the program that runs " \
    "the exported function"
#define REFUSED(name)                                                              \
    {                                                                              \
        .op = name, .c = { .refused = NO_WRITER }, .onnx = {.refused = NO_WRITER } \
    }

const adzi_row adzi_rows_decomposition[] = {
    REFUSED("cholesky"),
    REFUSED("det"),
    REFUSED("eigh"),
    REFUSED("inv"),
    REFUSED("matrix_exp"),
    REFUSED("pinv"),
    REFUSED("qr"),
    REFUSED("slogdet"),
    REFUSED("solve"),
    REFUSED("solve_triangular"),
    REFUSED("svd"),
    { .op = NULL },
};
