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

ensemble new_ensemble(const network *n, const linear_model *linear, const measure *m,
    const outcomes *known, int64_t trained)
{
    ensemble e = { .n = *n, .linear = *linear, .trained = trained };
    size_t size = (size_t)n->horizon, count = (size_t)known->count;
    e.measure = (measure){ allocate(size * sizeof *m->noise), m->power };
    memcpy(e.measure.noise, m->noise, size * sizeof *m->noise);
    e.known = new_outcomes(known->count, n->horizon, known->span);
    e.known.count = known->count;
    memcpy(e.known.items, known->items, count * size * sizeof *known->items);
    for (size_t i = 0; i < count; ++i) {
        e.known.at[i] = known->at[i] - trained;
    }
    e.root = adz_module_list_new(NULL, 0);
    adz_scope *scope = adz_scope_open();
    add_buffer(&e, "linear", linear_to_table(linear));
    add_buffer(&e, "power", adz_scalar(m->power, ADZ_F64));
    add_buffer(&e, "noise", adz_tensor_from(m->noise, ADZ_SHAPE(n->horizon), ADZ_F64));
    add_buffer(&e, "origins", adz_tensor_from(e.known.at, ADZ_SHAPE(known->count), ADZ_I64));
    adz_shape shape = ADZ_SHAPE(known->count, n->horizon, NUMBERS);
    add_buffer(&e, "outcomes", adz_tensor_from(known->items, shape, ADZ_F64));
    adz_scope_close(scope);
    return e;
}

void free_ensemble(ensemble *e)
{
    free(e->measure.noise);
    free_outcomes(&e->known);
    adz_module_free(&e->root);
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

/* The place from which on a series has values that the ensemble was not trained on, or its test
 * part, if that begins earlier. */
static int64_t first_new(const ensemble *e, const series *s)
{
    return e->trained < test_start(s->n) ? e->trained : test_start(s->n);
}

outcomes observe(const ensemble *e, const series *s)
{
    const network *n = &e->n;
    const outcomes *old = &e->known;
    int64_t first = first_new(e, s), from = first - n->horizon + 1, least = first_origin(n);
    int64_t step = old->count > 1 ? (old->at[old->count - 1] - old->at[0]) / (old->count - 1) : 1;
    /* Of the last windows only the first steps lie in the series. Networks were trained on values
     * before the first new one; the linear model never knows a value that it forecasts. */
    int64_t unseen = n->model == MODEL_LINEAR ? 0 : first;
    origins o = origins_between(
        n, from > least ? from : least, s->n, s->n + n->horizon, step > 1 ? step : 1);
    outcomes all = new_outcomes(old->count + o.count, n->horizon, old->span);
    for (int64_t i = 0; i < old->count; ++i) {
        all.at[all.count++] = old->at[i] + first;
    }
    memcpy(all.items, old->items, (size_t)(old->count * n->horizon) * sizeof *all.items);
    if (o.count > 0) {
        forecast_linear(&e->linear, s, n, &o, at_each_horizon(n, &o));
        prediction p = predict(e, s, &o);
        add_outcomes(&all, n, &e->measure, s, &o, &p, unseen, s->n);
        free_prediction(&p);
    }
    free_origins(&o);
    return all;
}

static void forecast_window(forecasts *f, const ensemble *e, const series *s, const outcomes *known,
    const prediction *p, int64_t b)
{
    int64_t origin = f->o.at[b], begin = b * f->horizon;
    double scale = scale_of(s, &e->n, origin), share = best_share(known, &e->n, origin);
    measure_band(known, &e->n, origin, share, &(widths){ f->half80 + begin, f->half95 + begin });
    for (int64_t k = 0; k < f->horizon; ++k) {
        int64_t i = begin + k;
        double unit = scale * unit_of(&e->n, &e->measure, scale, p->variance[i], k);
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
    const char *text = adz_safetensors_metadata(file, key);
    if (text == NULL) {
        fail("%s: not saved by %s, or by another version of it: its metadata has no '%s'", path,
            program_name, key);
    }
    return text;
}

static int64_t whole_metadata(const char *path, adz_safetensors *file, const char *key)
{
    return whole(key, metadata(path, file, key), 1, 1 << 30);
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
        char *text = copy_text(metadata(path, file, key));
        set_argument(&table[i], text);
        free(text);
    }
    check_network(&n);
    if (n.model == MODEL_AUTO) {
        fail("%s: its metadata names no kind of model", path);
    }
    int64_t trained = whole_metadata(path, file, "trained");
    int64_t count = whole_metadata(path, file, "outcomes");
    outcomes none = new_outcomes(count, n.horizon, whole_metadata(path, file, "span"));
    values_are_from(NULL);
    none.count = count;
    measure m = { allocate((size_t)n.horizon * sizeof *m.noise), 0 };
    ensemble e = new_ensemble(&n, &(linear_model){ .count = 0 }, &m, &none, trained);
    free_outcomes(&none);
    free(m.noise);
    for (int64_t i = 0; i < n.members && n.model != MODEL_LINEAR; ++i) {
        adz_module_list_append(e.root, new_network(&n));
    }
    return e;
}

/* Outcomes that no forecast before the end of the training could have had are refused. */
static bool read_outcomes(ensemble *e)
{
    size_t count = (size_t)e->known.count, size = count * (size_t)e->n.horizon;
    memcpy(e->known.at, adz_tensor_data_i64(adz_module_buffer(e->root, "origins")),
        count * sizeof *e->known.at);
    memcpy(e->known.items, adz_tensor_data_f64(adz_module_buffer(e->root, "outcomes")),
        size * sizeof *e->known.items);
    for (size_t i = 0; i < count; ++i) {
        if (e->known.at[i] >= 0 || e->known.at[i] < (i > 0 ? e->known.at[i - 1] : -e->trained)) {
            return false;
        }
    }
    for (size_t i = 0; i < size; ++i) {
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
    adz_module_from_safetensors(e.root, file, true);
    if (!linear_from_table(adz_module_buffer(e.root, "linear"), &e.linear)) {
        fail("%s: its tensor 'linear' is no linear model", path);
    }
    if (!read_outcomes(&e)) {
        fail("%s: its tensors 'origins' and 'outcomes' are of no validation part", path);
    }
    e.measure.power = adz_item(adz_module_buffer(e.root, "power"));
    memcpy(e.measure.noise, adz_tensor_data_f64(adz_module_buffer(e.root, "noise")),
        (size_t)e.n.horizon * sizeof *e.measure.noise);
    adz_safetensors_free(&file);
    return e;
}
