/* An interrupted training is saved in the file of the model, so that one never exists without the
 * other. Besides the tensors and metadata of the model, the file holds a checkpoint of optimizer,
 * schedule, generator and loader. Names that begin with "training." are this program's own: its
 * settings, a hash of the rows, the records of the epochs, and the current weights if the model has
 * the best ones. */
#define _GNU_SOURCE
#include "trainer.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/ranks.h"

static const char weights[] = "training.network.", records[] = "training.epochs",
                  numbers[] = "training.numbers", rows[] = "training.rows";

enum { LOSS_SUM, LOSS_ROWS, BEST_RMSE, BEST_EPOCH, NUMBERS };
enum { RECORD = 4 }; /* how many numbers an epoch_record has */

void copy_weights(adz_module *to, adz_module *from)
{
    adz_state_dict *state = adz_module_state_dict(from);
    adz_module_load_state_dict(to, state, true);
    adz_state_dict_free(&state);
}

/* ---- the rows ------------------------------------------------------------------------------- */

/* FNV-1a over the bytes of a tensor. */
static uint64_t hash(uint64_t start, adz_tensor *t)
{
    const unsigned char *bytes = (const unsigned char *)adz_tensor_data_f64(t);
    for (int64_t i = 0; i < adz_tensor_numel(t) * (int64_t)sizeof(double); ++i) {
        start = (start ^ bytes[i]) * 0x100000001b3;
    }
    return start;
}

void rows_text(const problem *p, char text[64])
{
    adz_dataset *const all[] = { p->train, p->validation, p->test };
    uint64_t sum = 0xcbf29ce484222325;
    adz_scope *scope = adz_scope_open();
    for (int i = 0; i < 3; ++i) {
        for (size_t k = 0; k < 2 && adz_dataset_row_count(all[i]) > 0; ++k) {
            sum = hash(sum, adz_dataset_at(all[i], k));
        }
    }
    adz_scope_close(scope);
    snprintf(text, 64, "%lld %lld %lld %016llx", (long long)adz_dataset_row_count(p->train),
        (long long)adz_dataset_row_count(p->validation), (long long)adz_dataset_row_count(p->test),
        (unsigned long long)sum);
}

/* ---- the checkpoint ------------------------------------------------------------------------- */

/* Optimizer, schedule, dropout's generator (the default one) and loader. */
static adz_checkpoint checkpoint_of(const trainer *t)
{
    static adz_generator *const generators[1] = { NULL };
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = t->sgd;
    c.schedulers = &t->scheduler;
    c.n_schedulers = t->scheduler != NULL;
    c.generators = generators;
    c.n_generators = 1;
    c.loader = t->loader;
    c.parallel = t->parallel;
    c.step = t->step;
    return c;
}

/* Writes the checkpoint to a temporary file in the folder of the model. All ranks call it, and
 * the first one gets the file. */
static adz_safetensors *checkpoint_file(const trainer *t)
{
    adz_checkpoint c = checkpoint_of(t);
    adz_checkpoint_save(&c, t->o->scratch);
    if (!is_first_rank()) {
        return NULL;
    }
    adz_safetensors *file = adz_safetensors_load(t->o->scratch, NULL);
    unlink(t->o->scratch);
    return file;
}

/* ---- saving --------------------------------------------------------------------------------- */

static void add_numbers(adz_safetensors *file, const trainer *t, const epoch_record *e, int64_t n)
{
    const double values[NUMBERS] = { t->loss_sum, (double)t->loss_rows, t->best_rmse,
        (double)t->best_epoch };
    adz_safetensors_add(file, numbers, adz_tensor_from(values, ADZ_SHAPE(NUMBERS), ADZ_F64));
    double *table = allocate((size_t)n * RECORD * sizeof *table);
    for (int64_t i = 0; i < n; ++i) {
        const double record[RECORD] = { e[i].lr, e[i].loss, e[i].train_rmse, e[i].validation_rmse };
        memcpy(table + i * RECORD, record, sizeof record);
    }
    adz_safetensors_add(file, records, adz_tensor_from(table, ADZ_SHAPE(n, RECORD), ADZ_F64));
    free(table);
}

static void add_settings(adz_safetensors *file, const trainer *t)
{
    char text[64], key[64], value[64];
    for (int i = 0; i < TRAINING_SETTINGS; ++i) {
        snprintf(key, sizeof key, "training.%s", training_setting(t->o, i, value, sizeof value));
        adz_safetensors_set_metadata(file, key, value);
    }
    rows_text(t->p, text);
    adz_safetensors_set_metadata(file, rows, text);
    adz_safetensors_set_metadata(file, TRAINING_MARK, TRAINING_VERSION);
}

