/* Loading a checkpoint, from a file or from memory, completely or not at all. Everything that can
 * fail is read and checked first, into a `plan`. With data-parallel training the ranks then agree
 * that all of them have a plan. Last come the changes, which cannot fail. */
#include <errno.h>
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/capture.h"
#include "data/loader.h"
#include "base/door.h"
#include "base/source.h"
#include "distributed/agreement.h"
#include "io/checkpoint_carried.h"
#include "io/checkpoint.h"
#include "io/module.h"
#include "io/safetensors.h"
#include "nn/load.h"
#include "optim/optimizer.h"
#include "optim/schedules/scheduler.h"
#include "tensor/copy.h"
#include "adze/options.h"

/* A checkpoint that has been read and checked, and not yet applied. */
typedef struct plan {
    const char *op, *from;           /* the public function; "file" or "collection" */
    adz_checkpoint parts;            /* the caller's struct */
    const adz_safetensors *file;     /* `read`, or the collection of the caller */
    adz_safetensors *read;           /* what was read from the path; NULL for a collection */
    adz_state_dict *given, *targets; /* the model's tensors: in the file; in the model itself */
    adz_state_dict *optimizer;       /* the file's tensors "state. ..." */
    json_t *groups;                  /* {"name": ..., "param_groups": ...} */
    adzi_restore *restore;           /* of the optimizer */
    adzi_carried_values carried;     /* with data-parallel training */
    adz_loader_position position;    /* of the loader, in the file */
    adz_status status;               /* of the checks */
} plan;

/* ---- reading -------------------------------------------------------------------------------- */

/* Reads a whole number from the metadata. */
static adz_status read_number(plan *p, const char *key, int64_t *value)
{
    const char *text = adz_safetensors_get_metadata(p->file, key);
    char *end = NULL;
    errno = 0;
    *value = text != NULL && text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : 0;
    return end != NULL && *end == '\0' && errno == 0
               ? ADZ_OK
               : adzi_error(p->op, ADZ_ERR_FORMAT, "its %s is no number", key);
}

/* Finds a tensor [n] of the dtype, which has 8 bytes per element. NULL with the error recorded if
 * there is none. */
static const adz_tensor *find_numbers(plan *p, const char *name, adz_dtype dtype, size_t n)
{
    size_t position = adzi_safetensors_find(p->file, name);
    if (position == p->file->n_tensors) {
        return adzi_fail(
            p->op, ADZ_ERR_STATE, "the %s has no %s; it was saved without one", p->from, name);
    }
    const adz_tensor *t = p->file->tensors[position].tensor;
    if (t->dtype != dtype || t->rank != 1 || t->sizes[0] != (int64_t)n) {
        return adzi_fail(p->op, ADZ_ERR_STATE, "%s is %s%s in the %s, and should be %s[%zu]", name,
            adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t), p->from, adz_dtype_name(dtype),
            n);
    }
    return t;
}

/* Checks that the file is a checkpoint, and reads epoch and step. */
static adz_status read_epoch(plan *p)
{
    const char *version = adz_safetensors_get_metadata(p->file, ADZI_CHECKPOINT_MARK);
    bool drawn = version != NULL && strcmp(version, ADZI_CHECKPOINT_DRAWN) == 0;
    if (version == NULL || (!drawn && strcmp(version, ADZI_CHECKPOINT_VERSION) != 0)) {
        return adzi_error(p->op, ADZ_ERR_FORMAT,
            version == NULL ? "it is no checkpoint; weights alone are read by adz_module_load"
                            : "it is a checkpoint of a later version");
    }
    if (drawn && p->parts.loader != NULL) {
        return adzi_error(p->op, ADZ_ERR_UNSUPPORTED,
            "its loader's position counts batches of an order that an earlier version drew, which is gone; load it with loader = NULL, which restores all other parts, and begin an epoch");
    }
    adz_status status = read_number(p, "epoch", &p->parts.epoch);
    return status == ADZ_OK ? read_number(p, "step", &p->parts.step) : status;
}

/* ---- checking ------------------------------------------------------------------------------- */

