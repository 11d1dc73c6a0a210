/* Forecasts with an ensemble, and saves and loads it. */
#include "ensemble.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/command_line.h"

static void add_buffer(ensemble *e, const char *name, adz_tensor *value)
{
    adz_module_add_buffer(e->root, name, value, true);
}

enum { NUMBERS = sizeof(outcome) / sizeof(double) };

static void keep_outcomes(ensemble *e, const double *noise, const outcomes *known)
{
    int64_t horizon = e->n.horizon;
    size_t size = (size_t)horizon, count = (size_t)known->count;
    e->noise = allocate(size * sizeof *noise);
    memcpy(e->noise, noise, size * sizeof *noise);
    e->known = new_outcomes(known->count, horizon, known->span);
    e->known.count = known->count;
    memcpy(e->known.items, known->items, count * size * sizeof *known->items);
    for (size_t i = 0; i < count; ++i) {
        e->known.at[i] = known->at[i] - e->trained;
    }
    adz_shape shape = ADZ_SHAPE(known->count, horizon, NUMBERS);
    add_buffer(e, "noise", adz_tensor_from(noise, ADZ_SHAPE(horizon), ADZ_F64));
    add_buffer(e, "origins", adz_tensor_from(e->known.at, ADZ_SHAPE(known->count), ADZ_I64));
    add_buffer(e, "outcomes", adz_tensor_from(known->items, shape, ADZ_F64));
}

ensemble new_ensemble(const network *n, const linear_model *linear, const double *noise,
    const outcomes *known, int64_t trained)
{
    ensemble e = { .n = *n, .linear = *linear, .trained = trained };
    e.root = adz_module_list_new(NULL, 0);
    adz_scope *scope = adz_scope_open();
    add_buffer(&e, "linear", linear_to_table(linear));
    if (n->model != MODEL_LINEAR) {
        keep_outcomes(&e, noise, known);
    }
    adz_scope_close(scope);
    return e;
}

void free_ensemble(ensemble *e)
{
    free(e->noise);
    free_outcomes(&e->known);
    adz_module_release(&e->root);
}

/* ---- forecasts ------------------------------------------------------------------------------ */

static prediction predict(const ensemble *e, const series *s, const origins *o)
{
    size_t members = adz_module_child_count(e->root), size = (size_t)(o->count * e->n.horizon);
    prediction *each = allocate((members + 1) * sizeof *each);
    adz_manual_seed((uint64_t)e->n.seed);
    for (size_t i = 0; i < members; ++i) {
        each[i] = predict_windows(adz_module_child_at(e->root, i), &e->n, s, o, e->n.passes);
    }
    prediction p = mix(each, (int64_t)members, size);
    for (size_t i = 0; i < members; ++i) {
        free_prediction(&each[i]);
    }
    free(each);
    return p;
}

/* Adds the outcomes of windows that begin at every `step`-th index from `from` on. Of the last
 * windows only the first steps lie in the series. Values before `first` do not count. */
static void roll(
    outcomes *all, const ensemble *e, const series *s, int64_t from, int64_t step, int64_t first)
{
    const network *n = &e->n;
    int64_t least = first_origin(n);
    origins o = origins_between(n, from > least ? from : least, s->n, s->n + n->horizon, step);
    outcomes longer = new_outcomes(all->count + o.count, n->horizon, all->span);
    memcpy(longer.at, all->at, (size_t)all->count * sizeof *all->at);
    memcpy(longer.items, all->items, (size_t)(all->count * n->horizon) * sizeof *all->items);
    longer.count = all->count;
    free_outcomes(all);
    *all = longer;
    if (o.count > 0) {
        forecast_linear(&e->linear, s, n, &o, at_each_horizon(n, &o));
        prediction p = predict(e, s, &o);
        add_outcomes(all, n, e->noise, s, &o, &p, first, s->n);
        free_prediction(&p);
    }
    free_origins(&o);
}

