/* Filters of logits in the order and with the rules of transformers, and the choice of a token. */
#include "sample.h"

#include <math.h>
#include <stdlib.h>

#include "adze/real.h"

void adzi_models_penalise(
    float *scores, int64_t v, double penalty, const int64_t *ids, int64_t n_ids, bool *met)
{
    const float factor = (float)penalty;
    for (int64_t i = 0; i < n_ids; ++i) {
        const int64_t id = ids[i];
        if (id >= 0 && id < v && !met[id]) {
            met[id] = true;
            scores[id] = scores[id] < 0 ? scores[id] * factor : scores[id] / factor;
        }
    }
    for (int64_t i = 0; i < n_ids; ++i) {
        if (ids[i] >= 0 && ids[i] < v) {
            met[ids[i]] = false;
        }
    }
}

int64_t adzi_models_best(const float *scores, int64_t v)
{
    int64_t best = 0;
    for (int64_t i = 1; i < v; ++i) {
        best = scores[i] > scores[best] ? i : best;
    }
    return best;
}

/* The sum of exp(score - most) over all tokens. */
static double sum_of(const float *scores, int64_t v, float most)
{
    double sum = 0;
    for (int64_t i = 0; i < v; ++i) {
        sum += adz_real_exp((double)scores[i] - (double)most);
    }
    return sum;
}

/* The k-th largest of `count` scores, in time proportional to their number: parts that cannot hold
 * it are left aside. Changes their order. */
static float kth_largest(models_candidate *c, int64_t count, int64_t k)
{
    int64_t low = 0, high = count - 1;
    const int64_t wanted = k - 1;
    while (low < high) {
        const float pivot = c[low + (high - low) / 2].score;
        int64_t i = low, j = high;
        while (i <= j) {
            while (c[i].score > pivot) {
                ++i;
            }
            while (c[j].score < pivot) {
                --j;
            }
            if (i <= j) {
                const models_candidate other = c[i];
                c[i++] = c[j];
                c[j--] = other;
            }
        }
        if (wanted <= j) {
            high = j;
        } else if (wanted >= i) {
            low = i;
        } else {
            break;
        }
    }
    return c[wanted].score;
}

static void keep_top_k(float *scores, int64_t v, int64_t k, models_candidate *room)
{
    for (int64_t i = 0; i < v; ++i) {
        room[i] = (models_candidate){ scores[i], i };
    }
    const float least = kth_largest(room, v, k);
    for (int64_t i = 0; i < v; ++i) {
        scores[i] = scores[i] < least ? -INFINITY : scores[i];
    }
}

/* Ascending scores; of equal ones the last token comes first, so that the first one is kept. */
static int ascending(const void *a, const void *b)
{
    const models_candidate *x = a, *y = b;
    return x->score != y->score ? (x->score < y->score ? -1 : 1)
           : x->id > y->id      ? -1
                                : (x->id < y->id ? 1 : 0);
}

/* Removes the least probable tokens as long as they add up to 1 - top_p at most. Tokens that are so
 * improbable that all V of them would not add up to this are removed without being sorted. */
static void keep_top_p(float *scores, int64_t v, double top_p, models_candidate *room)
{
    const int64_t best = adzi_models_best(scores, v);
    const float most = scores[best];
    const double sum = sum_of(scores, v, most), spare = (1 - top_p) * sum;
    int64_t count = 0;
    double removed = 0;
    for (int64_t i = 0; i < v; ++i) {
        const double share = adz_real_exp((double)scores[i] - (double)most);
        if (share <= spare / (double)v / 2 && i != best) {
            removed += share;
            scores[i] = -INFINITY;
        } else {
            room[count++] = (models_candidate){ scores[i], i };
        }
    }
    qsort(room, (size_t)count, sizeof *room, ascending);
    for (int64_t i = 0; i < count - 1; ++i) {
        removed += adz_real_exp((double)room[i].score - (double)most);
        if (removed > spare) {
            break;
        }
        scores[room[i].id] = -INFINITY;
    }
}

static void keep_min_p(float *scores, int64_t v, double min_p)
{
    const int64_t best = adzi_models_best(scores, v);
    const float most = scores[best];
    for (int64_t i = 0; i < v; ++i) {
        if (i != best && adz_real_exp((double)scores[i] - (double)most) < min_p) {
            scores[i] = -INFINITY;
        }
    }
}

void adzi_models_filter(
    float *scores, int64_t v, const adz_generate_options *o, models_candidate *room)
{
    const float temperature = (float)o->temperature;
    for (int64_t i = 0; i < v && o->temperature != 1; ++i) {
        scores[i] /= temperature;
    }
    if (o->top_k > 0 && o->top_k < v) {
        keep_top_k(scores, v, o->top_k, room);
    }
    if (o->top_p < 1) {
        keep_top_p(scores, v, o->top_p, room);
    }
    if (o->min_p > 0) {
        keep_min_p(scores, v, o->min_p);
    }
}

/* Sums run in the order of the tokens, so the same number always draws the same token. */
int64_t adzi_models_draw(const float *scores, int64_t v, double number)
{
    const float most = scores[adzi_models_best(scores, v)];
    const double sum = sum_of(scores, v, most);
    double below = 0;
    int64_t last = 0;
    for (int64_t i = 0; i < v; ++i) {
        if (scores[i] > -INFINITY) {
            below += adz_real_exp((double)scores[i] - (double)most);
            last = i;
            if (number * sum < below) {
                return i;
            }
        }
    }
    return last; /* the number was rounded up to the sum */
}