/* Finds the model's tensors in the file and checks names and shapes. */
static adz_status plan_model(plan *p)
{
    if (p->parts.model == NULL) {
        return ADZ_OK;
    }
    adz_load_options options = ADZ_LOAD_OPTIONS;
    options.prefix = ADZI_CHECKPOINT_MODEL;
    p->given = adzi_module_pick(p->op, p->parts.model, &options, p->file);
    p->targets = p->given != NULL ? adz_module_state_dict(p->parts.model) : NULL;
    if (p->targets == NULL) {
        return adz_error_code();
    }
    return adzi_load_check("adz_module_load_state_dict", p->parts.model, p->given);
}

/* Finds the optimizer's tensors and groups, checks them, and makes the new states. */
static adz_status plan_optimizer(plan *p)
{
    adzi_shown shown;
    if (p->parts.optimizer == NULL) {
        return ADZ_OK;
    }
    const char *text = adz_safetensors_get_metadata(p->file, ADZI_CHECKPOINT_OPTIMIZER);
    if (text == NULL) {
        return adzi_error(
            p->op, ADZ_ERR_STATE, "the %s has no optimizer; it was saved without one", p->from);
    }
    json_error_t error;
    p->groups = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    const char *name = json_string_value(json_object_get(p->groups, "name"));
    if (p->groups == NULL || name == NULL) {
        return adzi_error(
            p->op, ADZ_ERR_FORMAT, "its optimizer is not what adz_checkpoint_save wrote");
    }
    if (strcmp(name, adz_optimizer_name(p->parts.optimizer)) != 0) {
        return adzi_error(p->op, ADZ_ERR_STATE, "the %s's optimizer is a %s, this one a %s",
            p->from, adzi_show(&shown, name), adz_optimizer_name(p->parts.optimizer));
    }
    p->optimizer = adz_state_dict_new();
    adz_status status = adzi_status(p->optimizer);
    for (size_t i = 0; i < p->file->n_tensors && status == ADZ_OK; ++i) {
        const adzi_named *entry = &p->file->tensors[i];
        if (strncmp(entry->name, ADZI_CHECKPOINT_STATE, strlen(ADZI_CHECKPOINT_STATE)) == 0) {
            status = adz_state_dict_add(p->optimizer, entry->name, entry->tensor);
        }
    }
    if (status == ADZ_OK) {
        p->restore = adzi_restore_new(
            p->parts.optimizer, p->optimizer, json_object_get(p->groups, "param_groups"));
        status = adzi_status(p->restore);
    }
    return status;
}

static adz_status plan_scheduler(plan *p, size_t index)
{
    char name[ADZI_CHECKPOINT_NAME];
    adzi_shown shown;
    adz_scheduler *scheduler = p->parts.schedulers[index];
    snprintf(name, sizeof name, ADZI_CHECKPOINT_SCHEDULER, index);
    const char *kind = adz_safetensors_get_metadata(p->file, name);
    if (kind != NULL && strcmp(kind, adz_scheduler_name(scheduler)) != 0) {
        return adzi_error(p->op, ADZ_ERR_STATE, "%s is a %s in the %s, here a %s", name,
            adzi_show(&shown, kind), p->from, adz_scheduler_name(scheduler));
    }
    const adz_tensor *t =
        find_numbers(p, name, ADZ_F64, adz_scheduler_get_state(scheduler, NULL, 0));
    if (t == NULL) {
        return adz_error_code();
    }
    return adzi_scheduler_fits(scheduler, (const double *)(const void *)t->data, (size_t)t->numel)
               ? ADZ_OK
               : adzi_error(p->op, ADZ_ERR_FORMAT, "%s is no state of a %s", name,
                     adz_scheduler_name(scheduler));
}

static adz_status plan_generator(plan *p, size_t index)
{
    char name[ADZI_CHECKPOINT_NAME];
    snprintf(name, sizeof name, ADZI_CHECKPOINT_GENERATOR, index);
    return adzi_status(find_numbers(p, name, ADZ_I64, 2));
}

static adz_status plan_loader(plan *p)
{
    if (p->parts.loader == NULL) {
        return ADZ_OK;
    }
    const adz_tensor *t = find_numbers(p, ADZI_CHECKPOINT_LOADER, ADZ_I64, ADZI_LOADER_NUMBERS);
    if (t == NULL) {
        return adz_error_code();
    }
    uint64_t n[ADZI_LOADER_NUMBERS];
    memcpy(n, t->data, sizeof n);
    p->position = (adz_loader_position){ n[0], n[1], (int64_t)n[2], (int64_t)n[3] };
    return adzi_loader_check_position(p->op, p->parts.loader, &p->position);
}

