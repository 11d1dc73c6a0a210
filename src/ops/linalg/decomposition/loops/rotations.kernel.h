/* What eigh and svd share: Note [Lanes of matrices] in matrix_lanes.h. Included after the element
 * type is known. */
#include "ops/linalg/decomposition/loops/root.kernel.h"

/* The rotations of one pair of rows or columns, a lane each: the tangent, the sine, and sine / (1 +
 * cosine). By the last two (Rutishauser 1966) a small rotation makes a small rounding error. */
typedef struct KERNEL(rotation) {
    elem t[ADZI_JACOBI_LANES], s[ADZI_JACOBI_LANES], tau[ADZI_JACOBI_LANES];
} KERNEL(rotation);

/* x' = c x - s y, y' = s x + c y for n runs of lanes; x has `step_x` and y `step_y` from one run to
 * the next. */
static inline void KERNEL(rotate)(const KERNEL(rotation) * r, elem *x, int64_t step_x, elem *y,
    int64_t step_y, int64_t n, const int lanes)
{
    for (int64_t i = 0; i < n; ++i) {
        elem *restrict p = x + i * step_x * lanes, *restrict q = y + i * step_y * lanes;
        for (int l = 0; l < lanes; ++l) {
            const elem a = p[l], b = q[l];
            p[l] = a - r->s[l] * (b + r->tau[l] * a);
            q[l] = b + r->s[l] * (a - r->tau[l] * b);
        }
    }
}

/* The rotation that makes 2 x 2 symmetric matrices [p o; o q] diagonal; the identity where `off` is
 * not above `least`. Returns true if some lane rotates. */
static inline bool KERNEL(angles)(KERNEL(rotation) * r, const elem *p, const elem *q,
    const elem *off, const elem *least, const int lanes)
{
    const elem far = ELEM_IS_F32 ? ELEM(0x1p40) : ELEM(0x1p400); /* its square is in the range */
    int any = 0;
    for (int l = 0; l < lanes; ++l) {
        const bool turns = (off[l] < 0 ? -off[l] : off[l]) > least[l];
        const elem theta = (q[l] - p[l]) / (turns ? 2 * off[l] : 1);
        const elem size = theta < 0 ? -theta : theta;
        /* beyond `far` the root is `size` to rounding */
        const elem bound = size < far ? size : far, root = KERNEL(root)(bound * bound + 1);
        const elem t = (theta < 0 ? -ELEM(1) : ELEM(1)) / (size + (size < far ? root : size));
        const elem c = 1 / KERNEL(root)(t * t + 1);
        r->t[l] = turns ? t : 0;
        r->s[l] = turns ? t * c : 0;
        r->tau[l] = r->s[l] / (1 + c);
        any |= turns;
    }
    return any != 0;
}

/* The power of two that brings the largest of n elements, `step` apart, to about 1. `finite` is
 * false if an element is not finite. */
static inline double KERNEL(range)(const elem *a, int64_t n, int64_t step, bool *finite)
{
    double most = 0;
    *finite = true;
    for (int64_t i = 0; i < n; ++i) {
        const double size = fabs((double)a[i * step]);
        *finite = *finite && size < (double)INFINITY;
        most = size > most ? size : most;
    }
    int e = 0;
    if (most > 0 && *finite) {
        frexp(most, &e);
    }
    return ldexp(1, -e < 1000 ? -e : 1000);
}

/* True if the element of largest size, the first one of several, is negative. */
static inline bool KERNEL(is_negative)(const elem *x, int64_t n, int64_t step)
{
    elem most = 0, found = 0;
    for (int64_t i = 0; i < n; ++i) {
        const elem e = x[i * step], size = e < 0 ? -e : e;
        found = size > most ? e : found;
        most = size > most ? size : most;
    }
    return found < 0;
}

/* The order of n values, `step` apart: ascending, or descending. Equal values keep their order. */
static inline void KERNEL(order)(
    const elem *w, int64_t n, int64_t step, bool descending, int *order)
{
    for (int i = 0; i < n; ++i) {
        int at = i;
        for (; at > 0; --at) {
            const elem before = w[order[at - 1] * step], e = w[i * step];
            if (descending ? !(e > before) : !(e < before)) {
                break;
            }
            order[at] = order[at - 1];
        }
        order[at] = i;
    }
}

/* Defines the kernel of an operator for small matrices. Each worker computes its matrices in groups
 * of lanes, by KERNEL(<op>_lanes); one or two matrices cost less one after the other. */
#undef JACOBI_KERNEL
#define JACOBI_KERNEL(op)                                                                   \
    void KERNEL(op)(const void *block, int64_t begin, int64_t end)                          \
    {                                                                                       \
        const adzi_##op##_args *args = block;                                               \
        for (int64_t worker = begin; worker < end; ++worker) {                              \
            elem *memory = adzi_worker_memory(&args->workers, worker);                      \
            const int64_t last = adzi_worker_begin(&args->workers, worker + 1);             \
            for (int64_t i = adzi_worker_begin(&args->workers, worker), matrices; i < last; \
                 i += matrices) {                                                           \
                matrices = adzi_lanes_of(last - i, ADZI_JACOBI_LANES);                      \
                if (matrices == 1) {                                                        \
                    KERNEL(op##_lanes)(args, i, 1, memory, 1);                              \
                } else {                                                                    \
                    KERNEL(op##_lanes)(args, i, matrices, memory, ADZI_JACOBI_LANES);       \
                }                                                                           \
            }                                                                               \
        }                                                                                   \
    }
