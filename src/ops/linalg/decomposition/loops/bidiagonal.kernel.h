/* What eigh and svd share for matrices beyond lanes: blocks of Householder reflections
 * I - tau v v^T with v_0 = 1, and divide and conquer of a bidiagonal matrix. Included after the
 * element type is known (tensor/kernel/each_float.h). bidiagonal.kernel.c defines the functions,
 * which both kernels call at their own level. */

/* The reflection that turns x into a multiple `beta` of the first unit vector. x becomes v. Returns
 * tau. The largest elements of the matrix have a size of about 1: what is so small that its square
 * loses digits counts as 0. */
elem KERNEL(reflection_of)(int64_t n, elem *x, double *beta);

/* Reflections whose vectors are rows of a matrix: the one of row i begins at column i + shift, with
 * a 1; what is on the left of it is not read. */
typedef struct KERNEL(reflectors) {
    const elem *v; /* [count, width], with rows ld elements apart */
    int64_t ld;
    const elem *tau; /* [count] */
    int64_t count, width, shift;
    elem *t, *inner; /* [block, block] each */
    elem *m;         /* 2 [rows, block] */
    elem *block;     /* [block, width] */
} KERNEL(reflectors);

/* Takes the working memory of reflections with up to n elements: adzi_reflectors_bytes(). */
KERNEL(reflectors) KERNEL(reflectors_of)(char **memory, int64_t n);

/* Z = Z (H_0 H_1 ...)^T for Z[rows, width]: the last block comes first. */
void KERNEL(apply_reflectors)(const KERNEL(reflectors) * r, int64_t rows, elem *z, int64_t ld);

/* An upper bidiagonal matrix and its vectors, U^T A V = B. A part of it begins at row and column
 * `first`. All sizes are about 1 or smaller. */
typedef struct KERNEL(bidiagonal) {
    int64_t n;
    double *d, *e; /* [n] and [n]: the diagonal, and the elements on the right of it */
    elem *ut, *vt; /* rows are vectors, ld elements apart; ut is NULL if U is not wanted */
    int64_t ld;
    double *numbers; /* 6 [n], of double */
    int64_t *slots;  /* 3 [n] */
    double *gaps;    /* [n, n], of double */
    elem *w[4];      /* [n, n] each */
} KERNEL(bidiagonal);

/* Takes the arrays of a matrix of n rows from working memory: adzi_bidiagonal_bytes(). Vectors are
 * unit vectors in the beginning. */
KERNEL(bidiagonal) KERNEL(bidiagonal_of)(char **memory, int64_t n, bool left);

/* Makes rows first .. first + n - 1 diagonal; with `wide`, they have one column more. Returns false
 * if a small part did not converge. */
bool KERNEL(divide)(const KERNEL(bidiagonal) * b, int64_t first, int64_t n, bool wide);
