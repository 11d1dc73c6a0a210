/* Systems with a triangular matrix, and LU factors, of one item: triangular.kernel.c. Included
 * after the element type is known (tensor/kernel/each_float.h). */

/* op(T), stored by rows with the leading dimension ld. */
typedef struct KERNEL(triangle) {
    const elem *t;
    int64_t ld;
    bool transposed; /* op transposes */
    bool upper;      /* op(T) is an upper triangle */
    bool unit;       /* its diagonal is taken as ones */
} KERNEL(triangle);

enum { KERNEL(triangle_block) = 32 }; /* rows that are solved without a product */

/* The part of op(T) that begins at a row and a column. */
static inline const elem *KERNEL(part)(const KERNEL(triangle) * a, int64_t row, int64_t column)
{
    return a->transposed ? a->t + column * a->ld + row : a->t + row * a->ld + column;
}

/* The size of the first half of n rows: a multiple of the block. */
static inline int64_t KERNEL(half)(int64_t n)
{
    const int64_t block = KERNEL(triangle_block);
    return (n / 2 + block - 1) / block * block;
}

/* B[n, k] = op(T)^-1 B for op(T)[n, n]. */
void KERNEL(solve_triangle)(const KERNEL(triangle) * a, int64_t n, elem *b, int64_t ldb, int64_t k);

static inline void KERNEL(swap_rows)(elem *a, int64_t ld, int64_t i, int64_t j, int64_t columns)
{
    elem *restrict p = a + i * ld, *restrict q = a + j * ld;
    for (int64_t c = 0; c < columns && i != j; ++c) {
        const elem t = p[c];
        p[c] = q[c];
        q[c] = t;
    }
}

/* LU factors of a[rows, n], n <= rows: Note [LU] in lu.kernel.h. Returns the first pivot that is 0,
 * counted from 1, or 0. */
int64_t KERNEL(factor_lu)(elem *a, int64_t ld, int64_t rows, int64_t n, int64_t *pivots);
