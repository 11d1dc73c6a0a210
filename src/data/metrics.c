/* Metrics. The elements are copied and read by the host. */
#include "adze/data/metrics.h"

#include <math.h>
#include <stdlib.h>

#include "adze/ops.h"
#include "tensor/shape.h"
#include "tensor/tensor.h"

/* The elements of `t` as f64, in a copy that belongs to the scope; or NULL. */
static const double *doubles_of(adz_tensor *t)
{
    adz_tensor *copy = adz_clone(adz_to(adz_detach(t), ADZ_F64));
    return copy != NULL ? adz_tensor_data_f64(adz_contiguous(copy)) : NULL;
}

static const int64_t *wholes_of(adz_tensor *t)
{
    adz_tensor *copy = adz_clone(adz_to(adz_detach(t), ADZ_I64));
    return copy != NULL ? adz_tensor_data_i64(adz_contiguous(copy)) : NULL;
}

static bool is_whole(const adz_tensor *t)
{
    return t->dtype == ADZ_I64 || t->dtype == ADZ_I32 || t->dtype == ADZ_U8;
}

static bool is_real(const adz_tensor *t)
{
    return t->dtype == ADZ_F32 || t->dtype == ADZ_F64;
}

/* Checks two tensors of one shape. */
static bool check_pair(
    const char *op, const adz_tensor *a, const char *a_name, const adz_tensor *targets)
{
    if (!adzi_check_tensor(op, a_name, a) || !adzi_check_tensor(op, "targets", targets)) {
        return false;
    }
    if (!adzi_same_sizes(a, targets)) {
        adzi_error(op, ADZ_ERR_SHAPE, "%s%s and targets%s must have one shape", a_name,
            adzi_text_shape(a), adzi_text_shape(targets));
        return false;
    }
    return true;
}

static bool check_real(const char *op, const adz_tensor *t, const char *name)
{
    if (!is_real(t)) {
        adzi_error(op, ADZ_ERR_DTYPE, "%s is %s, not float32 or float64; convert it with adz_to",
            name, adz_dtype_name((adz_dtype)t->dtype));
    }
    return is_real(t);
}

/* ---- classes -------------------------------------------------------------------------------- */

/* Counts n pairs in the matrix [classes, classes]. False if a class is out of range. */
static bool count_pairs(const char *op, adz_tensor *matrix, const int64_t *predictions,
    const int64_t *targets, int64_t n)
{
    const int64_t classes = matrix->sizes[0];
    int64_t *counts = (int64_t *)(void *)matrix->data;
    for (int64_t i = 0; i < n; ++i) {
        const bool target = targets[i] >= 0 && targets[i] < classes;
        if (!target || predictions[i] < 0 || predictions[i] >= classes) {
            adzi_error(op, ADZ_ERR_INDEX, "%s %lld is class %lld, outside the %lld classes",
                target ? "prediction" : "target", (long long)i,
                (long long)(target ? predictions[i] : targets[i]), (long long)classes);
            return false;
        }
        ++counts[targets[i] * classes + predictions[i]];
    }
    return true;
}

adz_tensor *adz_confusion_matrix(adz_tensor *predictions, adz_tensor *targets, int64_t classes)
{
    static const char op[] = "confusion_matrix";
    if (!check_pair(op, predictions, "predictions", targets)) {
        return NULL;
    }
    if (!is_whole(predictions) || !is_whole(targets)) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "predictions are %s and targets %s, but classes are integers; adz_argmax makes them from scores",
            adz_dtype_name((adz_dtype)predictions->dtype),
            adz_dtype_name((adz_dtype)targets->dtype));
    }
    if (classes < 1) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "classes is %lld, but must be 1 or more", (long long)classes);
    }
    adz_scope *scope = adz_scope_open();
    const int64_t *p = wholes_of(predictions), *t = p != NULL ? wholes_of(targets) : NULL;
    adz_tensor *counts = t != NULL ? adz_zeros(ADZ_SHAPE(classes, classes), ADZ_I64) : NULL;
    if (counts != NULL && !count_pairs(op, counts, p, t, predictions->numel)) {
        counts = NULL;
    }
    return adz_scope_return(scope, counts);
}

/* The sums of a confusion matrix for one class. */
typedef struct {
    double right, predicted, targets;
} class_counts;

/* Reads a confusion matrix, whose elements then belong to the scope. NULL with the error recorded.
 */
