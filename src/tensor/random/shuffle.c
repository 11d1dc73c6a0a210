#include "tensor/random/shuffle.h"

#include "adze/random.h"
#include "base/error.h"
#include "base/threads/parallel.h"
#include "tensor/random/random.h"

ADZI_DECLARE_KERNEL(shuffle, any);
static const adzi_kernel shuffle_kernels[ADZI_CPU_LEVELS] = {
    ADZI_KERNEL_COLUMN(shuffle, any, baseline),
    ADZI_KERNEL_COLUMN(shuffle, any, avx2),
    ADZI_KERNEL_COLUMN(shuffle, any, avx512),
};

/* Marks the counters of orders. A generator's counters have 0 in their upper 64 bits, and n has 62
 * bits at most. */
#define MARK 0x80000000u

/* ---- preparing ------------------------------------------------------------------------------ */

/* The smallest number whose square is at least n. */
static uint32_t root_above(uint64_t n)
{
    uint32_t root = 0;
    for (uint32_t bit = 1u << 31; bit > 0; bit >>= 1) {
        uint64_t larger = root | bit;
        root = (larger - 1) * (larger - 1) < n ? (uint32_t)larger : root;
    }
    return root;
}

/* Four words under the order's own key. */
static void words_of_order(uint32_t *words, const uint32_t *key, uint32_t index)
{
    const uint32_t counter[4] = { index, MARK, key[2], key[3] };
    adzi_philox(words, counter, key);
}

/* Fisher and Yates: position i takes a row among the first i + 1, whose position gets row i. A word
 * of 32 bits chooses it, with a bias below i / 2^32. */
static void fill_table(adzi_shuffle *order, const uint32_t *key)
{
    uint32_t words[4];
    for (uint32_t i = 0; i < (uint32_t)order->n; ++i) {
        if (i % 4 == 0) {
            words_of_order(words, key, i / 4);
        }
        uint32_t j = (uint32_t)((uint64_t)words[i % 4] * (i + 1) >> 32);
        order->table[i] = order->table[j];
        order->table[j] = (uint8_t)i;
    }
}

static void fill_keys(adzi_shuffle *order, const uint32_t *key)
{
    uint32_t words[4];
    for (uint32_t r = 0; r < ADZI_SHUFFLE_ROUNDS; r += 2) {
        words_of_order(words, key, r / 2);
        for (int i = 0; i < 2; ++i) {
            order->keys[r + (uint32_t)i][0] = words[2 * i];
            order->keys[r + (uint32_t)i][1] = words[2 * i + 1];
        }
    }
    words_of_order(words, key, ADZI_SHUFFLE_ROUNDS);
    order->swap = words[0] & 1;
}

void adzi_shuffle_prepare(adzi_shuffle *order, uint64_t seed, uint64_t epoch, int64_t n)
{
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    const uint32_t counter[4] = { (uint32_t)epoch, (uint32_t)(epoch >> 32), (uint32_t)n,
        (uint32_t)(n >> 32) | MARK };
    uint32_t own[4];
    adzi_philox(own, counter, key);
    *order = (adzi_shuffle){ .n = n };
    if (n <= ADZI_SHUFFLE_TABLE) {
        fill_table(order, own);
        return;
    }
    order->sizes[0] = root_above((uint64_t)n);
    order->sizes[1] = (uint32_t)(((uint64_t)n + order->sizes[0] - 1) / order->sizes[0]);
    fill_keys(order, own);
}

/* ---- one row -------------------------------------------------------------------------------- */

static uint32_t philox2(uint32_t x, const uint32_t *key)
{
    uint32_t other = key[1], k = key[0];
    for (int round = 0; round < ADZI_PHILOX2_ROUNDS; ++round) {
        uint64_t product = (uint64_t)x * ADZI_PHILOX2_MULTIPLIER;
        x = (uint32_t)(product >> 32) ^ other ^ k;
        other = (uint32_t)product;
        k += ADZI_PHILOX2_WEYL;
    }
    return x;
}

static uint64_t encipher(const adzi_shuffle *order, uint64_t position)
{
    uint64_t b = order->sizes[1];
    uint32_t halves[2] = { (uint32_t)(position / b), (uint32_t)(position % b) };
    for (int r = 0; r < ADZI_SHUFFLE_ROUNDS; ++r) {
        uint32_t size = order->sizes[r % 2], *half = &halves[r % 2];
        uint64_t word = philox2(halves[1 - r % 2], order->keys[r]);
        uint32_t sum = *half + (uint32_t)(word * size >> 32);
        *half = sum >= size ? sum - size : sum;
    }
    return halves[0] * b + halves[1];
}

int64_t adzi_shuffle_walk(const adzi_shuffle *order, uint64_t row)
{
    while (row >= (uint64_t)order->n) {
        row = encipher(order, row);
    }
    return (int64_t)(row < 2 ? row ^ order->swap : row);
}

/* The row at a position 0 .. n-1. */
static int64_t shuffle_row(const adzi_shuffle *order, int64_t position)
{
    return order->n <= ADZI_SHUFFLE_TABLE
               ? order->table[position]
               : adzi_shuffle_walk(order, encipher(order, (uint64_t)position));
}

/* ---- many rows ------------------------------------------------------------------------------ */

void adzi_shuffle_rows(const adzi_shuffle *order, int64_t begin, int64_t count, int64_t *rows)
{
    enum { GRAIN = 1024 };
    const adzi_shuffle_args args = { *order, begin, rows };
    adzi_launch(shuffle_kernels[adzi_cpu_level], adzi_shuffle_args, &args, count, GRAIN);
}

uint64_t adzi_draw_seed(adz_generator *generator)
{
    generator = adzi_generator_or_default(generator);
    const adz_generator_state s = generator->state;
    const uint32_t key[2] = { (uint32_t)s.seed, (uint32_t)(s.seed >> 32) };
    const uint32_t counter[4] = { (uint32_t)s.offset, (uint32_t)(s.offset >> 32), 0, 0 };
    uint32_t words[4];
    adzi_philox(words, counter, key);
    adzi_generator_advance(generator, adzi_philox_counters(1, ADZI_DRAW_DOUBLE));
    return (uint64_t)words[0] << 32 | words[1];
}

int64_t adz_shuffle_index(uint64_t seed, uint64_t epoch, int64_t n, int64_t i)
{
    const char *op = "adz_shuffle_index";
    if (n < 0 || n > ADZI_SHUFFLE_MOST) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "n is %lld; an order has 0 to 2^62 rows", (long long)n);
        return -1;
    }
    if (i < 0 || i >= n) {
        adzi_error(op, ADZ_ERR_INDEX, "position %lld is outside an order of %lld rows",
            (long long)i, (long long)n);
        return -1;
    }
    adzi_shuffle order;
    adzi_shuffle_prepare(&order, seed, epoch, n);
    return shuffle_row(&order, i);
}
