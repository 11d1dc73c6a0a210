/* Offsets of buffers in static memory. Two buffers may share memory if no step uses both. A result
 * that a loop writes where it has read an operand for the last time lies where the operand was. */

#include "base/alloc.h"
#include "export/c99/c99.h"

static bool live_together(const adzi_c99_memory *a, const adzi_c99_memory *b)
{
    return a->first <= b->until && b->first <= a->until;
}

/* True for a buffer that some step uses. Others need no memory. */
static bool has_offset(const adzi_c99_memory *m)
{
    return m->kind == ADZI_C99_BUFFER && m->first >= 0;
}

/* Extends the life of buffers to that of those which replace them. */
static void extend_lives(adzi_c99 *c)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        adzi_c99_memory *m = &c->memories[i];
        m->until = m->last;
        if (has_offset(m) && m->replaces >= 0) {
            const adzi_c99_memory *from = &c->memories[m->replaces];
            m->replaces = has_offset(from) && from->last == m->first ? m->replaces : -1;
        }
    }
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        for (int k = m->replaces; has_offset(m) && k >= 0; k = c->memories[k].replaces) {
            c->memories[k].until = m->last > c->memories[k].until ? m->last : c->memories[k].until;
        }
    }
}

/* The elements that a buffer takes. An empty one takes one, so that it has an address. */
static int64_t room(const adzi_c99_memory *m)
{
    return m->count > 0 ? m->count : 1;
}

/* The memories that the function uses as buffers of one arena, the largest first. */
static size_t collect(const adzi_c99 *c, int arena, int *order)
{
    size_t n = 0;
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (!has_offset(m) || m->replaces >= 0 || adzi_c99_arena(m->dtype) != arena) {
            continue;
        }
        size_t at = n++;
        for (; at > 0 && c->memories[order[at - 1]].count < m->count; --at) {
            order[at] = order[at - 1];
        }
        order[at] = (int)i;
    }
    return n;
}

/* The lowest offset at which a buffer meets no buffer that got its offset before and lives at the
 * same time. The `n` buffers before it in `order` are tried in any order until nothing moves any
 * more. */
static int64_t lowest(const adzi_c99 *c, const int *order, size_t n)
{
    const adzi_c99_memory *m = &c->memories[order[n]];
    int64_t offset = 0;
    for (bool moved = true; moved;) {
        moved = false;
        for (size_t i = 0; i < n; ++i) {
            const adzi_c99_memory *other = &c->memories[order[i]];
            if (live_together(m, other) && offset < other->offset + room(other) &&
                other->offset < offset + room(m)) {
                offset = other->offset + room(other);
                moved = true;
            }
        }
    }
    return offset;
}

void adzi_c99_assign_offsets(adzi_c99 *c)
{
    int *order = adzi_alloc((c->n_memories + 1) * sizeof *order);
    if (order == NULL) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the plan of %zu buffers", c->n_memories);
        return;
    }
    extend_lives(c);
    for (int arena = 0; arena < ADZI_C99_ARENAS; ++arena) {
        const size_t n = collect(c, arena, order);
        for (size_t i = 0; i < n; ++i) {
            adzi_c99_memory *m = &c->memories[order[i]];
            m->offset = lowest(c, order, i);
            if (m->offset + room(m) > c->arena[arena]) {
                c->arena[arena] = m->offset + room(m);
            }
        }
    }
    for (size_t i = 0; i < c->n_memories; ++i) {
        int k = (int)i;
        while (has_offset(&c->memories[i]) && c->memories[k].replaces >= 0) {
            k = c->memories[k].replaces;
        }
        c->memories[i].offset = c->memories[k].offset;
    }
    adzi_free(order, (c->n_memories + 1) * sizeof *order);
}
