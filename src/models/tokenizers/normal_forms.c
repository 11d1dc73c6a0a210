/* Normal forms. Characters that none of their neighbours can change are copied; from the character
 * before another one on, up to the next such character, a part is decomposed, ordered and composed
 * (Unicode Standard Annex 15). */
#include "normal_forms.h"

/* A character of a decomposition. */
typedef struct part {
    uint32_t point;
    int class;
    int change; /* 0 for the first of a decomposition, 1 for the others */
} part;

/* What happens to characters on their way. */
typedef struct forming {
    adzi_tok_making *m;
    bool compose, compatible;
    part *pending; /* characters since the last starter, not in order yet */
    size_t n, room;
    part *sorted; /* for the order */
    size_t sorted_room;
    part composee; /* the starter that others may join; a class of -1 if there is none */
    part *waiting; /* characters behind the composee that did not join it */
    size_t n_waiting, waiting_room;
    int last_class; /* of the last waiting one; -1 if there is none */
} forming;

static bool add(forming *f, part **list, size_t *n, size_t *room, part p)
{
    if (!adzi_tok_reserve(list, room, *n + 1, sizeof p)) {
        f->m->failed = true;
        return false;
    }
    (*list)[(*n)++] = p;
    return true;
}

static void purge(forming *f)
{
    for (size_t i = 0; i < f->n_waiting; ++i) {
        adzi_tok_put(f->m, f->waiting[i].point, f->waiting[i].change);
    }
    f->n_waiting = 0;
    f->last_class = -1;
}

/* Takes a character in canonical order, and composes. */
static void join(forming *f, part p)
{
    if (!f->compose) {
        adzi_tok_put(f->m, p.point, p.change);
        return;
    }
    if (f->composee.class < 0) {
        if (p.class != 0) {
            adzi_tok_put(f->m, p.point, p.change);
        } else {
            f->composee = p;
        }
        return;
    }
    const bool blocked = f->last_class >= 0 && f->last_class >= p.class;
    const uint32_t joined = blocked ? 0 : adzi_tok_composed(f->composee.point, p.point);
    if (joined != 0) {
        f->composee.point = joined;
        f->composee.change += p.change - 1;
    } else if (p.class == 0) {
        adzi_tok_put(f->m, f->composee.point, f->composee.change);
        purge(f);
        f->composee = p;
    } else if (add(f, &f->waiting, &f->n_waiting, &f->waiting_room, p)) {
        f->last_class = p.class;
    }
}

enum { FEW = 24, CLASSES = 256 };

/* Orders the pending characters by class; equal classes stay in their order. */
static void order(forming *f)
{
    if (f->n <= FEW) {
        for (size_t i = 1; i < f->n; ++i) {
            const part p = f->pending[i];
            size_t k = i;
            for (; k > 0 && f->pending[k - 1].class > p.class; --k) {
                f->pending[k] = f->pending[k - 1];
            }
            f->pending[k] = p;
        }
        return;
    }
    size_t starts[CLASSES + 1] = { 0 };
    if (!adzi_tok_reserve(&f->sorted, &f->sorted_room, f->n, sizeof *f->sorted)) {
        f->m->failed = true;
        return;
    }
    for (size_t i = 0; i < f->n; ++i) {
        starts[f->pending[i].class + 1] += 1;
    }
    for (int c = 1; c <= CLASSES; ++c) {
        starts[c] += starts[c - 1];
    }
    for (size_t i = 0; i < f->n; ++i) {
        f->sorted[starts[f->pending[i].class]++] = f->pending[i];
    }
    memcpy(f->pending, f->sorted, f->n * sizeof *f->sorted);
}

/* Hands the pending characters on. */
static void flush(forming *f)
{
    order(f);
    for (size_t i = 0; i < f->n; ++i) {
        join(f, f->pending[i]);
    }
    f->n = 0;
}

