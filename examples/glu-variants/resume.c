/* Writes and reads the file of an experiment. The state of an interrupted training is a checkpoint,
 * whose bytes are a tensor of the file. */
#include "resume.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/files.h"
#include "../shared/program.h"

/* What the file has of a training before the points of its curve. */
enum { POINTS, LOSS_SUM, SECONDS, WIDTH, PARAMETERS, NUMBERS };
enum { OF_POINT = 3 };

static const char mark[] = "glu-variants", version[] = "1";

/* Which characters the text has, as FNV-1a. */
static void hash_text(const corpus *text, char hash[24])
{
    uint64_t sum = 0xcbf29ce484222325;
    for (int64_t i = 0; i < text->characters; ++i) {
        sum = (sum ^ (uint64_t)text->ids[i]) * 0x100000001b3;
    }
    snprintf(hash, 24, "%016llx", (unsigned long long)sum);
}

/* ---- the options ---------------------------------------------------------------------------- */

static adz_safetensors *open_file(const char *path)
{
    adz_safetensors *file = adz_safetensors_load(path, NULL);
    const char *there = adz_safetensors_get_metadata(file, mark);
    if (there == NULL || strcmp(there, version) != 0) {
        fail("%s: not saved by %s, or by another version of it", path, program_name);
    }
    return file;
}

/* The value of an option in the file; NULL for a text that was not given. */
static const char *option_of(adz_safetensors *file, const char *path, const argument *a)
{
    char key[64];
    snprintf(key, sizeof key, "option.%s", a->name);
    const char *there = adz_safetensors_get_metadata(file, key);
    if (there == NULL && strcmp(a->name, "text") != 0) {
        fail("%s: its metadata has no '%s'", path, key);
    }
    return there;
}

/* Sets an option to the value of the file. Ends the program if the command line says otherwise. */
static void take_option(const options *o, argument *a)
{
    char here[NUMBER_TEXT + 64];
    const char *there = option_of(o->loaded, o->load, a);
    if (a->kind == ARGUMENT_TEXT && a->given && there != NULL && strcmp(a->name, "text") != 0 &&
        strcmp(*(const char **)a->to, there) != 0) {
        fail("--%s %s: the experiment in %s has %s %s", a->name, *(const char **)a->to, o->load,
            a->name, there);
    } else if (a->kind == ARGUMENT_TEXT) {
        *(const char **)a->to = a->given ? *(const char **)a->to : there;
        return;
    }
    if (a->given && strcmp(argument_text(a, here, sizeof here), there) != 0) {
        fail("--%s %s: the experiment in %s has %s %s", a->name, here, o->load, a->name, there);
    }
    char *text = copy_text(there);
    values_are_from(o->load);
    set_argument(a, text);
    values_are_from(NULL);
    free(text);
}

void load_options(options *o, argument *table)
{
    o->loaded = open_file(o->load);
    for (size_t i = 0; i < SAVED_OPTIONS; ++i) {
        take_option(o, &table[i]);
    }
}

static void add_options(adz_safetensors *file, const options *o)
{
    char key[64], value[NUMBER_TEXT];
    options copy = *o;
    argument table[MOST_OPTIONS];
    option_table(&copy, table);
    for (size_t i = 0; i < SAVED_OPTIONS; ++i) {
        const argument *a = &table[i];
        const char *text = a->kind == ARGUMENT_TEXT ? *(const char **)a->to
                                                    : argument_text(a, value, sizeof value);
        snprintf(key, sizeof key, "option.%s", a->name);
        if (text != NULL) {
            adz_safetensors_set_metadata(file, key, text);
        }
    }
}

/* ---- trainings ------------------------------------------------------------------------------ */

static void add_training(adz_safetensors *file, size_t index, const training *t)
{
    char name[64];
    const int64_t n = NUMBERS + OF_POINT * t->points;
    double *numbers = allocate((size_t)n * sizeof *numbers);
    numbers[POINTS] = (double)t->points;
    numbers[LOSS_SUM] = t->loss_sum;
    numbers[SECONDS] = t->seconds;
    numbers[WIDTH] = (double)t->d_ff;
    numbers[PARAMETERS] = (double)t->parameters;
    for (int64_t i = 0; i < t->points; ++i) {
        const curve_point *p = &t->curve[i];
        const double point[OF_POINT] = { (double)p->step, p->train_loss, p->val_loss };
        memcpy(numbers + NUMBERS + OF_POINT * i, point, sizeof point);
    }
    snprintf(name, sizeof name, "training.%zu", index);
    adz_safetensors_add(file, name, adz_tensor_from(numbers, ADZ_SHAPE(n), ADZ_F64));
    free(numbers);
    if (t->state != NULL) {
        snprintf(name, sizeof name, "state.%zu", index);
        adz_tensor *bytes = adz_tensor_from(t->state, ADZ_SHAPE((int64_t)t->state_size), ADZ_U8);
        adz_safetensors_add(file, name, bytes);
    }
}

