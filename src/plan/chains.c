/* Neighbouring elementwise launches that a replay computes block by block.
 *
 * Note [Chains of elementwise launches]
 * An elementwise launch of many elements reads and writes more than the processor's first caches
 * hold. If the next launch is elementwise, too, and has the same elements, a block of some thousand
 * elements goes through both before the next block does: what the first launch has written is still
 * in the cache. No result changes, because element i of a launch depends on element i of its
 * operands only.
 *
 * A fill of few elements between two such launches, such as the 1 of 1 - y, runs before the chain.
 *
 * This is right if no launch of the chain writes what another one reads or writes at another
 * element. For each pair of operands of two launches, one of them written, either the memory is
 * disjoint, or both begin at the same address and have elements of one size and in the output's
 * order. Other operands, such as a row that is broadcast, have to be disjoint from all that is
 * written. */
#include <string.h>

#include "plan/replay.h"
#include "tensor/kernel/pointwise.h"

enum {
    LONGEST = 16,        /* launches of a chain */
    LEAST_BYTES = 16384, /* of a result; smaller launches stay in the cache anyway */
    BLOCK_BYTES = 8192,  /* of an operand in a block */
    OPERANDS = ADZI_POINTWISE_INPUTS + 2 /* the output, the inputs and the factor */
};

/* The memory of an operand. */
typedef struct {
    const char *begin, *end;
    uint8_t item; /* bytes of an element, if element i belongs to unit i; else 0 */
    bool written;
} operand;

typedef struct {
    operand all[OPERANDS * LONGEST];
    int n;
} operands;

/* The operand of a launch with these strides, whose elements may be in any order. */
static operand strided(
    const adzi_pointwise_args *args, const char *data, const int64_t *strides, uint8_t item)
{
    operand o = { data, data + item, adzi_operand_is_contiguous(args, strides) ? item : 0, false };
    for (int d = 0; d < args->rank; ++d) {
        const int64_t far = (args->sizes[d] - 1) * strides[d] * item;
        o.begin += far < 0 ? far : 0;
        o.end += far > 0 ? far : 0;
    }
    return o;
}

/* Adds the operand of a fill. False if it is not contiguous. */
static bool add_filled(operands *list, const adzi_plan_launch *l)
{
    adzi_fill_args args;
    memcpy(&args, l->args, sizeof args);
    list->all[list->n++] =
        (operand){ args.out, args.out + l->units * args.size, l->items[0], true };
    return args.rank == 0;
}

/* Adds the operands of a launch. False if its output is not contiguous. */
static bool add_operands(operands *list, const adzi_plan_launch *l)
{
    if (l->fills) {
        return add_filled(list, l);
    }
    adzi_pointwise_args args;
    memcpy(&args, l->args, l->size);
    const char *data[1 + ADZI_POINTWISE_INPUTS] = { args.out };
    memcpy(data + 1, args.in, sizeof args.in);
    for (int k = 0; k <= ADZI_POINTWISE_INPUTS && l->items[k] != 0; ++k) {
        operand o = { data[k], data[k] + l->units * l->items[k], l->items[k], k == 0 };
        if (!args.flat) {
            o = strided(
                &args, data[k], k == 0 ? args.out_strides : args.in_strides[k - 1], l->items[k]);
            o.written = k == 0;
        }
        if (k == 0 && o.item == 0) {
            return false;
        }
        list->all[list->n++] = o;
    }
    if (args.factor != NULL) {
        const char *factor = args.factor;
        list->all[list->n++] = (operand){ factor, factor + sizeof(double), 0, false };
    }
    return true;
}

/* Whether two operands of two launches allow that these run in any order. */
static bool are_apart(const operand *a, const operand *b)
{
    return (!a->written && !b->written) || a->end <= b->begin || b->end <= a->begin;
}

/* Whether two operands of two launches of as many elements allow that these run block by block. */
static bool agree(const operand *a, const operand *b)
{
    return are_apart(a, b) || (a->begin == b->begin && a->item == b->item && a->item != 0);
}

