/* Reductions over all ranks.
 *
 * Note [One tree over the ranks]
 *
 * The bits of a sum depend on the order of its additions, so the order is fixed: neighbours first,
 * then pairs of neighbours, and so on. For five ranks it is ((x0 + x1) + (x2 + x3)) + x4. In round
 * k = 1, 2, 4, ... rank r, a multiple of 2k, is joined with rank r + k if there is one.
 *
 * A large tensor is joined in slices, one per rank. A rank receives its slice from all others, adds
 * the slices along the tree, and sends the sum to all. It sends and receives (n-1)/n of the bytes
 * in each half, for any number of ranks, and no order of messages can change the sum. The tensor is
 * handled in blocks, so that the slices of all ranks need no more than PART_BYTES.
 *
 * A small tensor would be cut into tiny messages. It moves along the tree itself: each rank joins
 * its neighbour's elements and passes them on, rank 0 sends the result back down.
 */
#include <string.h>

#include "distributed/join.h"

enum {
    PART_BYTES = 4 << 20,  /* memory for the slices of all ranks */
    LEAST_SLICE = 1 << 12, /* bytes of the slice of one rank, however many ranks there are */
    SMALL_BYTES = 1 << 12  /* tensors up to this size move along the tree */
};

static size_t slice_bytes(const adz_group *group)
{
    const size_t share = PART_BYTES / (size_t)group->size / 64 * 64;
    return share > LEAST_SLICE ? share : LEAST_SLICE;
}

size_t adzi_reduction_bytes(const adz_group *group)
{
    return group->size > 1 ? slice_bytes(group) * (size_t)group->size : 0;
}

/* ---- slices --------------------------------------------------------------------------------- */

/* Where the slices of the ranks lie in the data: slice r is elements begin[r] .. begin[r+1]-1 of a
 * block (stride 0), or elements `offset` .. of row r (stride: elements of a row). */
typedef struct {
    int64_t offset, length, stride;
} cut;

static int64_t begin_of(const cut *c, int64_t rank, int64_t ranks)
{
    return c->stride > 0 ? c->offset + rank * c->stride
                         : c->offset + c->length / ranks * rank +
                               (rank < c->length % ranks ? rank : c->length % ranks);
}

static int64_t count_of(const cut *c, int64_t rank, int64_t ranks)
{
    return c->stride > 0 ? c->length : c->length / ranks + (rank < c->length % ranks ? 1 : 0);
}

/* Receives this rank's slice from all ranks, and joins the slices: the result is at r->parts. */
static adz_status collect(const adzi_reduction *r, const char *data, const cut *c)
{
    const int n = r->group->size, me = r->group->rank;
    const size_t item = adz_dtype_size(r->dtype), room = slice_bytes(r->group);
    const int64_t count = count_of(c, me, n);
    memcpy(r->parts + room * (size_t)me, data + begin_of(c, me, n) * (int64_t)item,
        (size_t)count * item);
    for (int i = 1; i < n; ++i) {
        const int to = (me + i) % n, from = (me - i + n) % n;
        const adzi_transfer t = { .to = to,
            .send = data + begin_of(c, to, n) * (int64_t)item,
            .send_bytes = (size_t)count_of(c, to, n) * item,
            .from = from,
            .receive = r->parts + room * (size_t)from,
            .receive_bytes = (size_t)count * item,
            .tag = ADZI_TAG_DATA };
        const adz_status status = adzi_transfer_bytes(r->name, r->group, &t);
        if (status != ADZ_OK) {
            return status;
        }
    }
    for (int k = 1; k < n; k *= 2) {
        for (int low = 0; low + k < n; low += 2 * k) {
            adzi_join(r->op, r->dtype, r->parts + room * (size_t)low,
                r->parts + room * (size_t)(low + k), count);
        }
    }
    adzi_join_end(r->op, r->dtype, r->parts, count, n);
    return ADZ_OK;
}