static void add_weights(adz_safetensors *file, adz_module *network)
{
    char name[256];
    adz_safetensors *present = adz_module_to_safetensors(network, NULL);
    for (size_t i = 0; i < adz_safetensors_count(present); ++i) {
        snprintf(name, sizeof name, "%s%s", weights, adz_safetensors_name_at(present, i));
        adz_safetensors_add(file, name, adz_safetensors_at(present, i));
    }
    adz_safetensors_free(&present);
}

static void save_model_with(
    adz_safetensors *file, trainer *t, const epoch_record *epochs, int64_t count)
{
    adz_module *present = t->best != NULL ? adz_module_copy(network(t->m)) : NULL;
    if (file != NULL) {
        add_numbers(file, t, epochs, count);
        add_settings(file, t);
    }
    if (file != NULL && present != NULL) {
        add_weights(file, present);
    }
    if (present != NULL) {
        copy_weights(network(t->m), t->best);
    }
    save_model(t->m, t->o->save, file);
    if (present != NULL) {
        copy_weights(network(t->m), present);
    }
    adz_module_release(&present);
}

void save_training(trainer *t, const epoch_record *epochs, int64_t count)
{
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = t->o->scratch != NULL ? checkpoint_file(t) : NULL;
    if (is_first_rank()) {
        save_model_with(file, t, epochs, count);
    }
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

/* ---- resuming ------------------------------------------------------------------------------- */

/* A table of doubles, contiguous and borrowed from the scope. */
static const double *find_table(
    const trainer *t, adz_safetensors *file, const char *name, int rank, int64_t *count)
{
    adz_tensor *table = adz_safetensors_has(file, name) ? adz_safetensors_get(file, name) : NULL;
    if (table == NULL || adz_tensor_dtype(table) != ADZ_F64 || adz_tensor_rank(table) != rank) {
        fail("%s: its %s are not what this program wrote", t->o->load, name);
    }
    *count = adz_tensor_numel(table);
    return adz_tensor_data_f64(table);
}

static int64_t read_records(const trainer *t, adz_safetensors *file, epoch_record *epochs)
{
    int64_t n;
    const double *table = find_table(t, file, records, 2, &n);
    if (n % RECORD != 0 || n / RECORD > t->o->epochs) {
        fail("%s: its %s are not what this program wrote", t->o->load, records);
    }
    for (int64_t i = 0; i < n / RECORD; ++i, table += RECORD) {
        epochs[i] = (epoch_record){ table[0], table[1], table[2], table[3] };
    }
    return n / RECORD;
}

static void read_numbers(trainer *t, adz_safetensors *file, int64_t epochs)
{
    int64_t n;
    const double *values = find_table(t, file, numbers, 1, &n);
    if (n != NUMBERS || !(values[LOSS_ROWS] >= 0 && values[LOSS_ROWS] < 0x1p53) ||
        !(values[BEST_EPOCH] >= 0 && values[BEST_EPOCH] <= (double)epochs)) {
        fail("%s: its %s are not what this program wrote", t->o->load, numbers);
    }
    t->loss_sum = values[LOSS_SUM];
    t->loss_rows = (int64_t)values[LOSS_ROWS];
    t->best_rmse = values[BEST_RMSE];
    t->best_epoch = (int64_t)values[BEST_EPOCH];
}

/* The model was loaded with the best weights. The training goes on with the current weights. */
static void read_weights(trainer *t, adz_safetensors *file)
{
    adz_safetensors *present = adz_safetensors_new();
    for (size_t i = 0; i < adz_safetensors_count(file); ++i) {
        const char *name = adz_safetensors_name_at(file, i);
        if (strncmp(name, weights, sizeof weights - 1) == 0) {
            adz_safetensors_add(present, name + sizeof weights - 1, adz_safetensors_at(file, i));
        }
    }
    if (adz_safetensors_count(present) > 0) {
        t->best = adz_module_copy(network(t->m));
        adz_module_load_safetensors(network(t->m), present, true);
    }
    adz_safetensors_free(&present);
}

int64_t resume_training(trainer *t, adz_safetensors *file, epoch_record *epochs)
{
    char here[64];
    if (strcmp(adz_safetensors_get_metadata(file, TRAINING_MARK), TRAINING_VERSION) != 0) {
        fail(
            "%s: its training was saved by an earlier version of this program, which visited the rows in another order; add --restart to begin another training from its weights",
            t->o->load);
    }
    const char *there = adz_safetensors_get_metadata(file, rows);
    rows_text(t->p, here);
    if (there == NULL || strcmp(here, there) != 0) {
        fail(
            "%s: the rows to train on, to validate and to test are not those that its training was begun with; give it the same data, or add --restart to begin another training from its weights",
            t->o->load);
    }
    adz_scope *scope = adz_scope_open();
    adz_checkpoint c = checkpoint_of(t);
    adz_checkpoint_load(&c, t->o->load);
    t->step = c.step;
    int64_t count = read_records(t, file, epochs);
    read_numbers(t, file, count);
    read_weights(t, file);
    adz_scope_close(scope);
    return count;
}
