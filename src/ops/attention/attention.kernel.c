/* Kernels of scaled dot product attention; see Note [Attention in blocks] in attention.kernel.h.
 *
 *     S = scale Q K^T + mask,   P = softmax(S) along the keys,   Y = drop(P) V
 *
 *     dV = drop(P)^T dY,   dP = drop(dY V^T),   dS = P (dP - delta),   delta_i = sum_c dY_ic Y_ic
 *     dQ = scale dS K,   dK = scale dS^T Q,   dmask = dS
 *
 * Shapes of one item of the batch: Q[L, E], K[S, E], V[S, Ev], Y[L, Ev]. S and P [L, S] never exist
 * as a whole. drop() zeroes elements with probability 1 - keep and divides the others by keep.
 *
 * A unit is a worker with its own scratch memory. Workers take tasks off a common counter. A
 * task of the forward is up to 256 queries of one item, against all keys in blocks of 64. A task of
 * the backward is one item: its blocks of keys in order, and for each of them all blocks of
 * queries. Blocks of scores are [64, 64], 16 KiB in f32. Products run in packed rows whose length
 * is padded to 16 elements, so that micro-kernels see whole vectors.
 *
 * In both directions the outer loop runs over blocks of keys and the inner loop over blocks of
 * queries. A block of V, and in the backward of K, is packed once and meets all queries of the
 * task that see it. The forward stores scores as keys by queries, so that the online softmax of 64
 * queries runs in vectors. The backward stores them as queries by keys, because its three numbers
 * per query are constants of a row.
 *
 * One task computes an element of a result from beginning to end, block after block in a fixed
 * order. The bits therefore depend on the shapes, never on the number of workers. */
#ifndef elem
#define THIS_FILE "ops/attention/attention.kernel.c"
#include <string.h>

#include "ops/attention/attention_blocks.kernel.h"
#include "ops/slices.h"
#include "tensor/kernel/vmath.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#include "tensor/kernel/each_float.h"
#else
#include "tensor/kernel/vector.h"

#include "tensor/gemm/gemm_tiles.kernel.h"
#include "tensor/kernel/transpose.kernel.h"

#include "ops/attention/attention_pack.kernel.h"

/* ---- forward --------------------------------------------------------------------------------- */

/* Applies the causal mask and the user's mask to scores[keys, BLOCK]; column r belongs to query i +
 * r. A hidden score becomes -inf, whose exponential is 0. A bool mask hides where it is false; any
 * other mask is added. Key j + c is hidden from the queries before j + c - (S - L). */
static void KERNEL(hide_columns)(elem *scores, const adzi_attention_args *g, const block *at)
{
    const elem none = -(elem)INFINITY;
    for (int64_t c = 0; g->causal && c < at->keys; ++c) {
        int64_t blind = at->j + c - (g->s - g->l) - at->i; /* queries that may not see the key */
        for (int64_t r = 0; r < blind && r < at->queries; ++r) {
            scores[c * BLOCK + r] = none;
        }
    }
    if (g->mask.data == NULL) {
        return;
    }
    int64_t corner = corner_of(g, &g->mask, at), down = g->mask.row;
    for (int64_t c = 0; c < at->keys; ++c) {
        elem *column = scores + c * BLOCK;
        if (g->mask_is_bool) {
            const unsigned char *mask =
                (const unsigned char *)g->mask.data + corner + c * g->mask.column;
            for (int64_t r = 0; r < at->queries; ++r) {
                column[r] = mask[r * down] ? column[r] : none;
            }
        } else {
            const elem *mask = (const elem *)g->mask.data + corner + c * g->mask.column;
            for (int64_t r = 0; r < at->queries; ++r) {
                column[r] += mask[r * down];
            }
        }
    }
}

/* One step of the online softmax, for `width` queries, a query per column.
 *
 *     m' = max(m, scores),   scores = e^(scores - m'),   sum = sum e^(m - m') + column sums
 *
 * `most` holds m. factor = e^(m - m') is returned, because the results of earlier blocks have to be
 * multiplied by it too. A query all of whose keys were hidden so far keeps m = -inf. Then 0 stands
 * for its maximum, because -inf minus -inf is NaN. The maximum passes over a NaN score, but its
 * exponential makes the sum NaN. A block's sum is taken in elem, sums of blocks in f64. Loops run
 * across the queries, which are independent and contiguous. */
