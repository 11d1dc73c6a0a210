/* Cholesky factors, and systems of linear equations, by functions that the file brings along. */
#include <string.h>

#include "export/c99/printer.h"

/* ---- batches -------------------------------------------------------------------------------- */

enum { MATRICES = 2 };

/* A loop over a batch of matrices, which is open, and the address of each matrix in it. */
typedef struct {
    adzi_c99_nest nest;
    char address[MATRICES][ADZI_C99_TEXT];
} batch;

/* Opens the loop over the matrices of y. The other matrices broadcast to them. */
static batch open_batch(
    adzi_c99 *c, const adzi_c99_value *y, const adzi_c99_value *const matrices[MATRICES])
{
    batch b = { .nest = adzi_c99_nest_of(y->rank - 2, y->sizes) };
    int memory[MATRICES];
    for (int k = 0; k < MATRICES && matrices[k] != NULL; ++k) {
        adzi_c99_value item = *matrices[k];
        item.rank -= 2;
        memory[k] = item.memory;
        adzi_c99_nest_add(&b.nest, &item);
        b.nest.operand[k].memory = -1 - b.nest.operand[k].memory; /* no element of its own */
    }
    adzi_c99_nest_open(c, &b.nest);
    for (int k = 0; k < MATRICES && matrices[k] != NULL; ++k) {
        adzi_c99_address(c, memory[k], b.nest.operand[k].index, b.address[k], sizeof b.address[k]);
    }
    return b;
}

static int64_t rows(const adzi_c99_value *v)
{
    return v->sizes[v->rank - 2];
}

static int64_t columns(const adzi_c99_value *v)
{
    return v->sizes[v->rank - 1];
}

/* The matrix with its last two dimensions exchanged, if `flag` is set. */
static adzi_c99_value turned(const adzi_c99_value *v, bool flag)
{
    return flag ? adzi_c99_transposed(v, v->rank - 2, v->rank - 1) : *v;
}

/* ---- the operators -------------------------------------------------------------------------- */

ADZI_C99_PRINTER(cholesky)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0);
    const bool upper = adzi_c99_attr(call, "upper", 0) != 0;
    const long long n = columns(y);
    if (y->numel == 0) {
        return;
    }
    adzi_c99_map(c, y, "= $a", adzi_c99_in(c, call, 0));
    batch b = open_batch(c, y, (const adzi_c99_value *[MATRICES]){ y });
    adzi_c99_line(
        c, "@cholesky(%s, %lld, %lld, %lld);", b.address[0], upper ? 1 : n, upper ? n : 1, n);
    adzi_c99_nest_close(c, &b.nest);
}

ADZI_C99_PRINTER(solve_triangular)
{
    const adzi_c99_value *x = adzi_c99_out(c, call, 0);
    const bool transposed = adzi_c99_attr(call, "transposed", 0) != 0;
    const bool upper = (adzi_c99_attr(call, "upper", 0) != 0) != transposed;
    const adzi_c99_value a = turned(adzi_c99_in(c, call, 0), transposed);
    if (x->numel == 0) {
        return;
    }
    adzi_c99_map(c, x, "= $a", adzi_c99_in(c, call, 1));
    batch b = open_batch(c, x, (const adzi_c99_value *[MATRICES]){ x, &a });
    adzi_c99_line(c, "@solve_triangular(%s, %lld, %lld, %s, %lld, %lld, %d, %d);", b.address[1],
        (long long)a.strides[a.rank - 2], (long long)a.strides[a.rank - 1], b.address[0],
        (long long)rows(x), (long long)columns(x), upper,
        adzi_c99_attr(call, "unitriangular", 0) != 0);
    adzi_c99_nest_close(c, &b.nest);
}

/* Solves for x, which holds the right sides, with copies of the matrices, because the function
 * overwrites them. */
static void solve(adzi_c99 *c, const adzi_c99_value *x, const adzi_c99_value *a)
{
    int64_t sizes[ADZ_MAX_RANK];
    memcpy(sizes, x->sizes, (size_t)x->rank * sizeof *sizes);
    sizes[x->rank - 1] = rows(x);
    const adzi_c99_value copies = adzi_c99_scratch(c, x->dtype, x->rank, sizes);
    adzi_c99_map(c, &copies, "= $a", a);
    batch b = open_batch(c, x, (const adzi_c99_value *[MATRICES]){ x, &copies });
    adzi_c99_line(c, "@solve(%s, %s, %lld, %lld);", b.address[1], b.address[0], (long long)rows(x),
        (long long)columns(x));
    adzi_c99_nest_close(c, &b.nest);
}

ADZI_C99_PRINTER(solve)
{
    const adzi_c99_value *x = adzi_c99_out(c, call, 0);
    const bool transposed = adzi_c99_attr(call, "transposed", 0) != 0;
    const adzi_c99_value a = turned(adzi_c99_in(c, call, 0), transposed);
    if (x->numel > 0) {
        adzi_c99_map(c, x, "= $a", adzi_c99_in(c, call, 1));
        solve(c, x, &a);
    }
}

/* The right sides are those of an identity matrix. */
ADZI_C99_PRINTER(inv)
{
    const adzi_c99_value *y = adzi_c99_out(c, call, 0), *a = adzi_c99_in(c, call, 0);
    if (y->numel == 0) {
        return;
    }
    adzi_c99_value diagonal = *y;
    diagonal.rank -= 1;
    diagonal.strides[diagonal.rank - 1] += y->strides[y->rank - 1];
    diagonal.numel /= columns(y);
    adzi_c99_map(c, y, "= 0", y);
    adzi_c99_map(c, &diagonal, "= 1", &diagonal);
    solve(c, y, a);
}
