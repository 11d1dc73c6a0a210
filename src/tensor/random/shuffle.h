/* The order of an epoch, as a function of the position: a bijection of 0 .. n-1 keyed by (seed,
 * epoch), computed for every position and never stored.
 *
 * Note [One order for any number of ranks]
 * Each rank, and each thread, computes the rows at its own positions of the order. All of them get
 * one order without telling each other anything, and an order of 12 million rows needs no memory.
 *
 * Above 256 rows the bijection is a generalized Feistel cipher with cycle walking (Black and
 * Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002):
 *
 *     sizes a, b    a = ceil(sqrt(n)), b = ceil(n / a): a b is n or above it by less than a
 *     position p       left = p / b, right = p mod b
 *     even round r  left  = (left  + floor(F(r, right) a / 2^32)) mod a
 *     odd round r   right = (right + floor(F(r, left)  b / 2^32)) mod b
 *     row           left b + right; while it is n or more, it is enciphered again
 *
 * F is the first word of Philox 2x32 (Salmon, Moraes, Dror, Shaw: "Parallel random numbers: as easy
 * as 1, 2, 3", SC 2011) with five rounds. Its key and its second counter word belong to the round.
 * They come from Philox 4x32-10 under (seed, epoch, n), with counters that no generator reaches.
 *
 * Rounds cost time, and too few of them leave patterns. Five rounds of F: take the upper six bits
 * of F for two small numbers that differ by a few units. After three rounds 20 million such pairs
 * differ plainly from random ones, after four or more they do not. Eight rounds of the cipher, as
 * in FF3-1 (NIST SP 800-38G), which is made for small domains too: two positions with equal right
 * halves keep them equal with probability 1 / b in two rounds, so eight rounds leave b^-4 of what
 * the start had in common, or 2 parts in 100,000 at 257 rows. There 150 million pairs of
 * neighbouring rows show no deviation; the statistics of tests/tensor/philox/orders.c reject four
 * rounds. For comparison: a shuffle for GPUs takes 24 rounds of one multiplication each, and this
 * one takes 40 multiplications (Mitchell, Stokes, Frank, Holmes: "Bandwidth-optimal random
 * shuffling for GPUs", TOPC 2022).
 *
 * Few rows would need more rounds. At 9 rows the total variation distance between eight rounds and
 * a uniform order is 0.16, by enumeration of all cases. The order of at most 256 rows is therefore
 * a table of bytes, which Fisher and Yates' algorithm fills.
 *
 * Every round is an even permutation if a and b are odd. A bit of the key therefore says whether
 * rows 0 and 1 are exchanged at the end, so that odd orders are as frequent as even ones.
 */
#ifndef ADZI_TENSOR_RANDOM_SHUFFLE_H
#define ADZI_TENSOR_RANDOM_SHUFFLE_H

#include <stdint.h>

#include "base/threads/addresses.h"
#include "base/random_generator.h"

enum { ADZI_SHUFFLE_ROUNDS = 8, ADZI_SHUFFLE_TABLE = 256 };

/** The most rows: both halves fit 31 bits, so that their sums fit 32. */
#define ADZI_SHUFFLE_MOST (INT64_C(1) << 62)

#define ADZI_PHILOX2_MULTIPLIER 0xD256D193u
#define ADZI_PHILOX2_WEYL       0x9E3779B9u
enum { ADZI_PHILOX2_ROUNDS = 5 };

/** An order, ready for any position. */
typedef struct adzi_shuffle {
    int64_t n;
    uint32_t sizes[2];                     /* a and b */
    uint32_t swap;                         /* 1: rows 0 and 1 are exchanged */
    uint32_t keys[ADZI_SHUFFLE_ROUNDS][2]; /* key and second counter word of each round */
    uint8_t table[ADZI_SHUFFLE_TABLE];     /* the whole order, if n is at most 256 */
} adzi_shuffle;

/** The arguments of the kernel, whose unit is one row: rows[i] is the row at position begin + i. */
typedef struct adzi_shuffle_args {
    adzi_shuffle order;
    int64_t begin;
    int64_t *rows;
} adzi_shuffle_args;

ADZI_ADDRESSES(adzi_shuffle_args, rows);

/** Prepares the order of an epoch of n rows, 0 .. ADZI_SHUFFLE_MOST, in less than a microsecond
 * above 256 rows. */
void adzi_shuffle_prepare(adzi_shuffle *order, uint64_t seed, uint64_t epoch, int64_t n);

/** Follows a row that the cipher gave for a position, 0 .. a b - 1, to one below n, and swaps rows
 * 0 and 1 where the key says so. */
int64_t adzi_shuffle_walk(const adzi_shuffle *order, uint64_t row);

/** The rows at positions begin .. begin + count - 1, in a launch. `rows` is from adzi_alloc. */
void adzi_shuffle_rows(const adzi_shuffle *order, int64_t begin, int64_t count, int64_t *rows);

/** A seed of 64 bits drawn from a generator, which moves on. NULL draws from the default one. */
uint64_t adzi_draw_seed(adz_generator *generator);

#endif