void save_trainings(const options *o, const corpus *text, const training *all, size_t count)
{
    char hash[24];
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_new();
    hash_text(text, hash);
    adz_safetensors_set_metadata(file, mark, version);
    adz_safetensors_set_metadata(file, "characters", hash);
    add_options(file, o);
    for (size_t i = 0; i < count; ++i) {
        add_training(file, i, &all[i]);
    }
    adz_safetensors_save(file, o->save);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}

/* Ends the program for numbers that it has not written. */
static void check_numbers(const options *o, const double *numbers, int64_t n)
{
    const double points = n >= NUMBERS ? numbers[POINTS] : -1;
    bool right = points >= 0 && points <= (double)o->evaluations &&
                 (double)n == NUMBERS + OF_POINT * points && numbers[WIDTH] >= 0 &&
                 numbers[WIDTH] < 0x1p53 && numbers[PARAMETERS] >= 0 &&
                 numbers[PARAMETERS] < 0x1p53 && numbers[SECONDS] >= 0;
    for (int64_t i = 0; right && i < (int64_t)points; ++i) {
        right = numbers[NUMBERS + OF_POINT * i] == (double)step_of_point(o, i);
    }
    if (!right) {
        fail("%s: its trainings are not what this program wrote", o->load);
    }
}

static void read_training(const options *o, size_t index, training *t)
{
    char name[64];
    snprintf(name, sizeof name, "training.%zu", index);
    adz_tensor *table = adz_to(adz_safetensors_get(o->loaded, name), ADZ_F64);
    const double *numbers = adz_tensor_data_f64(table);
    check_numbers(o, numbers, adz_tensor_numel(table));
    t->points = (int64_t)numbers[POINTS];
    t->loss_sum = numbers[LOSS_SUM];
    t->seconds = numbers[SECONDS];
    t->d_ff = (int64_t)numbers[WIDTH];
    t->parameters = (int64_t)numbers[PARAMETERS];
    for (int64_t i = 0; i < t->points; ++i) {
        const double *p = numbers + NUMBERS + OF_POINT * i;
        t->curve[i] = (curve_point){ step_of_point(o, i), p[1], p[2] };
    }
    snprintf(name, sizeof name, "state.%zu", index);
    if (adz_safetensors_has(o->loaded, name)) {
        t->state = read_bytes(o->loaded, name, &t->state_size);
    } else if (t->points > 0 && !is_finished(o, t)) {
        fail("%s: it lacks the tensor '%s'", o->load, name);
    }
}

void load_trainings(const options *o, const corpus *text, training *all, size_t count)
{
    char hash[24];
    const char *there = adz_safetensors_get_metadata(o->loaded, "characters");
    hash_text(text, hash);
    if (there == NULL || strcmp(there, hash) != 0) {
        fail("%s: %s is not the text that its experiment was begun with", o->load, text->name);
    }
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < count; ++i) {
        read_training(o, i, &all[i]);
    }
    adz_scope_close(scope);
}

/* ---- checkpoints ---------------------------------------------------------------------------- */

/* A file beside that of --save for the checkpoint of one training, for free(). */
static char *scratch_path(const options *o, const training *t)
{
    const size_t size = strlen(o->save) + 64;
    char *path = allocate(size);
    snprintf(path, size, "%s.%s-%llu.tmp", o->save, t->variant, (unsigned long long)t->seed);
    return path;
}

void pause_training(const options *o, training *t, const adz_checkpoint *checkpoint)
{
    char *path = scratch_path(o, t);
    adz_checkpoint_save(checkpoint, path);
    free(t->state);
    t->state = read_whole_file(path, &t->state_size);
    unlink(path);
    free(path);
}

void resume_training(const options *o, const training *t, adz_checkpoint *checkpoint)
{
    char *path = scratch_path(o, t);
    FILE *file = create_file(path);
    fwrite(t->state, 1, t->state_size, file);
    finish_file(path, file);
    adz_checkpoint_load(checkpoint, path);
    unlink(path);
    free(path);
    if (checkpoint->step > o->steps) {
        fail("%s: its trainings are not what this program wrote", o->load);
    }
}
