/* What L-BFGS keeps from step to step: copying it, and reading and writing it for checkpoints. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "adze/scope.h"
#include "base/error.h"
#include "solvers/closures/lbfgs.h"

/* ---- the memory ------------------------------------------------------------------------------ */

bool adzi_lbfgs_copy(void *memory)
{
    adzi_lbfgs_memory *m = memory;
    const adzi_lbfgs_pair *from = m->pairs;
    m->pairs = m->capacity > 0 ? adzi_alloc(m->capacity * sizeof *m->pairs) : NULL;
    if (m->capacity > 0 && m->pairs == NULL) {
        memset(m, 0, sizeof *m);
        return false;
    }
    for (size_t i = 0; i < m->n; ++i) {
        m->pairs[i] =
            (adzi_lbfgs_pair){ adzi_retain(from[i].y), adzi_retain(from[i].s), from[i].ro };
    }
    m->d = m->d != NULL ? adzi_retain(m->d) : NULL;
    m->prev_grad = m->prev_grad != NULL ? adzi_retain(m->prev_grad) : NULL;
    return true;
}

void adzi_lbfgs_drop(void *memory)
{
    adzi_lbfgs_memory *m = memory;
    for (size_t i = 0; i < m->n; ++i) {
        adzi_drop(m->pairs[i].y);
        adzi_drop(m->pairs[i].s);
    }
    adzi_free(m->pairs, m->capacity * sizeof *m->pairs);
    adzi_drop(m->d);
    adzi_drop(m->prev_grad);
    adzi_drop(m->g);
    adzi_lbfgs_end_line(m);
}

void adzi_lbfgs_end_line(adzi_lbfgs_memory *m)
{
    for (int i = 0; i < ADZI_LINE_GRADIENTS; ++i) {
        adzi_drop(m->gradients[i]);
        m->gradients[i] = NULL;
    }
}

/* Replaces a tensor of the memory. */
void adzi_lbfgs_keep(adz_tensor **slot, adz_tensor *t)
{
    adz_tensor *old = *slot;
    *slot = adzi_retain(t);
    adzi_drop(old);
}

/* Forgets the oldest pairs, until at most `most` are left. */
void adzi_lbfgs_forget(adzi_lbfgs_memory *m, size_t most)
{
    const size_t gone = m->n > most ? m->n - most : 0;
    for (size_t i = 0; i < gone; ++i) {
        adzi_drop(m->pairs[i].y);
        adzi_drop(m->pairs[i].s);
    }
    if (gone > 0) {
        memmove(m->pairs, m->pairs + gone, (m->n - gone) * sizeof *m->pairs);
        m->n -= gone;
    }
}

