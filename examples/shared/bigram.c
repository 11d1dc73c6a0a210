/* Counts of pairs are looked up in a sorted list, because most pairs of words never occur. */
#include "bigram.h"

#include <math.h>
#include <stdlib.h>

#include "command_line.h"

static const double SHARED_COUNT = 2; /* what each context gives to the frequencies of tokens */

static int compare_pairs(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* The number of elements of a sorted list that are below `pair`. */
static int64_t place_of(const int64_t *pairs, int64_t n, int64_t pair)
{
    int64_t low = 0, high = n;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (pairs[middle] < pair) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* All pairs of neighbours as first * vocabulary + second, sorted, for free(). */
static int64_t *sorted_pairs(const int64_t *ids, int64_t n, int64_t vocabulary)
{
    int64_t *pairs = allocate((size_t)n * sizeof *pairs);
    for (int64_t i = 0; i + 1 < n; ++i) {
        pairs[i] = ids[i] * vocabulary + ids[i + 1];
    }
    if (n > 2) {
        qsort(pairs, (size_t)n - 1, sizeof *pairs, compare_pairs);
    }
    return pairs;
}

double bigram_loss(const int64_t *train, int64_t n_train, const int64_t *valid, int64_t n_valid,
    int64_t vocabulary)
{
    const int64_t n_pairs = n_train > 0 ? n_train - 1 : 0;
    int64_t *pairs = sorted_pairs(train, n_train, vocabulary);
    double *counts = allocate((size_t)vocabulary * sizeof *counts), sum = 0;
    for (int64_t i = 0; i < vocabulary; ++i) {
        counts[i] = 0;
    }
    for (int64_t i = 0; i < n_train; ++i) {
        counts[train[i]] += 1;
    }
    for (int64_t i = 0; i + 1 < n_valid; ++i) {
        const int64_t a = valid[i], b = valid[i + 1], pair = a * vocabulary + b;
        const int64_t at = place_of(pairs, n_pairs, pair);
        const int64_t together = place_of(pairs, n_pairs, pair + 1) - at;
        const int64_t first = place_of(pairs, n_pairs, a * vocabulary);
        const int64_t from_a = place_of(pairs, n_pairs, (a + 1) * vocabulary) - first;
        const double alone = (counts[b] + 1) / (double)(n_train + vocabulary);
        sum -= log(((double)together + SHARED_COUNT * alone) / ((double)from_a + SHARED_COUNT));
    }
    free(counts);
    free(pairs);
    return sum / (double)(n_valid - 1);
}