static adz_status check_all(plan *p)
{
    adz_status status = read_epoch(p);
    status = status == ADZ_OK ? plan_model(p) : status;
    for (size_t i = 0; i < p->parts.n_schedulers && status == ADZ_OK; ++i) {
        status = plan_scheduler(p, i);
    }
    for (size_t i = 0; i < p->parts.n_generators && status == ADZ_OK; ++i) {
        status = plan_generator(p, i);
    }
    status = status == ADZ_OK ? plan_loader(p) : status;
    status = status == ADZ_OK ? plan_optimizer(p) : status;
    return status == ADZ_OK && p->parts.parallel != NULL
               ? adzi_carried_read(p->op, &p->carried, p->parts.parallel, p->read)
               : status;
}

/* ---- changing ------------------------------------------------------------------------------- */

static void commit_model(const plan *p)
{
    for (size_t i = 0; p->targets != NULL && i < adz_state_dict_count(p->targets); ++i) {
        adz_tensor *to = adz_state_dict_at(p->targets, i);
        adzi_copy(to, adz_state_dict_get(p->given, adz_state_dict_name_at(p->targets, i)));
        adzi_written(to, p->op);
    }
}

/* Applies the plan. Nothing here can fail, because check_all has checked it. */
static void commit(plan *p)
{
    char name[ADZI_CHECKPOINT_NAME];
    commit_model(p);
    if (p->restore != NULL) {
        adzi_restore_commit(p->restore);
    }
    adzi_carried_commit(&p->carried);
    for (size_t i = 0; i < p->parts.n_schedulers; ++i) {
        snprintf(name, sizeof name, ADZI_CHECKPOINT_SCHEDULER, i);
        const adz_tensor *t = p->file->tensors[adzi_safetensors_find(p->file, name)].tensor;
        adz_scheduler_set_state(
            p->parts.schedulers[i], (const double *)(const void *)t->data, (size_t)t->numel);
    }
    if (p->parts.loader != NULL) {
        adzi_loader_move(p->parts.loader, &p->position);
    }
    for (size_t i = 0; i < p->parts.n_generators; ++i) {
        snprintf(name, sizeof name, ADZI_CHECKPOINT_GENERATOR, i);
        const adz_tensor *t = p->file->tensors[adzi_safetensors_find(p->file, name)].tensor;
        uint64_t numbers[2];
        memcpy(numbers, t->data, sizeof numbers);
        adz_generator_set_state(
            p->parts.generators[i], (adz_generator_state){ numbers[0], numbers[1] });
    }
}

static bool check_behind_door(void *state)
{
    plan *p = state;
    p->status = check_all(p);
    return p->status == ADZ_OK;
}

/* Checks all of the file. Errors begin with the path. */
static adz_status check_at(plan *p, const char *path)
{
    const adzi_door door = { .op = p->op, .path = path };
    p->status = ADZ_ERR_MEMORY; /* unless the door opens */
    adzi_through_door(&door, check_behind_door, p);
    return p->status;
}

/* Reads the file and checks it. */
static adz_status make_plan(plan *p, const char *path)
{
    adzi_shown shown;
    /* A rank of several maps the file, and reads only the parts that it needs. */
    adz_safetensors_options o = ADZ_SAFETENSORS_OPTIONS;
    o.map = p->parts.parallel != NULL && adz_group_size(p->parts.parallel->group) > 1;
    p->file = p->read = adz_safetensors_load(path, &o);
    if (p->file == NULL) {
        return adz_error_code();
    }
    return check_at(p, adzi_show(&shown, path));
}

static void end_plan(plan *p)
{
    adz_state_dict_free(&p->given);
    adz_state_dict_free(&p->targets);
    adz_state_dict_free(&p->optimizer);
    json_decref(p->groups);
    adzi_restore_free(&p->restore);
    adzi_carried_end(&p->carried);
    adz_safetensors_free(&p->read);
}

