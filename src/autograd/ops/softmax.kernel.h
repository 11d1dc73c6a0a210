/* What softmax, log_softmax and logsumexp share, per type T; inside each_float.h. No include guard:
 * that is the point. Sums run in f64, in an order that the lane's length gives. */

enum { K(lanes) = 16, K(columns) = 64 };

/* The largest of n elements; NaN does not count, it shows in the sum. */
static inline T K(max_of)(const T *x, int64_t n)
{
    T lane[K(lanes)];
    for (int j = 0; j < K(lanes); ++j) {
        lane[j] = -(T)INFINITY;
    }
    int64_t i = 0;
    for (; i + K(lanes) <= n; i += K(lanes)) {
        for (int j = 0; j < K(lanes); ++j) {
            lane[j] = x[i + j] > lane[j] ? x[i + j] : lane[j];
        }
    }
    for (int j = 0; i < n; ++i, ++j) {
        lane[j] = x[i] > lane[j] ? x[i] : lane[j];
    }
    for (int width = K(lanes) / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; ++j) {
            lane[j] = lane[j + width] > lane[j] ? lane[j + width] : lane[j];
        }
    }
    return lane[0];
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

/* The sum of e^(x - m) over n elements. */
static inline double K(exp_sum)(const T *x, int64_t n, T m)
{
    double lane[K(lanes)] = { 0 };
    int64_t i = 0;
    for (; i + K(lanes) <= n; i += K(lanes)) {
        T e[K(lanes)];
        for (int j = 0; j < K(lanes); ++j) {
            e[j] = VM(exp)(x[i + j] - m);
        }
        for (int j = 0; j < K(lanes); ++j) {
            lane[j] += (double)e[j];
        }
    }
    for (int j = 0; i < n; ++i, ++j) {
        lane[j] += (double)VM(exp)(x[i] - m);
    }
    return K(add_lanes)(lane);
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
            e[j] = VM(exp)(row[j] - m[j]);
        }
        for (int64_t j = 0; j < w; ++j) {
            sum[j] += (double)e[j];
        }
    }
}

/* The group of up to 64 neighbouring lanes at the front of [begin, end): its width, and the place
 * of its first element. */
static inline int64_t K(group)(const adzi_lanes_args *a, int64_t begin, int64_t end, int64_t *place)
{
    int64_t column = begin % a->inner, w = a->inner - column;
    w = w < end - begin ? w : end - begin;
    *place = begin / a->inner * a->n * a->inner + column;
    return w < K(columns) ? w : K(columns);
}
