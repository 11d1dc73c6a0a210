/* What softmax, log_softmax and logsumexp share, per type T; inside each_float.h. No include guard:
 * that is the point. Sums run in f64, in an order that the lane's length gives. */

/* 16 sums keep the vector units busy. Maxima take 32: a loop that short would be unrolled before it
 * is vectorised. */
enum { K(lanes) = 16, K(wide) = 32, K(columns) = 256 };

/* The largest of n elements; NaN does not count, it shows in the sum. */
static inline T K(max_of)(const T *x, int64_t n)
{
    T lane[K(wide)];
    int64_t i = 0;
    for (int j = 0; j < K(wide); ++j) {
        lane[j] = -(T)INFINITY;
    }
    for (; i + K(wide) <= n; i += K(wide)) {
        for (int j = 0; j < K(wide); ++j) {
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
        }
    }
    T m = -(T)INFINITY;
    for (int j = 0; i > 0 && j < K(wide); ++j) {
        m = lane[j] > m ? lane[j] : m;
    }
    for (; i < n; ++i) {
        m = x[i] > m ? x[i] : m;
    }
    return m;
}

static inline double K(add_lanes)(double *lane)
{
    for (int width = K(lanes) / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; ++j) {
            lane[j] += lane[j + width];
        }
    }
    return lane[0];
}

/* The sum of e^(x - m), none above 1, over n elements; writes them to y, if not NULL. The last ones
 * are filled up to a vector's worth. */
static inline double K(exp_row)(T *y, const T *x, int64_t n, T m)
{
    double lane[K(lanes)] = { 0 };
    T e[K(lanes)];
    int64_t i = 0;
    for (; i + K(lanes) <= n; i += K(lanes)) {
        for (int j = 0; j < K(lanes); ++j) {
            e[j] = VM(exp_nonpositive)(x[i + j] - m);
        }
        for (int j = 0; j < K(lanes); ++j) {
            lane[j] += (double)e[j];
        }
        for (int j = 0; y != NULL && j < K(lanes); ++j) {
            y[i + j] = e[j];
        }
    }
    if (i < n) {
        for (int j = 0; j < K(lanes); ++j) {
            e[j] = i + j < n ? x[i + j] : m;
        }
        for (int j = 0; j < K(lanes); ++j) {
            e[j] = VM(exp_nonpositive)(e[j] - m);
        }
        for (int j = 0; i + j < n; ++j) {
            lane[j] += (double)e[j];
        }
        for (int j = 0; y != NULL && i + j < n; ++j) {
            y[i + j] = e[j];
        }
    }
    return K(add_lanes)(lane);
}

static inline double K(exp_sum)(const T *x, int64_t n, T m)
{
    return K(exp_row)(NULL, x, n, m);
}

/* Largest elements of w neighbouring lanes, whose elements lie `stride` apart. */
static inline void K(columns_max)(T *m, const T *x, int64_t n, int64_t stride, int64_t w)
{
    for (int64_t j = 0; j < w; ++j) {
        m[j] = -(T)INFINITY;
    }
    for (int64_t i = 0; i < n; ++i) {
        const T *row = x + i * stride;
        for (int64_t j = 0; j < w; ++j) {
            m[j] = row[j] > m[j] ? row[j] : m[j];
        }
    }
}

/* Sums of e^(x - m) of w neighbouring lanes. */
static inline void K(columns_exp_sum)(
    double *sum, const T *m, const T *x, int64_t n, int64_t stride, int64_t w)
{
    for (int64_t j = 0; j < w; ++j) {
        sum[j] = 0;
    }
    for (int64_t i = 0; i < n; ++i) {
        const T *row = x + i * stride;
        T e[K(columns)];
        for (int64_t j = 0; j < w; ++j) {
            e[j] = VM(exp_nonpositive)(row[j] - m[j]);
        }
        for (int64_t j = 0; j < w; ++j) {
            sum[j] += (double)e[j];
        }
    }
}

/* The group of up to 256 neighbouring lanes at the front of [begin, end): its width, and the place
 * of its first element. */
static inline int64_t K(group)(const adzi_lanes_args *a, int64_t begin, int64_t end, int64_t *place)
{
    int64_t column = begin % a->inner, w = a->inner - column;
    w = w < end - begin ? w : end - begin;
    *place = begin / a->inner * a->n * a->inner + column;
    return w < K(columns) ? w : K(columns);
}
