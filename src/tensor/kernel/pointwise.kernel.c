/* The walk that all elementwise kernels share: strided and broadcast operands are copied to
 * buffers, so that a kernel's loop sees contiguous elements only. See Note [One loop per kernel] in
 * pointwise.kernel.h.
 *
 * A unit is one element of the output in row-major order. The elements of a call are cut into
 * chunks of at most 512 (ADZI_CHUNK), whose buffers, 4 KiB per operand, stay in first-level cache.
 * An operand that is contiguous is used in place. An operand that repeats within a chunk, such as a
 * bias row or a number, is copied once, and every chunk reads the same buffer. If rows are 512
 * elements or longer, chunks end with rows, so that operands with contiguous rows need no copy at
 * all. */
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/strided.h"

/** How a kernel cuts the elements of a strided call. Bit k of a set stands for operand k. */
typedef struct chunks {
    const adzi_pointwise_args *args;
    bool rows;        /* rows have 512 elements or more; a chunk ends where its row ends */
    bool whole;       /* `rows` is true and all operands are contiguous within a row */
    bool out;         /* the output is contiguous */
    unsigned in;      /* the set of contiguous inputs */
    unsigned fixed;   /* the set of inputs of which every chunk reads the same elements */
    unsigned numbers; /* the set of inputs in `fixed` that have one element */
    int64_t length;   /* the elements of a chunk */
} chunks;

/* Memory for a chunk of one operand. It is one cache line longer than a power of two. Element i of
 * different operands then has different low 12 address bits; processors take equal ones for the
 * same address. */
typedef struct buffer {
    uint64_t items[ADZI_CHUNK + 8];
} buffer;

/* The number of elements after which an operand that is broadcast over the first dimensions
 * repeats. */
static int64_t period_of(const adzi_pointwise_args *a, const int64_t *strides)
{
    int64_t period = 1;
    int d = 0;
    while (d < a->rank && strides[d] == 0) {
        ++d;
    }
    for (; d < a->rank; ++d) {
        period *= a->sizes[d];
    }
    return period;
}

/* Decides how to cut a call: which operands are contiguous, which repeat, and how long a chunk is.
 */
static chunks chunks_of(const adzi_pointwise_args *a, int n_in)
{
    const int inner = a->rank - 1;
    chunks c = { .args = a, .rows = a->sizes[inner] >= ADZI_CHUNK };
    int64_t longest = 1;
    c.whole = c.rows && a->out_strides[inner] == 1;
    c.out = adzi_operand_is_contiguous(a, a->out_strides);
    for (int k = 0; k < n_in; ++k) {
        c.whole = c.whole && a->in_strides[k][inner] == 1;
        if (adzi_operand_is_contiguous(a, a->in_strides[k])) {
            c.in |= 1u << k;
            continue;
        }
        int64_t period = period_of(a, a->in_strides[k]);
        if (period <= (c.rows ? 1 : ADZI_CHUNK)) {
            c.fixed |= 1u << k;
            c.numbers |= (unsigned)(period == 1) << k;
            longest = period > longest ? period : longest; /* every period divides the longest */
        }
    }
    c.length = ADZI_CHUNK / longest * longest;
    return c;
}

/* The length of the chunk that begins at element i. */
static int64_t chunk_length(const chunks *c, int64_t i, int64_t end)
{
    int64_t n = end - i, most = c->length;
    if (c->rows) {
        int64_t row = c->args->sizes[c->args->rank - 1], left = row - i % row;
        most = c->whole || left < most ? left : most;
    }
    return n < most ? n : most;
}

/* Fills the buffer of operand k, if every chunk reads the same elements of it, from element i on.
 */
static void fill(const chunks *c, int k, int64_t i, int64_t end, size_t item, buffer *to)
{
    const adzi_pointwise_args *a = c->args;
    const int64_t n = end - i < c->length ? end - i : c->length;
    if (c->numbers >> k & 1) {
        ADZI_SPLAT(to, a->in[k], item, n);
    } else if (c->fixed >> k & 1) {
        ADZI_GATHER(to, a->in[k], item, i, n, a->rank, a->sizes, a->in_strides[k]);
    }
}

/* Elements i .. i+n-1 of operand k: in their own memory, or copied to the buffer. */
static const void *input(const chunks *c, int k, int64_t i, int64_t n, size_t item, buffer *to)
{
    const adzi_pointwise_args *a = c->args;
    if (c->fixed >> k & 1) {
        return to;
    }
    if (c->in >> k & 1) {
        return a->in[k] + i * (int64_t)item;
    }
    if (c->rows && a->in_strides[k][a->rank - 1] == 1) {
        return a->in[k] +
               adzi_strided_offset(i, a->rank, a->sizes, a->in_strides[k]) * (int64_t)item;
    }
    ADZI_GATHER(to, a->in[k], item, i, n, a->rank, a->sizes, a->in_strides[k]);
    return to;
}