INLINE void KERNEL(exponentials)(elem *restrict scores, int64_t keys, const int64_t width,
    elem *restrict most, double *restrict sum, elem *restrict factor)
{
    elem now[BLOCK], base[BLOCK], part[BLOCK]; /* m', m' or 0 for -inf, sums of the block */
    for (int64_t r = 0; r < width; ++r) {
        now[r] = most[r];
        part[r] = ELEM(0);
    }
    for (int64_t c = 0; c < keys; ++c) {
        const elem *restrict x = scores + c * BLOCK;
        for (int64_t r = 0; r < width; ++r) {
            now[r] = x[r] > now[r] ? x[r] : now[r];
        }
    }
    for (int64_t r = 0; r < width; ++r) {
        base[r] = now[r] == -(elem)INFINITY ? ELEM(0) : now[r];
        factor[r] = VMATH(exp_nonpositive)(most[r] - base[r]);
        most[r] = now[r];
    }
    for (int64_t c = 0; c < keys; ++c) {
        elem *restrict x = scores + c * BLOCK;
        for (int64_t r = 0; r < width; ++r) {
            elem e = VMATH(exp_nonpositive)(x[r] - base[r]);
            x[r] = e;
            part[r] += e;
        }
    }
    for (int64_t r = 0; r < width; ++r) {
        sum[r] = sum[r] * (double)factor[r] + (double)part[r];
    }
}

/* Multiplies p[keys, BLOCK] by 1 / keep where dropout keeps an element, and by 0 elsewhere. The
 * sums of the softmax are taken before, so that probabilities are normalised without dropout. The
 * 64 bits of a query are split in two words, since 32-bit comparisons vectorise better. The loop
 * covers all 64 columns; those without a query are not read afterwards. */
static void KERNEL(drop_columns)(elem *p, const adzi_attention_args *g, const block *at)
{
    uint64_t bits[BLOCK] = { 0 };
    uint32_t half[2][BLOCK];
    elem scale = g->keep > 0 ? (elem)(1 / g->keep) : ELEM(0);
    kept_bits(bits, g, at);
    for (int r = 0; r < BLOCK; ++r) {
        half[0][r] = (uint32_t)bits[r];
        half[1][r] = (uint32_t)(bits[r] >> 32);
    }
    for (int64_t c = 0; c < at->keys; ++c) {
        const uint32_t *word = half[c / 32], bit = (uint32_t)1 << c % 32;
        elem *restrict column = p + c * BLOCK;
        for (int64_t r = 0; r < BLOCK; ++r) {
            column[r] *= word[r] & bit ? scale : ELEM(0);
        }
    }
}

/* Scratch memory of a worker in the forward, and the state of the online softmax. */
typedef struct KERNEL(forward) {
    elem *q;           /* [GROUP / BLOCK][E, BLOCK]: transposed blocks of scale * Q */
    elem *y;           /* [GROUP, padded(Ev)]: sums of e^(score - most) * V */
    elem *v;           /* [BLOCK, padded(Ev)]: the block of V, packed */
    elem *scores;      /* [BLOCK, BLOCK]: keys by queries */
    elem most[GROUP];  /* the largest score of each query so far */
    double sum[GROUP]; /* of e^(score - most) */
} KERNEL(forward);

/* One block: scores = K Q^T, masks, online softmax, dropout, and y = factor * y + scores^T V.
 * `first` is the block's first query, counted from the first query of the task. The case of 64
 * columns is a separate call, so that the loops have a constant length. A factor of 1, from a
 * maximum that has not changed, leaves the row of y alone. */
static void KERNEL(attend_block)(const adzi_attention_args *g, KERNEL(forward) * f, const block *at,
    int64_t first, const elem *k, const elem *v, int64_t v_row)
{
    elem factor[BLOCK];
    int64_t width = adzi_attention_padded(at->queries), ld = adzi_attention_padded(g->ev);
    MULTIPLY({ k + at->j * g->k.row, g->k.row, 1 },
        { f->q + first / BLOCK * BLOCK * g->e + first % BLOCK, BLOCK }, { f->scores, BLOCK },
        { at->keys, width, g->e }, false);
    KERNEL(hide_columns)(f->scores, g, at);
    if (width == BLOCK) { /* the usual case */
        KERNEL(exponentials)(f->scores, at->keys, BLOCK, f->most + first, f->sum + first, factor);
    } else {
        KERNEL(exponentials)(f->scores, at->keys, width, f->most + first, f->sum + first, factor);
    }
    if (g->drops) {
        KERNEL(drop_columns)(f->scores, g, at);
    }
    elem *y = f->y + first * ld;
    for (int64_t r = 0; r < at->queries; ++r) {
        for (int64_t c = 0; c < ld && factor[r] != ELEM(1); ++c) {
            y[r * ld + c] *= factor[r];
        }
    }
    MULTIPLY({ f->scores, 1, BLOCK }, { v, v_row }, { y, ld }, { at->queries, ld, at->keys }, true);
}