/* Whether a relation holds for all operands of a chain and those of another launch. */
static bool all_are(
    bool (*relation)(const operand *, const operand *), const operands *chain, const operands *mine)
{
    for (int i = 0; i < chain->n; ++i) {
        for (int k = 0; k < mine->n; ++k) {
            if (!relation(&chain->all[i], &mine->all[k])) {
                return false;
            }
        }
    }
    return true;
}

/* Whether a launch may be part of a chain. */
static bool suits(const adzi_plan_launch *l)
{
    return l->items[0] != 0 && l->units * l->items[0] >= LEAST_BYTES;
}

/* Adds the launch behind a chain to it, if all launches then run block by block. */
static bool extend(adzi_plan_launch *first, operands *chain)
{
    const adzi_plan_launch *l = first + first->chain;
    operands mine = { .n = 0 };
    if (!suits(l) || l->units != first->units || !add_operands(&mine, l) ||
        !all_are(agree, chain, &mine)) {
        return false;
    }
    memcpy(chain->all + chain->n, mine.all, (size_t)mine.n * sizeof *mine.all);
    chain->n += mine.n;
    ++first->chain;
    return true;
}

/* Moves the fill behind a chain before it, if its few elements are none of the chain's so far, and
 * if the launch behind it then joins the chain. Returns whether it did. */
static bool step_over_fill(adzi_plan_launch *first, operands *chain)
{
    const adzi_plan_launch fill = first[first->chain];
    operands filled = { .n = 0 };
    if (!fill.fills || suits(&fill) || !add_filled(&filled, &fill) ||
        !all_are(are_apart, chain, &filled)) {
        return false;
    }
    const size_t before = first->chain;
    memmove(first + 1, first, before * sizeof *first);
    first[0] = fill;
    first[0].chain = 1;
    if (extend(first + 1, chain)) {
        return true;
    }
    memmove(first, first + 1, before * sizeof *first);
    first[before] = fill;
    return false;
}

/* Finds the chains among the launches from `first` on. */
static void find_chains(adzi_plan_launch *first, const adzi_plan_launch *end)
{
    for (; first < end; first += first->chain) {
        operands chain = { .n = 0 };
        first->chain = 0;
        if (!extend(first, &chain)) {
            first->chain = 1;
            continue;
        }
        while (first->chain < LONGEST && first + first->chain < end) {
            if (extend(first, &chain)) {
                continue;
            }
            if (first + first->chain + 1 >= end || !step_over_fill(first, &chain)) {
                break;
            }
            ++first; /* behind the fill */
        }
    }
}

/* Loops have no chains, because addresses move in them. */
void adzi_plan_find_chains(adzi_captured_call *call)
{
    size_t begin = 0;
    for (size_t i = 0; i <= call->n_loops && call->n_launches > 0; ++i) {
        const adzi_plan_loop *loop = i < call->n_loops ? &call->loops[i] : NULL;
        find_chains(call->launches + begin,
            call->launches + (loop != NULL ? loop->first : call->n_launches));
        begin = loop != NULL ? loop->first + loop->length : begin;
    }
}

/* A kernel: the elements begin .. end-1 of all launches of the chain that `block` begins. */
static void run_blocks(const void *block, int64_t begin, int64_t end)
{
    const adzi_plan_launch *first = block;
    const int64_t length = BLOCK_BYTES / first->items[0];
    for (int64_t at = begin; at < end; at += length) {
        const int64_t to = at + length < end ? at + length : end;
        for (size_t i = 0; i < first->chain; ++i) {
            first[i].kernel(first[i].args, at, to);
        }
    }
}

void adzi_plan_run_chain(const adzi_plan_launch *first)
{
    adzi_launch_sized(
        run_blocks, first, sizeof *first, first->units, first->grain / (int64_t)first->chain);
}