static const double *read_confusion(const char *op, adz_tensor *confusion, double *all)
{
    if (!adzi_check_tensor(op, "confusion", confusion)) {
        return NULL;
    }
    if (confusion->rank != 2 || confusion->sizes[0] != confusion->sizes[1]) {
        return adzi_fail(op, ADZ_ERR_SHAPE,
            "confusion%s is not [C, C], as adz_confusion_matrix makes it",
            adzi_text_shape(confusion));
    }
    if (!is_whole(confusion)) {
        return adzi_fail(op, ADZ_ERR_DTYPE, "confusion is %s, but counts are integers",
            adz_dtype_name((adz_dtype)confusion->dtype));
    }
    const double *counts = doubles_of(confusion);
    *all = 0;
    for (int64_t i = 0; counts != NULL && i < confusion->numel; ++i) {
        if (counts[i] < 0) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT, "confusion has the negative count %lld",
                (long long)counts[i]);
        }
        *all += counts[i];
    }
    if (counts != NULL && *all == 0) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "confusion%s has no counts", adzi_text_shape(confusion));
    }
    return counts;
}

static class_counts counts_of(const double *confusion, int64_t classes, int64_t c)
{
    class_counts counts = { .right = confusion[c * classes + c] };
    for (int64_t i = 0; i < classes; ++i) {
        counts.targets += confusion[c * classes + i];
        counts.predicted += confusion[i * classes + c];
    }
    return counts;
}

double adz_accuracy(adz_tensor *confusion)
{
    double all = 0, right = 0;
    adz_scope *scope = adz_scope_open();
    const double *counts = read_confusion("accuracy", confusion, &all);
    for (int64_t c = 0; counts != NULL && c < confusion->sizes[0]; ++c) {
        right += counts[c * confusion->sizes[0] + c];
    }
    const double share = counts != NULL ? right / all : (double)NAN;
    adz_scope_close(scope);
    return share;
}

/* The F1 scores averaged. TP + FP are the predictions of a class, and TP + FN its targets. */
static double average_f1(const double *confusion, int64_t classes, adz_average average)
{
    double sum = 0, weights = 0;
    for (int64_t c = 0; c < classes; ++c) {
        const class_counts n = counts_of(confusion, classes, c);
        const double under = n.predicted + n.targets;
        if (average == ADZ_AVERAGE_MICRO) {
            sum += 2 * n.right;
            weights += under;
        } else if (under > 0) {
            const double weight = average == ADZ_AVERAGE_MACRO ? 1 : n.targets;
            sum += weight * 2 * n.right / under;
            weights += weight;
        }
    }
    return sum / weights;
}

double adz_f1_score(adz_tensor *confusion, adz_average average)
{
    static const char op[] = "f1_score";
    if ((unsigned)average > ADZ_AVERAGE_WEIGHTED) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "average is %d, which is no adz_average; ADZ_AVERAGE_MACRO is usual", (int)average);
        return (double)NAN;
    }
    double all = 0;
    adz_scope *scope = adz_scope_open();
    const double *counts = read_confusion(op, confusion, &all);
    const double f1 =
        counts != NULL ? average_f1(counts, confusion->sizes[0], average) : (double)NAN;
    adz_scope_close(scope);
    return f1;
}

/* ---- scores --------------------------------------------------------------------------------- */

typedef struct {
    double score;
    bool positive;
} scored;

/* Elements by falling score. `positives` counts those of target 1. */
typedef struct {
    scored *elements;
    int64_t n, positives;
} ranking;

static int by_falling_score(const void *a, const void *b)
{
    const double x = ((const scored *)a)->score, y = ((const scored *)b)->score;
    return x > y ? -1 : x < y;
}

/* Fills the ranking with checked elements. */
static bool fill_ranking(const char *op, ranking *r, const double *scores, const double *targets)
{
    for (int64_t i = 0; i < r->n; ++i) {
        if (isnan(scores[i]) || (targets[i] != 0 && targets[i] != 1)) {
            const bool lost = isnan(scores[i]);
            adzi_error(op, ADZ_ERR_ARGUMENT, "%s %lld is %s%s", lost ? "score" : "target",
                (long long)i, lost ? "NaN" : adzi_text_number(targets[i]),
                lost ? "" : ", not 0 or 1");
            return false;
        }
        r->elements[i] = (scored){ scores[i], targets[i] == 1 };
        r->positives += targets[i] == 1;
    }
    if (r->n > 1) { /* no rows may be NULL, which qsort does not take */
        qsort(r->elements, (size_t)r->n, sizeof *r->elements, by_falling_score);
    }
    return true;
}