/* Writes y divided by the sum of each query. A query that sees no key has sum 0 and result 0. For
 * the backward, `stats` receives the maximum and the reciprocal of the sum. A maximum of -inf is
 * saved as 0: the backward subtracts it from scores of -inf, which would give NaN. */
static void KERNEL(finish)(const adzi_attention_args *g, const KERNEL(forward) * f, int64_t item,
    int64_t from, int64_t queries)
{
    elem *stats = g->stats != NULL ? (elem *)g->stats + item * 2 * g->l + from : NULL;
    elem *y = KERNEL(item_of)(g, &g->y, item) + from * g->y.row;
    int64_t ld = adzi_attention_padded(g->ev);
    for (int64_t r = 0; r < queries; ++r) {
        elem inverse = f->sum[r] == 0 ? ELEM(0) : (elem)(1 / f->sum[r]);
        KERNEL(unpack)(y + r * g->y.row, g->y.row, f->y + r * ld, 1, g->ev, inverse);
        if (stats != NULL) {
            stats[r] = f->most[r] == -(elem)INFINITY ? ELEM(0) : f->most[r];
            stats[g->l + r] = inverse;
        }
    }
}

/* A task of the forward: queries from .. from + queries - 1 of an item, against all keys that the
 * last of them sees. A block of queries never crosses a multiple of 64, because Q is packed in
 * transposed blocks of 64. With E = Ev = 64 in f32 the scratch memory takes 160 KiB. */
static void KERNEL(attend)(
    const adzi_attention_args *g, KERNEL(forward) * f, int64_t item, int64_t from, int64_t queries)
{
    const elem *q = KERNEL(item_of)(g, &g->q, item) + from * g->q.row,
               *k = KERNEL(item_of)(g, &g->k, item);
    const elem *v = KERNEL(item_of)(g, &g->v, item);
    int64_t ld = adzi_attention_padded(g->ev), last = seen(g, from + queries - 1);
    for (int64_t r = 0; r < queries; r += BLOCK) {
        KERNEL(pack_transposed)
        (f->q + r * g->e, q + r * g->q.row, g->q.row, least(BLOCK, queries - r), g->e,
            (elem)g->scale);
    }
    memset(f->y, 0, (size_t)(queries * ld) * sizeof(elem));
    for (int64_t r = 0; r < GROUP; ++r) {
        f->most[r] = -(elem)INFINITY;
        f->sum[r] = 0;
    }
    /* A block on the diagonal of the causal mask has 32 queries (block_at), so at.queries
     * varies. */
    for (int64_t j = 0; j < last; j += BLOCK) {
        KERNEL(pack)(f->v, v + j * g->v.row, g->v.row, least(BLOCK, last - j), g->ev, ELEM(1));
        block at = { .queries = 0 };
        for (int64_t r = 0; r < queries; r += at.queries) {
            at = block_at(g, item, from + r, j, least(BLOCK - r % BLOCK, queries - r));
            if (at.keys > 0) { /* some query sees a key */
                KERNEL(attend_block)(g, f, &at, r, k, f->v, ld);
            }
        }
    }
    KERNEL(finish)(g, f, item, from, queries);
}

/* The forward. A unit is a worker; its scratch memory holds q, y, v and scores one after another.
 * Task t is the group of queries t / batch_size of item t % batch_size. */
void KERNEL(attention)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_attention_args *g = opaque;
    int64_t ld = adzi_attention_padded(g->ev);
    for (int64_t worker = begin; worker < end; ++worker) {
        KERNEL(forward) f = { .q = (elem *)(void *)(g->scratch + worker * g->scratch_size) };
        f.y = f.q + GROUP * g->e;
        f.v = f.y + GROUP * ld;
        f.scores = f.v + BLOCK * ld;
        for (int64_t task = next_task(g); task < g->tasks; task = next_task(g)) {
            int64_t from = task / g->batch_size * GROUP; /* the first query of the task */
            KERNEL(attend)(g, &f, task % g->batch_size, from, least(GROUP, g->l - from));
        }
    }
}