/* Says what the file holds: all of its names and metadata. */
static void describe(adzi_group_call *call, const plan *p)
{
    const adz_safetensors *file = p->file;
    snprintf(call->what, sizeof call->what, "the checkpoint");
    adzi_group_call_say(call, "epoch %lld, step %lld, %zu tensors", (long long)p->parts.epoch,
        (long long)p->parts.step, file->n_tensors);
    for (size_t i = 0; i < file->n_tensors; ++i) {
        adzi_group_call_add(call, file->tensors[i].name, strlen(file->tensors[i].name) + 1);
    }
    for (size_t i = 0; i < file->n_metadata; ++i) {
        adzi_group_call_add(call, file->metadata[i].key, strlen(file->metadata[i].key) + 1);
        adzi_group_call_add(call, file->metadata[i].value, strlen(file->metadata[i].value) + 1);
    }
}

/* Makes the plan. With data-parallel training all ranks have one afterwards, or none has. */
static adz_status plan_all(plan *p, const char *path)
{
    adz_data_parallel *parallel = p->parts.parallel;
    if (parallel != NULL && !adzi_may_agree(p->op, parallel->group)) {
        return adzi_pending();
    }
    adz_status status = parallel != NULL ? adzi_pending() : adzi_refused(p->op);
    if (status == ADZ_OK && path == NULL) {
        status = adzi_error_null(p->op, "path");
    }
    status = status == ADZ_OK ? adzi_checkpoint_check(p->op, &p->parts) : status;
    status = status == ADZ_OK ? make_plan(p, path) : status;
    if (parallel != NULL) {
        adzi_group_call call = { .operation = ADZI_GROUP_CALL_LOAD };
        if (status == ADZ_OK) {
            describe(&call, p);
        }
        status = adzi_agree(p->op, parallel->group, &call);
    }
    return status;
}

/* Fills the plan's parts by the caller's struct. */
static adz_status take_parts(plan *p, const adz_checkpoint *checkpoint)
{
    p->parts = (adz_checkpoint)ADZ_CHECKPOINT;
    if (checkpoint == NULL) {
        return adzi_error_null(p->op, "checkpoint");
    }
    return ADZ_OPTIONS_READ(p->op, ADZ_CHECKPOINT, &p->parts, checkpoint) ? ADZ_OK
                                                                          : adz_error_code();
}

/* Applies a plan that was made, says epoch and step, and ends the plan. */
static adz_status finish(plan *p, adz_status status, adz_checkpoint *checkpoint)
{
    if (status == ADZ_OK) {
        commit(p);
    }
    if (status == ADZ_OK && checkpoint->size >= offsetof(adz_checkpoint, parallel)) {
        checkpoint->epoch = p->parts.epoch;
        checkpoint->step = p->parts.step;
    }
    end_plan(p);
    return status;
}

adz_status adz_checkpoint_load(adz_checkpoint *checkpoint, const char *path)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    plan p = { .op = "adz_checkpoint_load", .from = "file" };
    const adz_status status = take_parts(&p, checkpoint);
    return status == ADZ_OK ? finish(&p, plan_all(&p, path), checkpoint) : status;
}

/* ---- in memory ------------------------------------------------------------------------------ */

/* Makes the checks of a collection that adz_safetensors_load makes of a file. */
static adz_status check_collection(const plan *p)
{
    if (!adzi_check_handle(p->op, "collection", p->file)) {
        return adz_error_code();
    }
    if (p->parts.parallel != NULL) {
        return adzi_error(
            p->op, ADZ_ERR_UNSUPPORTED, "`parallel` is set; %s", ADZI_CHECKPOINT_BY_FILES);
    }
    for (size_t i = 0; i < p->file->n_tensors; ++i) {
        adzi_shown shown;
        const adzi_named *entry = &p->file->tensors[i];
        if (!adz_tensor_is_contiguous(entry->tensor)) {
            return adzi_error(p->op, ADZ_ERR_ARGUMENT,
                "%s is not contiguous; add adz_contiguous of it to the collection",
                adzi_show(&shown, entry->name));
        }
    }
    return adzi_checkpoint_check(p->op, &p->parts);
}

adz_status adz_checkpoint_restore(adz_checkpoint *checkpoint, const adz_safetensors *collection)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    plan p = { .op = "adz_checkpoint_restore", .from = "collection", .file = collection };
    adz_status status = take_parts(&p, checkpoint);
    if (status != ADZ_OK) {
        return status;
    }
    status = adzi_refused(p.op);
    status = status == ADZ_OK ? check_collection(&p) : status;
    status = status == ADZ_OK ? check_at(&p, "the collection") : status;
    return finish(&p, status, checkpoint);
}
