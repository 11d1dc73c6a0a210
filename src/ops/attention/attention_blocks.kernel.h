/* Blocks of scores: which queries and keys they hold, where their operands are, and which of them
 * dropout keeps. Nothing here depends on the type of the elements. See Note [Attention in blocks].
 */
#ifndef ADZI_OPS_ATTENTION_ATTENTION_BLOCKS_KERNEL_H
#define ADZI_OPS_ATTENTION_ATTENTION_BLOCKS_KERNEL_H

#include "ops/attention/attention.kernel.h"
#include "tensor/kernel/registers.h"
#include "tensor/random/random.h"

/* On the diagonal of a causal mask, blocks have HALF the queries, because the earlier half of a
 * whole block would compute scores of keys that only the later half may see. */
enum { BLOCK = ADZI_ATTENTION_BLOCK, HALF = BLOCK / 2, GROUP = ADZI_ATTENTION_GROUP };

/* A block of scores of one item of the batch: queries from i on, keys from j on. */
typedef struct block {
    int64_t item, i, j, queries, keys;
} block;

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* The number of keys that query i sees. With a causal mask the last query sees all s keys, and each
 * earlier one a key less. */
static int64_t seen(const adzi_attention_args *g, int64_t i)
{
    int64_t count = i + g->s - g->l + 1;
    return !g->causal ? g->s : count < 0 ? 0 : count;
}

/* The block of at most `queries` queries from i on and at most BLOCK keys from j on. Its number of
 * keys is 0 or less if the causal mask hides them all. */
static block block_at(
    const adzi_attention_args *g, int64_t item, int64_t i, int64_t j, int64_t queries)
{
    block at = { item, i, j, queries, 0 };
    if (seen(g, i) < least(j + BLOCK, g->s)) {
        at.queries = least(queries, HALF);
    }
    at.keys = least(BLOCK, least(g->s, seen(g, i + at.queries - 1)) - j);
    return at;
}

/* The offset of the first element of an item, whose batch dimensions may be broadcast. */
static int64_t start_of(
    const adzi_attention_args *g, const adzi_attention_operand *operand, int64_t item)
{
    int64_t offset = 0;
    for (int d = g->batch_rank - 1; d >= 0; --d) {
        offset += item % g->batch[d] * operand->batch[d];
        item /= g->batch[d];
    }
    return offset;
}

/* The offset of the operand's element for the first query and the first key of a block. */
static int64_t corner_of(
    const adzi_attention_args *g, const adzi_attention_operand *operand, const block *at)
{
    return start_of(g, operand, at->item) + at->i * operand->row + at->j * operand->column;
}

/* Bit c of bits[r] is 1 if dropout keeps the probability of key j + c for query i + r. The bits
 * come from the mask `kept`, or from Philox at a counter that the position gives: the
 * backward draws the bits of the forward again instead of keeping them. */
static void kept_bits(uint64_t *bits, const adzi_attention_args *g, const block *at)
{
    if (g->kept.data != NULL) {
        const unsigned char *kept =
            (const unsigned char *)g->kept.data + corner_of(g, &g->kept, at);
        for (int64_t r = 0; r < at->queries; ++r) {
            bits[r] = 0;
            for (int64_t c = 0; c < at->keys; ++c) {
                bits[r] |= (uint64_t)(kept[r * g->kept.row + c * g->kept.column] != 0) << c;
            }
        }
        return;
    }
    adzi_keep_rule keep = adzi_keep_rule_of(g->keep, 1);
    const adzi_philox_keys keys = adzi_philox_keys_of(g->state->seed);
    for (int64_t r = 0; r < at->queries; ++r) {
        uint32_t words[1][4][ADZI_PHILOX_GROUP];
        int64_t group = ((at->item * g->l + at->i + r) * g->row_words + at->j) / ADZI_GROUP_WORDS;
        uint64_t counter = adzi_keep_counter(g->state->offset, group);
        adzi_philox_groups(words, 1, &keys, counter);
        bits[r] = keep.value > 0 ? adzi_keep_bits(words[0][0], g->state->seed, counter, keep.last,
                                       (int)(group % 2))
                                 : 0;
    }
}

/* The number of the next task that no worker has taken. */
static int64_t next_task(const adzi_attention_args *g)
{
    return atomic_fetch_add_explicit(g->next_task, 1, memory_order_relaxed);
}

#endif
