/* Forecasts with an ensemble, and saves and loads it. */
#include "ensemble.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/command_line.h"

ensemble new_ensemble(const network *n, const linear_model *linear, double share,
    const band_fit *fit, int64_t trained)
{
    ensemble e = { *n, *linear, adz_module_list_new(NULL, 0), trained };
    adz_scope *scope = adz_scope_open();
    adz_module_add_buffer(e.root, "linear", linear_to_table(linear), true);
    adz_module_add_buffer(e.root, "share", adz_scalar(share, ADZ_F64), true);
    adz_module_add_buffer(e.root, "factor", adz_scalar(fit->factor, ADZ_F64), true);
    adz_module_add_buffer(
        e.root, "noise", adz_tensor_from(fit->noise, ADZ_SHAPE(n->horizon), ADZ_F64), true);
    adz_scope_close(scope);
    return e;
}

void free_ensemble(ensemble *e)
{
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

forecasts forecast(const ensemble *e, const series *s, origins o)
{
    const network *n = &e->n;
    size_t size = (size_t)(o.count * n->horizon);
    forecast_linear(&e->linear, s, n, &o, at_each_horizon(n, &o));
    forecasts f = { o, n->horizon, allocate(size * sizeof *f.mean),
        allocate(size * sizeof *f.deviation) };
    double share = adz_item(adz_module_buffer(e->root, "share"));
    double factor = adz_item(adz_module_buffer(e->root, "factor"));
    const double *noise = adz_tensor_data_f64(adz_module_buffer(e->root, "noise"));
    prediction p = predict(e, s, &o);
    for (size_t i = 0; i < size; ++i) {
        int64_t origin = o.at[i / (size_t)n->horizon], k = (int64_t)i % n->horizon;
        double scale = scale_of(s, n, origin);
        f.mean[i] = o.base[i] + share * scale * p.mean[i];
        f.deviation[i] = scale * factor * sqrt(p.variance[i] + noise[k]);
    }
    free_prediction(&p);
    return f;
}

void free_forecasts(forecasts *f)
{
    free_origins(&f->o);
    free(f->mean);
    free(f->deviation);
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
    adz_safetensors_set_metadata(file, "linear", "1");
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

ensemble load_ensemble(const char *path)
{
    char key[64];
    network n;
    argument table[MOST_OPTIONS];
    size_t n_options = network_options(&n, table);
    adz_safetensors *file = adz_safetensors_load(path, NULL);
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
    metadata(path, file, "linear");
    int64_t trained = whole("trained", metadata(path, file, "trained"), 1, 1LL << 53);
    values_are_from(NULL);
    band_fit empty = { 1, allocate((size_t)n.horizon * sizeof *empty.noise) };
    ensemble e = new_ensemble(&n, &(linear_model){ .count = 0 }, 0, &empty, trained);
    free(empty.noise);
    for (int64_t i = 0; i < n.members && n.model != MODEL_LINEAR; ++i) {
        adz_module_list_append(e.root, new_network(&n));
    }
    adz_module_from_safetensors(e.root, file, true);
    if (!linear_from_table(adz_module_buffer(e.root, "linear"), &e.linear)) {
        fail("%s: its tensor 'linear' is no linear model", path);
    }
    adz_safetensors_free(&file);
    return e;
}