/* ---- backward -------------------------------------------------------------------------------- */

/* Scratch memory of a worker in the backward. */
typedef struct KERNEL(backward) {
    elem *q, *dq;               /* [L, padded(E)]; q scaled */
    elem *dy;                   /* [L, padded(Ev)] */
    elem *delta;                /* [L]: sum over c of dy_c y_c */
    elem *k, *dk, *dv;          /* [BLOCK, padded(E or Ev)] */
    elem *k_transposed;         /* [E, BLOCK] */
    elem *v_transposed;         /* [Ev, BLOCK] */
    elem *p, *ds;               /* [BLOCK, BLOCK]: queries by keys; probabilities, dS */
    const elem *most, *inverse; /* [L]: maxima and 1 / sums, from the forward */
} KERNEL(backward);

/* Applies the masks to the scores of query i + r, a key per column. `corner` is the offset of the
 * block in the mask. With a causal mask the query sees the keys before `visible` only. */
INLINE void KERNEL(hide_row)(
    elem *restrict scores, const adzi_attention_args *g, const block *at, int64_t r, int64_t corner)
{
    const elem none = -(elem)INFINITY;
    int64_t visible = seen(g, at->i + r) - at->j, step = g->mask.column;
    for (int64_t c = visible < 0 ? 0 : visible; c < at->keys; ++c) {
        scores[c] = none;
    }
    if (g->mask.data == NULL) {
        return;
    }
    corner += r * g->mask.row;
    if (g->mask_is_bool) {
        const unsigned char *mask = (const unsigned char *)g->mask.data + corner;
        for (int64_t c = 0; c < at->keys; ++c) {
            scores[c] = mask[c * step] ? scores[c] : none;
        }
    } else {
        const elem *mask = (const elem *)g->mask.data + corner;
        for (int64_t c = 0; c < at->keys; ++c) {
            scores[c] += mask[c * step];
        }
    }
}

/* One query of a block without dropout. On entry p holds the scores and ds holds dP. On return p
 * holds the probabilities e^(score - most) * inverse, and ds holds dS = P (dP - delta). Both rows
 * are read and written in a single pass. A hidden score of -inf gives P = 0 and therefore dS =
 * 0. */
INLINE void KERNEL(gradient_row)(
    elem *restrict p, elem *restrict ds, const int64_t width, elem most, elem inverse, elem delta)
{
    for (int64_t c = 0; c < width; ++c) {
        elem e = VMATH(exp_nonpositive)(p[c] - most) * inverse;
        p[c] = e;
        ds[c] = e * (ds[c] - delta);
    }
}

/* One query of a block with dropout; always BLOCK columns. On entry p holds the scores and ds holds
 * dY V^T. On return p holds drop(P), which is multiplied into dV, and ds holds
 * P (drop(dY V^T) - delta). */
static void KERNEL(gradient_row_dropped)(elem *restrict p, elem *restrict ds, uint64_t bits,
    elem scale, elem most, elem inverse, elem delta)
{
    const uint32_t half[2] = { (uint32_t)bits, (uint32_t)(bits >> 32) };
    for (int h = 0; h < 2; ++h) {
        for (int c = 0; c < 32; ++c) {
            elem kept = half[h] & (uint32_t)1 << c ? scale : ELEM(0);
            elem e = VMATH(exp_nonpositive)(p[h * 32 + c] - most) * inverse;
            p[h * 32 + c] = e * kept;
            ds[h * 32 + c] = e * (ds[h * 32 + c] * kept - delta);
        }
    }
}

/* All queries of a block: masks, P and dS. dS is also the gradient of a mask that is added. Columns
 * after the keys, up to the padded width, are not read by later products. */