/* Sends this rank's slice of a block to all ranks, and receives theirs. */
static adz_status spread(const adzi_reduction *r, char *data, const cut *c)
{
    const int n = r->group->size, me = r->group->rank;
    const size_t item = adz_dtype_size(r->dtype);
    char *mine = data + begin_of(c, me, n) * (int64_t)item;
    memcpy(mine, r->parts, (size_t)count_of(c, me, n) * item);
    adz_status status = ADZ_OK;
    for (int i = 1; i < n && status == ADZ_OK; ++i) {
        const int from = (me - i + n) % n;
        const adzi_transfer t = { .to = (me + i) % n,
            .send = mine,
            .send_bytes = (size_t)count_of(c, me, n) * item,
            .from = from,
            .receive = data + begin_of(c, from, n) * (int64_t)item,
            .receive_bytes = (size_t)count_of(c, from, n) * item,
            .tag = ADZI_TAG_DATA };
        status = adzi_transfer_bytes(r->name, r->group, &t);
    }
    return status;
}

/* ---- small tensors -------------------------------------------------------------------------- */

static adz_status reduce_small(const adzi_reduction *r, char *data, int64_t n)
{
    const int me = r->group->rank, size = r->group->size;
    const size_t bytes = (size_t)n * adz_dtype_size(r->dtype);
    adz_status status = ADZ_OK;
    for (int k = 1; k < size && status == ADZ_OK; k *= 2) {
        const bool sends = (me & k) != 0;
        if (!sends && k >= size - me) {
            continue;
        }
        const adzi_transfer up = {
            .to = me - k, .send = data, .send_bytes = bytes, .tag = ADZI_TAG_DATA
        };
        const adzi_transfer down = {
            .from = me + k, .receive = r->parts, .receive_bytes = bytes, .tag = ADZI_TAG_DATA
        };
        status = adzi_transfer_bytes(r->name, r->group, sends ? &up : &down);
        if (sends) {
            break;
        }
        if (status == ADZ_OK) {
            adzi_join(r->op, r->dtype, data, r->parts, n);
        }
    }
    if (status == ADZ_OK && me == 0) {
        adzi_join_end(r->op, r->dtype, data, n, size);
    }
    const adzi_broadcast result = { 0, ADZI_TAG_DATA, data, bytes };
    return status == ADZ_OK ? adzi_send_down(r->name, r->group, &result) : status;
}

/* ---- all ------------------------------------------------------------------------------------ */

adz_status adzi_reduce_all(const adzi_reduction *r, void *data, int64_t n)
{
    const size_t item = adz_dtype_size(r->dtype);
    if (r->group->size == 1 || n == 0) {
        return ADZ_OK;
    }
    if ((size_t)n * item <= SMALL_BYTES) {
        return reduce_small(r, data, n);
    }
    const int64_t block = (int64_t)(slice_bytes(r->group) / item) * r->group->size;
    adz_status status = ADZ_OK;
    for (int64_t at = 0; at < n && status == ADZ_OK; at += block) {
        const cut c = { at, n - at < block ? n - at : block, 0 };
        status = collect(r, data, &c);
        if (status == ADZ_OK) {
            status = spread(r, data, &c);
        }
    }
    return status;
}

adz_status adzi_reduce_rows(const adzi_reduction *r, const void *data, void *out, int64_t n)
{
    const size_t item = adz_dtype_size(r->dtype);
    if (r->group->size == 1) {
        memcpy(out, data, (size_t)n * item);
        return ADZ_OK;
    }
    const int64_t block = (int64_t)(slice_bytes(r->group) / item);
    adz_status status = ADZ_OK;
    for (int64_t at = 0; at < n && status == ADZ_OK; at += block) {
        const cut c = { at, n - at < block ? n - at : block, n };
        status = collect(r, data, &c);
        if (status == ADZ_OK) {
            memcpy((char *)out + (size_t)at * item, r->parts, (size_t)c.length * item);
        }
    }
    return status;
}