bool adzi_lbfgs_remember(const char *op, adzi_lbfgs_memory *m, adzi_lbfgs_pair pair, size_t most)
{
    adzi_lbfgs_forget(m, most - 1);
    if (!adzi_grow(&m->pairs, &m->capacity, m->n + 1, sizeof *m->pairs)) {
        adzi_fail_memory(op, (m->n + 1) * sizeof *m->pairs);
        return false;
    }
    m->pairs[m->n++] = (adzi_lbfgs_pair){ adzi_retain(pair.y), adzi_retain(pair.s), pair.ro };
    return true;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

/* All y or all s as one matrix. */
static adz_status collect_pairs(const adzi_lbfgs_memory *m, adz_state_dict *state, bool of_y)
{
    adz_tensor **rows = adzi_alloc(m->n * sizeof(adz_tensor *));
    if (rows == NULL) {
        adzi_fail_memory("adz_optimizer", m->n * sizeof(adz_tensor *));
        return ADZ_ERR_MEMORY;
    }
    for (size_t i = 0; i < m->n; ++i) {
        rows[i] = of_y ? m->pairs[i].y : m->pairs[i].s;
    }
    adz_tensor *matrix = adz_stack(rows, m->n, 0);
    adzi_free(rows, m->n * sizeof(adz_tensor *));
    return adzi_search_add(state, of_y ? "old_dirs" : "old_stps", matrix);
}

adz_status adzi_lbfgs_collect(const void *memory, adz_state_dict *state)
{
    const adzi_lbfgs_memory *m = memory;
    adz_status status = ADZ_OK;
    if (m->d != NULL) {
        status = adzi_search_add(state, "d", m->d);
    }
    if (m->prev_grad != NULL && status == ADZ_OK) {
        status = adzi_search_add(state, "prev_flat_grad", m->prev_grad);
    }
    if (m->n == 0 || status != ADZ_OK) {
        return status;
    }
    const int64_t n = (int64_t)m->n;
    adz_tensor *ro = adzi_tensor_borrowed(adzi_self(), "adz_optimizer", ADZ_F64, 1, &n);
    for (size_t i = 0; i < m->n && ro != NULL; ++i) {
        ((double *)(void *)ro->data)[i] = m->pairs[i].ro;
    }
    status = adzi_search_add(state, "ro", ro);
    status = status == ADZ_OK ? collect_pairs(m, state, true) : status;
    return status == ADZ_OK ? collect_pairs(m, state, false) : status;
}

static const char restore[] = "adz_optimizer_restore";

/* Makes room for n pairs, or checks that there are n. */
static bool have_pairs(adzi_lbfgs_memory *m, const char *name, size_t n)
{
    if (m->n == 0 && adzi_grow(&m->pairs, &m->capacity, n, sizeof *m->pairs)) {
        memset(m->pairs, 0, n * sizeof *m->pairs);
        m->n = n;
    } else if (m->n == 0) {
        adzi_fail_memory(restore, n * sizeof *m->pairs);
    } else if (m->n != n) {
        adzi_error(restore, ADZ_ERR_STATE,
            "state.0.%s has %zu rows, another tensor of the history %zu", name, n, m->n);
    }
    return m->n == n && adzi_pending() == ADZ_OK;
}

static bool read_history(
    const adz_optimizer *o, adzi_lbfgs_memory *m, const char *name, adz_tensor *t, int64_t numel)
{
    const size_t n = (size_t)t->sizes[0];
    if (n == 0 || !have_pairs(m, name, n)) {
        return n == 0;
    }
    for (size_t i = 0; i < n; ++i) {
        if (strcmp(name, "ro") == 0) {
            m->pairs[i].ro = adz_tensor_at(t, (int64_t[]){ (int64_t)i });
            continue;
        }
        adz_tensor **to = strcmp(name, "old_dirs") == 0 ? &m->pairs[i].y : &m->pairs[i].s;
        *to = adzi_search_vector(
            (adz_dtype)o->groups[0]->parameters[0]->dtype, t, (int64_t)i * numel, numel);
        if (*to == NULL) {
            return false;
        }
    }
    return true;
}

bool adzi_lbfgs_read(const adz_optimizer *o, void *memory, const char *name, adz_tensor *t)
{
    adzi_lbfgs_memory *m = memory;
    const int64_t numel = adzi_search_numel(o);
    const bool vector = t->rank == 1 && t->numel == numel;
    const bool matrix = t->rank == 2 && t->sizes[1] == numel;
    adz_tensor **slot = strcmp(name, "d") == 0                ? &m->d
                        : strcmp(name, "prev_flat_grad") == 0 ? &m->prev_grad
                                                              : NULL;
    if (slot != NULL && vector) {
        *slot = adzi_search_vector((adz_dtype)o->groups[0]->parameters[0]->dtype, t, 0, numel);
        return *slot != NULL;
    }
    if ((strcmp(name, "ro") == 0 && t->rank == 1) ||
        ((strcmp(name, "old_dirs") == 0 || strcmp(name, "old_stps") == 0) && matrix)) {
        return read_history(o, m, name, t, numel);
    }
    adzi_error(restore, ADZ_ERR_STATE,
        "L-BFGS of %lld elements cannot have state.0.%s%s; the state is that of another optimizer",
        (long long)numel, name, adzi_text_shape(t));
    return false;
}

bool adzi_lbfgs_complete(const void *memory)
{
    const adzi_lbfgs_memory *m = memory;
    const char *missing = NULL;
    int exponent = 0;
    if (m->unit != 0 && frexp(m->unit, &exponent) != 0.5) {
        adzi_error(restore, ADZ_ERR_STATE, "state.0.unit is %s, but must be a power of two or 0",
            adzi_text_number(m->unit));
        return false;
    }
    if (m->n_iter > 0 && (m->d == NULL || m->prev_grad == NULL)) {
        missing = m->d == NULL ? "d" : "prev_flat_grad";
    }
    for (size_t i = 0; i < m->n && missing == NULL; ++i) {
        const adzi_lbfgs_pair *p = &m->pairs[i];
        missing = p->y == NULL ? "old_dirs" : p->s == NULL ? "old_stps" : p->ro == 0 ? "ro" : NULL;
    }
    if (missing != NULL) {
        adzi_error(restore, ADZ_ERR_STATE, "there is no state.0.%s", missing);
    }
    return missing == NULL;
}