/* Takes a character of a full decomposition. */
static void take(forming *f, uint32_t point, bool first)
{
    const part p = { point, adzi_tok_combining(point), first ? 0 : 1 };
    if (p.class == 0) {
        flush(f);
        join(f, p);
    } else {
        add(f, &f->pending, &f->n, &f->room, p);
    }
}

enum { S_BASE = 0xac00, S_COUNT = 11172, V_COUNT = 21, T_COUNT = 28 };

static void decompose(forming *f, uint32_t point)
{
    if (point >= S_BASE && point < S_BASE + S_COUNT) {
        const uint32_t s = point - S_BASE;
        take(f, 0x1100 + s / (V_COUNT * T_COUNT), true);
        take(f, 0x1161 + s % (V_COUNT * T_COUNT) / T_COUNT, false);
        if (s % T_COUNT > 0) {
            take(f, 0x11a7 + s % T_COUNT, false);
        }
        return;
    }
    size_t n;
    const uint32_t *points = adzi_tok_decomposed(point, f->compatible, &n);
    for (size_t i = 0; i < n; ++i) {
        take(f, points[i], i == 0);
    }
    if (n == 0) {
        take(f, point, true);
    }
}

/* The classes of characters that their neighbours or the form may change. */
static uint32_t changing(bool compose, bool compatible)
{
    const uint32_t alone = compatible ? CLASS_COMPATIBLE
                           : compose  ? CLASS_UNSTABLE
                                      : CLASS_DECOMPOSED;
    return alone | CLASS_REORDERED | (compose ? CLASS_JOINS : 0u);
}

bool adzi_tok_form_changes(const adzi_tok_text *text, bool compose, bool compatible)
{
    const uint32_t classes = changing(compose, compatible);
    size_t bytes;
    for (size_t i = 0; i < text->size; i += bytes) {
        const uint32_t point = adzi_tok_read(text->bytes + i, &bytes);
        if (point >= 0x80 && (adzi_tok_class(point) & classes) != 0) {
            return true;
        }
    }
    return false;
}

/* Forms the bytes begin .. end-1, which nothing outside can change. */
static void form_part(forming *f, size_t begin, size_t end)
{
    size_t bytes;
    f->composee.class = -1;
    f->last_class = -1;
    for (size_t i = begin; i < end; i += bytes) {
        const uint32_t point = adzi_tok_read(f->m->of->bytes + i, &bytes);
        decompose(f, point);
    }
    flush(f);
    if (f->composee.class >= 0) {
        adzi_tok_put(f->m, f->composee.point, f->composee.change);
    }
    purge(f);
    f->m->at = end;
}

void adzi_tok_form(adzi_tok_making *m, bool compose, bool compatible)
{
    const uint32_t classes = changing(compose, compatible);
    forming f = { .m = m, .compose = compose, .compatible = compatible };
    const adzi_tok_text *text = m->of;
    size_t before = 0, bytes; /* the character before the one at i begins at `before` */
    for (size_t i = 0; i < text->size;) {
        const uint32_t point = adzi_tok_read(text->bytes + i, &bytes);
        if (point < 0x80 || (adzi_tok_class(point) & classes) == 0) {
            before = i;
            i += bytes;
            continue;
        }
        const size_t begin = before < m->at ? m->at : before;
        if (begin > m->at) {
            adzi_tok_copy(m, begin - m->at);
        }
        size_t end = i + bytes;
        while (end < text->size) {
            const uint32_t next = adzi_tok_read(text->bytes + end, &bytes);
            if (next < 0x80 || (adzi_tok_class(next) & classes) == 0) {
                break;
            }
            end += bytes;
        }
        form_part(&f, begin, end);
        before = i = end;
    }
    if (m->at < text->size) {
        adzi_tok_copy(m, text->size - m->at);
    }
    adzi_tok_free(f.pending);
    adzi_tok_free(f.sorted);
    adzi_tok_free(f.waiting);
}