enum { MOST_ROLLED = 300 }; /* windows of the linear model in the span of a band */

static outcomes observe_linear(const ensemble *e, const series *s)
{
    int64_t test = test_start(s->n), span = test - test / 2;
    outcomes all = new_outcomes(0, e->n.horizon, span);
    roll(&all, e, s, test - span, (span + MOST_ROLLED - 1) / MOST_ROLLED, 0);
    choose_power(&all, &e->n, s, test);
    return all;
}

/* Networks have seen the values before the end of their training. On a series that is shorter, the
 * outcomes of the validation part are taken for those before its test part. */
static outcomes observe_networks(const ensemble *e, const series *s)
{
    const outcomes *old = &e->known;
    int64_t first = e->trained < test_start(s->n) ? e->trained : test_start(s->n);
    int64_t step = old->count > 1 ? (old->at[old->count - 1] - old->at[0]) / (old->count - 1) : 1;
    outcomes all = new_outcomes(old->count, e->n.horizon, old->span);
    for (int64_t i = 0; i < old->count; ++i) {
        all.at[all.count++] = old->at[i] + first;
    }
    memcpy(all.items, old->items, (size_t)(old->count * e->n.horizon) * sizeof *all.items);
    roll(&all, e, s, first - e->n.horizon + 1, step > 1 ? step : 1, first);
    return all;
}

outcomes observe(const ensemble *e, const series *s)
{
    return e->n.model == MODEL_LINEAR ? observe_linear(e, s) : observe_networks(e, s);
}

static void forecast_window(forecasts *f, const ensemble *e, const series *s, const outcomes *known,
    const prediction *p, int64_t b)
{
    int64_t origin = f->o.at[b], begin = b * f->horizon;
    double scale = scale_of(s, &e->n, origin), share = best_share(known, &e->n, origin);
    measure_band(known, &e->n, origin, share, &(widths){ f->half80 + begin, f->half95 + begin });
    for (int64_t k = 0; k < f->horizon; ++k) {
        int64_t i = begin + k;
        double unit = scale * unit_of(&e->n, known, e->noise, scale, p->variance[i], k);
        f->mean[i] = f->o.base[i] + share * scale * p->mean[i];
        f->half80[i] *= unit;
        f->half95[i] *= unit;
    }
}

forecasts forecast(const ensemble *e, const series *s, const outcomes *known, origins o)
{
    size_t size = (size_t)(o.count * e->n.horizon);
    forecast_linear(&e->linear, s, &e->n, &o, at_each_horizon(&e->n, &o));
    forecasts f = { o, e->n.horizon, allocate(size * sizeof *f.mean),
        allocate(size * sizeof *f.half80), allocate(size * sizeof *f.half95) };
    prediction p = predict(e, s, &o);
    for (int64_t b = 0; b < o.count; ++b) {
        forecast_window(&f, e, s, known, &p, b);
    }
    free_prediction(&p);
    return f;
}

void free_forecasts(forecasts *f)
{
    free_origins(&f->o);
    free(f->mean);
    free(f->half80);
    free(f->half95);
}

/* ---- the file ------------------------------------------------------------------------------- */

void save_ensemble(const ensemble *e, const char *path)
{
    char key[64], value[256];
    network n = e->n;
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&n, table);
    adz_safetensors *file = adz_module_to_safetensors(e->root, NULL);
    for (size_t i = 0; i < n_options; ++i) {
        snprintf(key, sizeof key, "option.%s", table[i].name);
        adz_safetensors_set_metadata(file, key, argument_text(&table[i], value, sizeof value));
    }
    snprintf(value, sizeof value, "%lld", (long long)e->trained);
    adz_safetensors_set_metadata(file, "trained", value);
    snprintf(value, sizeof value, "%lld", (long long)e->known.count);
    adz_safetensors_set_metadata(file, "outcomes", value);
    snprintf(value, sizeof value, "%lld", (long long)e->known.span);
    adz_safetensors_set_metadata(file, "span", value);
    adz_safetensors_save(file, path);
    adz_safetensors_free(&file);
}