/* Reads scores and targets in a ranking, which end_ranking ends. */
static bool read_ranking(const char *op, adz_tensor *scores, adz_tensor *targets, ranking *r)
{
    *r = (ranking){ NULL, 0, 0 };
    if (!check_pair(op, scores, "scores", targets) || !check_real(op, scores, "scores")) {
        return false;
    }
    r->n = scores->numel;
    adz_scope *scope = adz_scope_open();
    const double *s = doubles_of(scores), *t = s != NULL ? doubles_of(targets) : NULL;
    bool good = t != NULL;
    if (good && r->n > 0 && (r->elements = adzi_alloc((size_t)r->n * sizeof(scored))) == NULL) {
        adzi_fail_memory(op, (size_t)r->n * sizeof(scored));
        good = false;
    }
    good = good && fill_ranking(op, r, s, t);
    adz_scope_close(scope);
    return good;
}

static void end_ranking(ranking *r)
{
    adzi_free(r->elements, r->elements != NULL ? (size_t)r->n * sizeof(scored) : 0);
}

/* Counts the elements from `first` on that have one score, and the positive ones among them. */
static int64_t equal_scores(const ranking *r, int64_t first, int64_t *positives)
{
    int64_t i = first;
    *positives = 0;
    for (; i < r->n && r->elements[i].score == r->elements[first].score; ++i) {
        *positives += r->elements[i].positive;
    }
    return i - first;
}

/* Counts pairs of a positive and a negative element, of which the positive one has the higher
 * score; pairs of equal score count one half. */
static double area(const ranking *r)
{
    double pairs = 0, above = 0; /* positive elements with a higher score */
    for (int64_t i = 0, n; i < r->n; i += n) {
        int64_t positives;
        n = equal_scores(r, i, &positives);
        pairs += (double)(n - positives) * (above + 0.5 * (double)positives);
        above += (double)positives;
    }
    return pairs / ((double)r->positives * (double)(r->n - r->positives));
}

static double precision(const ranking *r)
{
    double sum = 0, found = 0;
    for (int64_t i = 0, n; i < r->n; i += n) {
        int64_t positives;
        n = equal_scores(r, i, &positives);
        found += (double)positives;
        sum += (double)positives * found / (double)(i + n);
    }
    return sum / (double)r->positives;
}

/* Computes a metric of a ranking. `both` demands negative elements as well. */
static double of_ranking(const char *op, adz_tensor *scores, adz_tensor *targets, bool both,
    double (*metric)(const ranking *r))
{
    ranking r;
    double value = (double)NAN;
    bool good = read_ranking(op, scores, targets, &r);
    if (good && (r.positives == 0 || (both && r.positives == r.n))) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "%lld of %lld targets are 1; the metric needs a positive element%s",
            (long long)r.positives, (long long)r.n, both ? " and a negative one" : "");
        good = false;
    }
    if (good) {
        value = metric(&r);
    }
    end_ranking(&r);
    return value;
}

double adz_roc_auc(adz_tensor *scores, adz_tensor *targets)
{
    return of_ranking("roc_auc", scores, targets, true, area);
}

double adz_average_precision(adz_tensor *scores, adz_tensor *targets)
{
    return of_ranking("average_precision", scores, targets, false, precision);
}

/* ---- regression ----------------------------------------------------------------------------- */

/* R2 of one column, whose elements are `step` apart. */
static double r2_of(const double *p, const double *t, int64_t n, int64_t step)
{
    double mean = 0, error = 0, spread = 0;
    for (int64_t i = 0; i < n; ++i) {
        mean += t[i * step] / (double)n;
    }
    for (int64_t i = 0; i < n; ++i) {
        const double e = t[i * step] - p[i * step], d = t[i * step] - mean;
        error += e * e;
        spread += d * d;
    }
    return spread != 0 ? 1 - error / spread : error == 0 ? 1 : isnan(error) ? error : 0;
}

double adz_r2_score(adz_tensor *predictions, adz_tensor *targets)
{
    static const char op[] = "r2_score";
    if (!check_pair(op, predictions, "predictions", targets) ||
        !check_real(op, predictions, "predictions") || !check_real(op, targets, "targets")) {
        return (double)NAN;
    }
    const int rank = predictions->rank;
    if (rank < 1 || rank > 2 || predictions->sizes[0] < 2 || predictions->numel == 0) {
        adzi_error(op, ADZ_ERR_SHAPE, "predictions%s must be [N] or [N, D] with two rows or more",
            adzi_text_shape(predictions));
        return (double)NAN;
    }
    const int64_t n = predictions->sizes[0], columns = predictions->numel / n;
    double sum = (double)NAN;
    adz_scope *scope = adz_scope_open();
    const double *p = doubles_of(predictions), *t = p != NULL ? doubles_of(targets) : NULL;
    if (t != NULL) {
        sum = 0;
        for (int64_t c = 0; c < columns; ++c) {
            sum += r2_of(p + c, t + c, n, columns);
        }
    }
    adz_scope_close(scope);
    return sum / (double)columns;
}
