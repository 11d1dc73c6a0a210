/* Boxes chosen by their scores. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "run.h"

typedef struct suppression {
    const double *boxes, *scores; /* of one sample: [n, 4]; of one class: [n] */
    int64_t n, most;
    double overlap, least; /* a box is dropped above this overlap, or at most at this score */
    bool centred;          /* boxes are centre and size, not two corners */
} suppression;

/** The lower and upper ends of a box in both directions. */
static void ends(const suppression *s, int64_t i, double low[2], double high[2])
{
    const double *b = s->boxes + 4 * i;
    for (int k = 0; k < 2; k++) {
        double first = s->centred ? b[k] - b[2 + k] / 2 : b[k];
        double second = s->centred ? b[k] + b[2 + k] / 2 : b[2 + k];
        low[k] = first < second ? first : second;
        high[k] = first < second ? second : first;
    }
}

/** Whether two boxes share more of their union than allowed. */
static bool overlap(const suppression *s, int64_t i, int64_t j)
{
    double low[2][2], high[2][2], area[2], shared = 1;
    ends(s, i, low[0], high[0]);
    ends(s, j, low[1], high[1]);
    for (int k = 0; k < 2; k++) {
        double from = low[0][k] > low[1][k] ? low[0][k] : low[1][k];
        double to = high[0][k] < high[1][k] ? high[0][k] : high[1][k];
        if (to <= from) {
            return false;
        }
        shared *= to - from;
        area[k] = (high[k][0] - low[k][0]) * (high[k][1] - low[k][1]);
    }
    double whole = area[0] + area[1] - shared;
    return area[0] > 0 && area[1] > 0 && whole > 0 && shared / whole > s->overlap;
}

/** Chooses boxes from the best score down, of equal ones the first; `order` are the boxes by
 * score. Returns how many. */
static int64_t choose(const suppression *s, const int64_t *order, int64_t *chosen)
{
    int64_t count = 0;
    for (int64_t i = 0; i < s->n && count < s->most; i++) {
        bool keep = s->scores[order[i]] > s->least;
        for (int64_t k = 0; k < count && keep; k++) {
            keep = !overlap(s, order[i], chosen[k]);
        }
        if (keep) {
            chosen[count++] = order[i];
        }
    }
    return count;
}

/** The chosen boxes of all samples and classes, as rows of sample, class and box. */
static adz_tensor *chosen_rows(const reader_call *call, suppression *s, const adz_tensor *boxes,
    const adz_tensor *scores, const adz_tensor *order)
{
    int64_t samples = adz_tensor_size(scores, 0), classes = adz_tensor_size(scores, 1), count = 0;
    int64_t most = s->most < s->n ? s->most : s->n;
    size_t room = (size_t)(samples * classes * most);
    int64_t *rows = adzi_reader_alloc(&call->run->arena, 3 * room + 1, sizeof(int64_t));
    int64_t *chosen = adzi_reader_alloc(&call->run->arena, (size_t)most + 1, sizeof(int64_t));
    const double *all_boxes = adz_tensor_data_constant(boxes);
    const double *all_scores = adz_tensor_data_constant(scores);
    const int64_t *all_orders = adz_tensor_data_constant(order);
    if (rows == NULL || chosen == NULL || adz_error_code() != ADZ_OK) {
        return NULL;
    }
    for (int64_t i = 0; i < samples * classes; i++) {
        s->boxes = all_boxes + i / classes * s->n * 4;
        s->scores = all_scores + i * s->n;
        int64_t found = choose(s, all_orders + i * s->n, chosen);
        for (int64_t k = 0; k < found; k++, count++) {
            rows[3 * count] = i / classes;
            rows[3 * count + 1] = i % classes;
            rows[3 * count + 2] = chosen[k];
        }
    }
    return adz_tensor_from((const void *)rows, ADZ_SHAPE(count, 3), ADZ_I64);
}

static adz_tensor *non_max_suppression(const reader_call *call)
{
    adz_tensor *boxes = adzi_reader_in(call, 0), *scores = adzi_reader_in(call, 1);
    double most;
    suppression s = { .centred = adzi_reader_int(call, "center_point_box", 0) != 0 };
    if (boxes == NULL || scores == NULL || !adzi_reader_number(call, 2, 0, &most) ||
        !adzi_reader_number(call, 3, 0, &s.overlap) ||
        !adzi_reader_number(call, 4, -INFINITY, &s.least)) {
        return NULL;
    }
    adz_shape b = adz_tensor_shape(boxes), c = adz_tensor_shape(scores);
    if (b.rank != 3 || c.rank != 3 || b.sizes[2] != 4 || b.sizes[0] != c.sizes[0] ||
        b.sizes[1] != c.sizes[2]) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "boxes%s and scores%s do not fit",
            adz_text_shape(boxes), adz_text_shape(scores));
    }
    s.n = b.sizes[1];
    s.most = most > 0 ? (int64_t)(most < 1e15 ? most : 1e15) : 0;
    boxes = adz_contiguous(adz_to(adz_detach(boxes), ADZ_F64));
    scores = adz_contiguous(adz_to(adz_detach(scores), ADZ_F64));
    adz_tensor *order = adz_contiguous(adz_argsort(scores, 2, true));
    return order == NULL ? NULL : chosen_rows(call, &s, boxes, scores, order);
}

const reader_operator adzi_reader_boxes[] = {
    ROW("NonMaxSuppression", 10, 0, 2, 5, 1, "center_point_box:i", ALL_FIXED, non_max_suppression),
    { .name = NULL },
};