static void KERNEL(gradient_rows)(
    const adzi_attention_args *g, const KERNEL(backward) * b, const block *at)
{
    int64_t corner = g->mask.data != NULL ? corner_of(g, &g->mask, at) : 0;
    int64_t width = adzi_attention_padded(at->keys);
    uint64_t bits[BLOCK];
    elem scale = g->keep > 0 ? (elem)(1 / g->keep) : ELEM(0);
    if (g->drops) {
        kept_bits(bits, g, at);
    }
    for (int64_t r = 0; r < at->queries; ++r) {
        elem *p = b->p + r * BLOCK, *ds = b->ds + r * BLOCK; /* scores, dP */
        elem most = b->most[at->i + r], inverse = b->inverse[at->i + r],
             delta = b->delta[at->i + r];
        KERNEL(hide_row)(p, g, at, r, corner);
        if (g->drops) {
            for (int64_t c = width; c < BLOCK;
                 ++c) { /* gradient_row_dropped computes all columns; these are not read */
                p[c] = -(elem)INFINITY;
                ds[c] = 0;
            }
            KERNEL(gradient_row_dropped)(p, ds, bits[r], scale, most, inverse, delta);
        } else if (width == BLOCK) { /* the usual case, of constant length */
            KERNEL(gradient_row)(p, ds, BLOCK, most, inverse, delta);
        } else {
            KERNEL(gradient_row)(p, ds, width, most, inverse, delta);
        }
        if (g->dmask.data != NULL) {
            elem *to = (elem *)g->dmask.data + ((at->item * g->l + at->i + r) * g->s + at->j);
            memcpy(to, ds, (size_t)at->keys * sizeof(elem));
        }
    }
}

/* One block: scores and dP by products, dS from them, then its shares of dV, dK and dQ are added.
 * Only gradients that are wanted are multiplied. dV and dK sum over the queries of the block, and
 * dQ over its keys. */
static void KERNEL(back_block)(
    const adzi_attention_args *g, const KERNEL(backward) * b, const block *at)
{
    int64_t lde = adzi_attention_padded(g->e), ldv = adzi_attention_padded(g->ev);
    int64_t width = adzi_attention_padded(at->keys);
    elem *q = b->q + at->i * lde, *dy = b->dy + at->i * ldv;
    MULTIPLY({ q, lde, 1 }, { b->k_transposed, BLOCK }, { b->p, BLOCK },
        { at->queries, width, g->e }, false);
    MULTIPLY({ dy, ldv, 1 }, { b->v_transposed, BLOCK }, { b->ds, BLOCK },
        { at->queries, width, g->ev }, false);
    KERNEL(gradient_rows)(g, b, at);
    if (g->dv.data != NULL) {
        MULTIPLY(
            { b->p, 1, BLOCK }, { dy, ldv }, { b->dv, ldv }, { at->keys, ldv, at->queries }, true);
    }
    if (g->dk.data != NULL) {
        MULTIPLY(
            { b->ds, 1, BLOCK }, { q, lde }, { b->dk, lde }, { at->keys, lde, at->queries }, true);
    }
    if (g->dq.data != NULL) {
        MULTIPLY({ b->ds, BLOCK, 1 }, { b->k, lde }, { b->dq + at->i * lde, lde },
            { at->queries, lde, at->keys }, true);
    }
}

/* Keys j .. j + keys - 1 of an item, against all queries that see at least one of them. dk and dv
 * of these keys are complete at the end; dq grows from block to block. With a causal mask the
 * queries before j - (S - L) see none of the keys and are skipped. */
static void KERNEL(back_keys)(
    const adzi_attention_args *g, const KERNEL(backward) * b, int64_t item, int64_t j, int64_t keys)
{
    const elem *k = KERNEL(item_of)(g, &g->k, item) + j * g->k.row;
    const elem *v = KERNEL(item_of)(g, &g->v, item) + j * g->v.row;
    int64_t lde = adzi_attention_padded(g->e), ldv = adzi_attention_padded(g->ev);
    KERNEL(pack)(b->k, k, g->k.row, keys, g->e, ELEM(1));
    KERNEL(pack_transposed)(b->k_transposed, k, g->k.row, keys, g->e, ELEM(1));
    KERNEL(pack_transposed)(b->v_transposed, v, g->v.row, keys, g->ev, ELEM(1));
    memset(b->dk, 0, (size_t)(keys * lde) * sizeof(elem));
    memset(b->dv, 0, (size_t)(keys * ldv) * sizeof(elem));
    int64_t first = g->causal ? j - (g->s - g->l) : 0; /* the first query that sees key j */
    block at = { .queries = 0 };
    for (int64_t i = first > 0 ? first / HALF * HALF : 0; i < g->l; i += at.queries) {
        at = block_at(g, item, i, j, least(BLOCK, g->l - i));
        if (at.keys > 0) {
            KERNEL(back_block)(g, b, &at);
        }
    }
    if (g->dk.data != NULL) {
        elem *dk = KERNEL(item_of)(g, &g->dk, item) + j * g->dk.row;
        KERNEL(unpack)(dk, g->dk.row, b->dk, keys, g->e, ELEM(1));
    }
    if (g->dv.data != NULL) {
        elem *dv = KERNEL(item_of)(g, &g->dv, item) + j * g->dv.row;
        KERNEL(unpack)(dv, g->dv.row, b->dv, keys, g->ev, ELEM(1));
    }
}