/* Where elements i .. i+n-1 of the output are written: to their own memory, or to the buffer. */
static void *output(const chunks *c, int64_t i, size_t item, buffer *to)
{
    const adzi_pointwise_args *a = c->args;
    if (c->out) {
        return a->out + i * (int64_t)item;
    }
    if (c->rows && a->out_strides[a->rank - 1] == 1) {
        return a->out + adzi_strided_offset(i, a->rank, a->sizes, a->out_strides) * (int64_t)item;
    }
    return to;
}

/* Elements begin .. end - 1 of a call that is not flat, chunk by chunk. */
static void run_chunks(const adzi_pointwise_args *a, int64_t begin, int64_t end,
    adzi_pointwise_loop *loop, const size_t *item, int n_in, size_t out_item)
{
    const chunks c = chunks_of(a, n_in);
    buffer y_buffer, in_buffers[ADZI_POINTWISE_INPUTS];
    const void *in[ADZI_POINTWISE_INPUTS];
    for (int k = 0; k < n_in; ++k) {
        fill(&c, k, begin, end, item[k], &in_buffers[k]);
    }
    for (int64_t i = begin, n; i < end; i += n) {
        n = chunk_length(&c, i, end);
        void *y = output(&c, i, out_item, &y_buffer);
        for (int k = 0; k < n_in; ++k) {
            in[k] = input(&c, k, i, n, item[k], &in_buffers[k]);
        }
        loop(y, in, n, a->p);
        if (y == &y_buffer) {
            ADZI_SCATTER(a->out, y, out_item, i, n, a->rank, a->sizes, a->out_strides);
        }
    }
}

/* Whether an operand with these strides is one element, which is broadcast. */
static bool is_number(const adzi_pointwise_args *a, const int64_t *strides)
{
    int d = 0;
    while (d < a->rank && strides[d] == 0) {
        ++d;
    }
    return d == a->rank;
}

/* The first n elements, a chunk at most, of a call that is not flat. For so few, deciding how to
 * cut the call (chunks_of) would cost more than the loop. */
static void run_few(const adzi_pointwise_args *a, int64_t n, adzi_pointwise_loop *loop,
    const size_t *item, int n_in, size_t out_item)
{
    buffer y_buffer, in_buffers[ADZI_POINTWISE_INPUTS];
    const void *in[ADZI_POINTWISE_INPUTS];
    for (int k = 0; k < n_in; ++k) {
        in[k] = &in_buffers[k];
        if (adzi_operand_is_contiguous(a, a->in_strides[k])) {
            in[k] = a->in[k];
        } else if (is_number(a, a->in_strides[k])) {
            ADZI_SPLAT(&in_buffers[k], a->in[k], item[k], n);
        } else {
            ADZI_GATHER(
                &in_buffers[k], a->in[k], item[k], 0, n, a->rank, a->sizes, a->in_strides[k]);
        }
    }
    if (adzi_operand_is_contiguous(a, a->out_strides)) {
        loop(a->out, in, n, a->p);
        return;
    }
    loop(&y_buffer, in, n, a->p);
    ADZI_SCATTER(a->out, &y_buffer, out_item, 0, n, a->rank, a->sizes, a->out_strides);
}

/* The entry point. A flat call, whose operands are all contiguous, is one call of the loop. */
void ADZI_POINTWISE(
    const void *block, int64_t begin, int64_t end, adzi_pointwise_loop *loop, uint32_t items)
{
    const adzi_pointwise_args *a = block;
    const size_t out_item = items & 15;
    size_t item[ADZI_POINTWISE_INPUTS];
    const void *in[ADZI_POINTWISE_INPUTS];
    int n_in = 0;
    if (begin == ADZI_POINTWISE_ASKS) {
        memcpy(a->out, &loop, sizeof loop);
        return;
    }
    for (items >>= 4; items != 0; items >>= 4, ++n_in) {
        item[n_in] = items & 15;
        in[n_in] = a->in[n_in] + begin * (int64_t)item[n_in];
    }
    if (a->flat) {
        loop(a->out + begin * (int64_t)out_item, in, end - begin, a->p);
    } else if (begin == 0 && end <= ADZI_CHUNK) {
        run_few(a, end, loop, item, n_in, out_item);
    } else {
        run_chunks(a, begin, end, loop, item, n_in, out_item);
    }
}