static const char *metadata(const char *path, adz_safetensors *file, const char *key)
{
    const char *text = adz_safetensors_get_metadata(file, key);
    if (text == NULL) {
        fail("%s: not saved by %s, or by another version of it: its metadata has no '%s'", path,
            program_name, key);
    }
    return text;
}

static int64_t whole_metadata(
    const char *path, adz_safetensors *file, const char *key, int64_t least)
{
    return whole(key, metadata(path, file, key), least, 1 << 30);
}

/* An ensemble of the file's sizes, whose buffers and networks the file will fill. */
static ensemble empty_ensemble(const char *path, adz_safetensors *file)
{
    char key[64];
    network n;
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&n, table);
    values_are_from(path);
    for (size_t i = 0; i < n_options; ++i) {
        snprintf(key, sizeof key, "option.%s", table[i].name);
        const bool old =
            strcmp(table[i].name, "positive") == 0 &&
            adz_safetensors_get_metadata(file, key) == NULL; /* of an earlier version */
        char *text = copy_text(old ? "0" : metadata(path, file, key));
        set_argument(&table[i], text);
        free(text);
    }
    check_network(&n);
    if (n.model == MODEL_AUTO) {
        fail("%s: its metadata names no kind of model", path);
    }
    bool linear = n.model == MODEL_LINEAR;
    int64_t trained = whole_metadata(path, file, "trained", 1);
    int64_t count = whole_metadata(path, file, "outcomes", linear ? 0 : 1);
    outcomes none =
        new_outcomes(count, n.horizon, whole_metadata(path, file, "span", linear ? 0 : 1));
    values_are_from(NULL);
    none.count = count;
    double *noise = allocate((size_t)n.horizon * sizeof *noise);
    ensemble e = new_ensemble(&n, &(linear_model){ .count = 0 }, noise, &none, trained);
    free_outcomes(&none);
    free(noise);
    for (int64_t i = 0; i < n.members && n.model != MODEL_LINEAR; ++i) {
        adz_module_list_append(e.root, new_network(&n));
    }
    return e;
}

/* Outcomes that no forecast before the end of the training could have had are refused. */
static bool read_outcomes(ensemble *e)
{
    size_t count = (size_t)e->known.count, horizon = (size_t)e->n.horizon;
    memcpy(e->noise, adz_tensor_data_f64(adz_module_get_buffer(e->root, "noise")),
        horizon * sizeof *e->noise);
    memcpy(e->known.at, adz_tensor_data_i64(adz_module_get_buffer(e->root, "origins")),
        count * sizeof *e->known.at);
    memcpy(e->known.items, adz_tensor_data_f64(adz_module_get_buffer(e->root, "outcomes")),
        count * horizon * sizeof *e->known.items);
    for (size_t i = 0; i < count; ++i) {
        if (e->known.at[i] >= 0 || e->known.at[i] < (i > 0 ? e->known.at[i - 1] : -e->trained)) {
            return false;
        }
    }
    for (size_t i = 0; i < count * horizon; ++i) {
        if (!(e->known.items[i].unit > 0)) {
            return false;
        }
    }
    return true;
}

ensemble load_ensemble(const char *path)
{
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    ensemble e = empty_ensemble(path, file);
    adz_module_load_safetensors(e.root, file, true);
    if (!linear_from_table(adz_module_get_buffer(e.root, "linear"), &e.linear)) {
        fail("%s: its tensor 'linear' is no linear model", path);
    }
    if (e.n.model != MODEL_LINEAR && !read_outcomes(&e)) {
        fail("%s: its tensors 'origins' and 'outcomes' are of no validation part", path);
    }
    adz_safetensors_free(&file);
    return e;
}
