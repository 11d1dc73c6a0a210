/* Steps of Runge-Kutta methods with tangents: a state of 1 + m rows, y and its tangents, of which
 * each row takes the same steps (Note [Sensitivities beside a solution]). */
#include <string.h>

#include "solvers/ode_forward.h"

static void set_element(adz_tensor *t, int64_t i, double value)
{
    adzi_encode((adz_dtype)t->dtype, value, t->data + (size_t)i * adzi_item_size(t));
}

/* f(t, y) and the slopes of the tangents, as rows. */
static adz_tensor *slopes_of_all(adz_tensor *t, adz_tensor *rows, void *user)
{
    adzi_ode_tangents *s = user;
    const char *op = s->ode.e.op;
    const adz_tensor *like = s->ode.like;
    const int64_t bytes[] = { 2 * s->m * s->n };
    const size_t item = adzi_item_size(rows);
    adz_tensor *all = adzi_compact(op, rows), *result = adzi_scratch_like(op, rows);
    adz_tensor *memory = adzi_scratch(op, ADZ_F64, 1, bytes);
    adz_tensor *y = all != NULL
                        ? adz_reshape(adz_select(all, 0, 0), adz_shape_of(like->rank, like->sizes))
                        : NULL;
    adz_tensor *f =
        y != NULL && result != NULL && memory != NULL ? adzi_tangents_at(s, t, y) : NULL;
    f = f != NULL ? adzi_compact(op, f) : NULL;
    if (f == NULL) {
        return NULL;
    }
    double *from = (double *)(void *)memory->data, *slopes = from + s->m * s->n;
    for (int64_t i = 0; i < s->m * s->n; ++i) {
        from[i] = adzi_ode_element(all, s->n + i);
    }
    if (!adzi_tangents_slopes(s, from, slopes)) {
        return NULL;
    }
    memcpy(result->data, f->data, (size_t)s->n * item);
    for (int64_t i = 0; i < s->m * s->n; ++i) {
        set_element(result, s->n + i, slopes[i]);
    }
    return result;
}

/* y and its tangents as rows. */
static adz_tensor *first_rows(const adzi_ode_tangents *s, adz_tensor *y0)
{
    const adz_tensor *y = adzi_compact(s->ode.e.op, y0);
    const int64_t sizes[] = { 1 + s->m, s->n };
    adz_tensor *rows = adzi_scratch(s->ode.e.op, (adz_dtype)y0->dtype, 2, sizes);
    if (y == NULL || rows == NULL) {
        return NULL;
    }
    memcpy(rows->data, y->data, (size_t)s->n * adzi_item_size(y));
    for (int64_t i = 0; i < s->m * s->n; ++i) {
        set_element(rows, s->n + i, s->y[i]);
    }
    return rows;
}

/* Writes the tangents at times from `first` on, which are in states[., 1 + m, n]. */
static bool write_tangents(adzi_ode_tangents *s, adz_tensor *states, int64_t first)
{
    const adz_tensor *from = adzi_compact(s->ode.e.op, states);
    const int64_t n = s->n, times = s->ode.n_times;
    if (from == NULL) {
        return false;
    }
    for (int64_t i = 0; i < from->sizes[0]; ++i) {
        for (int64_t j = 0; j < s->m; ++j) {
            for (int64_t k = 0; k < n; ++k) {
                s->out[(j * times + first + i) * n + k] =
                    adzi_ode_element(from, (i * (1 + s->m) + 1 + j) * n + k);
            }
        }
    }
    return true;
}

bool adzi_tangents_steps(adzi_ode_tangents *s)
{
    adzi_ode all = s->ode;
    adz_tensor *rows = first_rows(s, (adz_tensor *)s->ode.like), *slope = NULL;
    int64_t next = 1;
    all.e = (adzi_equation){ .op = s->ode.e.op, .ode = slopes_of_all, .user = s };
    all.like = rows;
    all.mirrored = false; /* the slopes of all rows are by the time of the solution already */
    const size_t mark = adzi_self()->n_temporaries;
    for (int64_t k = 0; rows != NULL && k < all.n_steps; ++k) {
        adzi_ode_span span;
        adzi_ode_move move = { .first = slope };
        adz_tensor *states[2];
        int64_t first = next;
        if (!adzi_ode_span_of(&all, k, &span) || !adzi_ode_step(&all, &span, rows, &move)) {
            return false;
        }
        const int count = adzi_ode_states(&all, &span, &move, &next, states);
        for (int i = 0; i < count; ++i) {
            if (!write_tangents(s, states[i], first)) {
                return false;
            }
            first += states[i]->sizes[0];
        }
        rows = move.state;
        slope = move.last;
        if (count < 0 || !adzi_survive(all.e.op, mark, (adz_tensor *[]){ rows, slope }, 2)) {
            return false;
        }
    }
    return rows != NULL;
}
