/* Constants that repeat themselves are stored once.
 *
 * A function of N rows may compute something that is the same for every row, such as the tangents
 * of the first layer in the Jacobian of a law. The file then holds one row, and the values that
 * read the constant have a stride of 0 along the rows, as those of adz_expand have. */
#include <stdio.h>
#include <string.h>

#include "export/c99/program.h"

/* Whether the elements from `period` on are those from the begin on. */
static bool repeats(const adzi_c99_memory *m, int64_t period)
{
    const size_t item = adz_dtype_size(m->stored);
    return memcmp(m->data, (const char *)m->data + (size_t)period * item,
               (size_t)(m->count - period) * item) == 0;
}

/* Whether each element that a value reads can be found in the first period: a dimension leads
 * either from period to period, or stays inside one. */
static bool fits(const adzi_c99_value *v, int64_t period)
{
    int64_t last = v->offset % period;
    bool positive = true;
    for (int d = 0; d < v->rank; ++d) {
        const bool inside = v->sizes[d] > 1 && v->strides[d] % period != 0;
        positive = positive && v->strides[d] >= 0;
        last += inside ? (v->sizes[d] - 1) * v->strides[d] : 0;
    }
    return v->numel == 0 || (positive && last < period);
}

static bool all_fit(const adzi_c99 *c, int memory, int64_t period)
{
    bool good = true;
    for (size_t i = 0; i < c->n_values && good; ++i) {
        good = c->values[i].memory != memory || fits(&c->values[i], period);
    }
    return good;
}

/* The value that has the whole memory in row-major order, or NULL. */
static const adzi_c99_value *owner_of(const adzi_c99 *c, int memory)
{
    for (size_t i = 0; i < c->n_values; ++i) {
        const adzi_c99_value *v = &c->values[i];
        int64_t stride = 1;
        bool whole = v->memory == memory && v->numel == c->memories[memory].count;
        for (int d = v->rank - 1; d >= 0 && whole; --d) {
            whole = v->sizes[d] <= 1 || v->strides[d] == stride;
            stride *= v->sizes[d];
        }
        if (whole) {
            return v;
        }
    }
    return NULL;
}

/* The shortest period of a constant that leading dimensions of its owner give. */
static int64_t period_of(const adzi_c99 *c, int memory, const adzi_c99_value *owner)
{
    const adzi_c99_memory *m = &c->memories[memory];
    int64_t period = m->count;
    for (int d = 0; d < owner->rank; ++d) {
        const int64_t next = period / owner->sizes[d];
        if (next < period && (!repeats(m, next) || !all_fit(c, memory, next))) {
            break;
        }
        period = next;
    }
    return period;
}

static void fold(adzi_c99 *c, int memory, int64_t period)
{
    adzi_c99_memory *m = &c->memories[memory];
    for (size_t i = 0; i < c->n_values; ++i) {
        adzi_c99_value *v = &c->values[i];
        for (int d = 0; d < v->rank && v->memory == memory; ++d) {
            v->strides[d] = v->strides[d] % period != 0 ? v->strides[d] : 0;
        }
        v->offset = v->memory == memory ? v->offset % period : v->offset;
    }
    const size_t used = strlen(m->label);
    snprintf(m->label + used, sizeof m->label - used, ", the first of %lld equal parts",
        (long long)(m->count / period));
    m->count = period;
}

void adzi_c99_fold_constants(adzi_c99 *c)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind != ADZI_C99_CONSTANT || m->function != c->function || m->uniform ||
            m->count <= 1) {
            continue;
        }
        const adzi_c99_value *owner = owner_of(c, (int)i);
        const int64_t period = owner != NULL ? period_of(c, (int)i, owner) : m->count;
        if (period < m->count) {
            fold(c, (int)i, period);
        }
    }
}