/* delta[i] = sum_c dy[i, c] y[i, c], which equals sum_j P_ij dP_ij, with and without dropout. This
 * takes Ev products per query instead of S, and the backward needs no first pass over P. Sums run
 * in 16 lanes of f64, joined by halves. */
static void KERNEL(inner_products)(const adzi_attention_args *g, KERNEL(backward) * b, int64_t item)
{
    const elem *y = KERNEL(item_of)(g, &g->y, item);
    int64_t ld = adzi_attention_padded(g->ev);
    for (int64_t i = 0; i < g->l; ++i, y += g->y.row) {
        const elem *dy = b->dy + i * ld;
        double lane[16] = { 0 }; /* element c is added to lane c % 16 */
        int64_t c = 0;
        for (; c + 16 <= g->ev; c += 16) {
            for (int h = 0; h < 16; ++h) {
                lane[h] += (double)dy[c + h] * (double)y[c + h];
            }
        }
        for (int h = 0; c < g->ev; ++c, ++h) {
            lane[h] += (double)dy[c] * (double)y[c];
        }
        for (int half = 8; half > 0; half /= 2) {
            for (int h = 0; h < half; ++h) {
                lane[h] += lane[h + half];
            }
        }
        b->delta[i] = (elem)lane[0];
    }
}

/* A task of the backward: all gradients of one item. q is packed with the scale, which gives dK its
 * scale too; dq gets it at the end. dmask is cleared first, because blocks that the causal mask
 * hides are never visited. */
static void KERNEL(back_item)(const adzi_attention_args *g, KERNEL(backward) * b, int64_t item)
{
    int64_t lde = adzi_attention_padded(g->e);
    KERNEL(pack)(b->q, KERNEL(item_of)(g, &g->q, item), g->q.row, g->l, g->e, (elem)g->scale);
    KERNEL(pack)(b->dy, KERNEL(item_of)(g, &g->dy, item), g->dy.row, g->l, g->ev, ELEM(1));
    memset(b->dq, 0, (size_t)(g->l * lde) * sizeof(elem));
    b->most = (const elem *)g->stats + item * 2 * g->l;
    b->inverse = b->most + g->l; /* stats[batch_size, 2, L] */
    KERNEL(inner_products)(g, b, item);
    if (g->dmask.data != NULL) {
        memset((elem *)g->dmask.data + item * g->l * g->s, 0, (size_t)(g->l * g->s) * sizeof(elem));
    }
    for (int64_t j = 0; j < g->s; j += BLOCK) {
        KERNEL(back_keys)(g, b, item, j, least(BLOCK, g->s - j));
    }
    if (g->dq.data != NULL) {
        elem *dq = KERNEL(item_of)(g, &g->dq, item);
        KERNEL(unpack)(dq, g->dq.row, b->dq, g->l, g->e, (elem)g->scale);
    }
}

/* The backward. A unit is a worker; its scratch memory holds the arrays of KERNEL(backward). Only
 * q, dq, dy and delta grow with L; the other arrays have the size of a block. */
void KERNEL(attention_backward)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_attention_args *g = opaque;
    int64_t lde = adzi_attention_padded(g->e), ldv = adzi_attention_padded(g->ev);
    for (int64_t worker = begin; worker < end; ++worker) {
        KERNEL(backward) b = { .q = (elem *)(void *)(g->scratch + worker * g->scratch_size) };
        b.dq = b.q + g->l * lde;
        b.dy = b.dq + g->l * lde;
        b.k = b.dy + g->l * ldv;
        b.dk = b.k + BLOCK * lde;
        b.dv = b.dk + BLOCK * lde;
        b.k_transposed = b.dv + BLOCK * ldv;
        b.v_transposed = b.k_transposed + BLOCK * lde;
        b.p = b.v_transposed + BLOCK * ldv;
        b.ds = b.p + BLOCK * BLOCK;
        b.delta = b.ds + BLOCK * BLOCK;
        for (int64_t task = next_task(g); task < g->tasks; task = next_task(g)) {
            KERNEL(back_item)(g, &b, task);
        }
    }
}

#endif
