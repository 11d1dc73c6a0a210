/* Making texts from texts, with the ranges that their bytes stand for. */
#include "text.h"

void adzi_tok_make(adzi_tok_making *m, const adzi_tok_text *of)
{
    m->of = of;
    m->at = 0;
    m->bytes.size = 0;
    m->failed = !adzi_tok_reserve(&m->bytes.at, &m->bytes.capacity, of->size + 1, 1);
}

void adzi_tok_skip(adzi_tok_making *m, size_t n)
{
    for (; n > 0 && m->at < m->of->size; --n) {
        m->at += adzi_tok_bytes_of(m->of->bytes[m->at]);
    }
}

/* Makes room for n bytes more. */
static bool reserve(adzi_tok_making *m, size_t n)
{
    const size_t need = m->bytes.size + n;
    m->failed = m->failed || !adzi_tok_reserve(&m->bytes.at, &m->bytes.capacity, need, 1) ||
                (m->aligned && !adzi_tok_reserve(&m->spans, &m->room, need, sizeof *m->spans));
    return !m->failed;
}

/* The range that an inserted or replacing character stands for. */
static adzi_tok_span range_of(const adzi_tok_making *m, bool inserted)
{
    if (m->at == 0 && inserted) {
        return (adzi_tok_span){ m->of->base, m->of->base };
    }
    const bool before = inserted || m->at >= m->of->size;
    return adzi_tok_span_at(m->of, before ? m->at - 1 : m->at);
}

void adzi_tok_put(adzi_tok_making *m, uint32_t point, int change)
{
    if (!reserve(m, 4)) {
        return;
    }
    const size_t n = adz_utf8_write(point, m->bytes.at + m->bytes.size, 4);
    if (m->aligned) {
        const adzi_tok_span span = range_of(m, change > 0);
        for (size_t i = 0; i < n; ++i) {
            m->spans[m->bytes.size + i] = span;
        }
    }
    m->bytes.size += n;
    if (change <= 0) {
        adzi_tok_skip(m, 1 + (size_t)-change);
    }
}

void adzi_tok_copy(adzi_tok_making *m, size_t n)
{
    if (!reserve(m, n)) {
        return;
    }
    memcpy(m->bytes.at + m->bytes.size, m->of->bytes + m->at, n);
    for (size_t i = 0; m->aligned && i < n; ++i) {
        m->spans[m->bytes.size + i] = adzi_tok_span_at(m->of, m->at + i);
    }
    m->bytes.size += n;
    m->at += n;
}

adzi_tok_text adzi_tok_made(const adzi_tok_making *m)
{
    return (adzi_tok_text){ m->failed ? NULL : m->bytes.at, m->bytes.size,
        m->aligned ? m->spans : NULL, m->of->base };
}

void adzi_tok_making_free(adzi_tok_making *m)
{
    adzi_tok_free(m->bytes.at);
    adzi_tok_free(m->spans);
    *m = (adzi_tok_making){ 0 };
}
