/* Parameters and gradients in flat buffers. The engine's part is in autograd/leaf.h. */
#include "adze/nn/flat_parameters.h"
#include "base/capture.h"

#include "autograd/leaf.h"
#include "base/error.h"
#include "base/handle.h"
#include "base/index.h"
#include "tensor/copy.h"

enum { GROUPS = 2 }; /* one per dtype that parameters can have */

typedef struct group {
    adz_dtype dtype;
    int64_t length;        /* elements, gaps included */
    adz_tensor *values;    /* [length] */
    adz_tensor *gradients; /* [length] */
} group;

/* A parameter, and what is made for it before anything changes. */
typedef struct slice {
    adz_tensor *parameter;
    int group;
    int64_t offset;
    bool moved; /* the parameter and its gradient lie in the buffers */
    /* Tensors around the slices, until the parameter adopts the one and its gradient part owns the
     * other. The place then has a single owner, so that kernels may write to it. */
    adz_tensor *value, *place;
} slice;

struct adz_flat_parameters {
    adzi_handle handle;
    slice *slices;
    size_t count, capacity;
    group groups[GROUPS];
    int n_groups;
};

/* ---- which parameters ----------------------------------------------------------------------- */

/* `storages` has those of the parameters in front of i. */
static bool check_parameter(
    const char *op, const adz_tensor *t, size_t i, const adzi_index *storages)
{
    const char *shape = adzi_text_shape(t);
    if (t->node != NULL) {
        adzi_error(op, ADZ_ERR_GRAPH, "parameter %zu%s was made by %s and is not a leaf", i, shape,
            t->node->op->name);
    } else if (t->gradient != NULL && t->gradient->place != NULL) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "parameter %zu%s is laid out already; end the other layout with adz_flat_parameters_free first",
            i, shape);
    } else if (adzi_index_has_address(storages, t->storage)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "parameter %zu%s is a view that shares its memory with an earlier parameter; replace it by adz_clone of it",
            i, shape);
    } else if (!adzi_is_contiguous(t)) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "parameter %zu%s is not contiguous; replace it by adz_contiguous of it", i, shape);
    } else {
        return true;
    }
    return false;
}

/* The group of a dtype, made when absent. There are only f32 and f64. */
static int group_of(adz_flat_parameters *flat, adz_dtype dtype)
{
    int g = 0;
    while (g < flat->n_groups && flat->groups[g].dtype != dtype) {
        ++g;
    }
    if (g == flat->n_groups) {
        flat->groups[flat->n_groups++].dtype = dtype;
    }
    return g;
}

static bool append(const char *op, adz_flat_parameters *flat, adz_tensor *t)
{
    if (!adzi_grow(&flat->slices, &flat->capacity, flat->count + 1, sizeof *flat->slices)) {
        adzi_fail_memory(op, sizeof *flat->slices);
        return false;
    }
    const int g = group_of(flat, (adz_dtype)t->dtype);
    const int64_t unit = ADZI_ALIGNMENT / (int64_t)adzi_item_size(t);
    group *all = &flat->groups[g];
    if (t->numel > INT64_MAX / ADZI_ALIGNMENT - all->length) {
        adzi_error(op, ADZ_ERR_MEMORY, "the parameters do not fit one buffer");
        return false;
    }
    flat->slices[flat->count++] =
        (slice){ .parameter = adzi_retain(t), .group = g, .offset = all->length };
    all->length += (t->numel + unit - 1) / unit * unit;
    return true;
}

/* Collects each parameter that wants a gradient, once. */
static bool collect(const char *op, adz_flat_parameters *flat, adz_tensor_list list)
{
    adzi_index listed = { 0 }, storages = { 0 };
    bool good =
        adzi_index_reserve(&listed, list.count) && adzi_index_reserve(&storages, list.count);
    if (!good) {
        adzi_fail_memory(op, 4 * list.count * sizeof(adzi_index_slot));
    }
    for (size_t i = 0; i < list.count && good; ++i) {
        adz_tensor *t = list.items[i];
        good = adzi_check_tensor(op, "a parameter", t);
        if (good && adzi_requires_grad(t) && !adzi_index_has_address(&listed, t)) {
            good = check_parameter(op, t, i, &storages) && append(op, flat, t);
            if (good) {
                adzi_index_enter_address(&listed, t);
                adzi_index_enter_address(&storages, t->storage);
            }
        }
    }
    adzi_index_free(&listed);
    adzi_index_free(&storages);
    if (good && flat->count == 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "none of the %zu parameters wants a gradient", list.count);
        good = false;
    }
    return good;
}

/* ---- buffers -------------------------------------------------------------------------------- */

static bool make_buffers(const char *op, adz_flat_parameters *flat)
{
    for (int g = 0; g < flat->n_groups; ++g) {
        group *all = &flat->groups[g];
        all->values = adzi_tensor_new(adzi_self(), op, all->dtype, 1, &all->length);
        all->gradients = all->values != NULL
                             ? adzi_tensor_new(adzi_self(), op, all->dtype, 1, &all->length)
                             : NULL;
        if (all->gradients == NULL) {
            return false;
        }
        adzi_fill(all->values, 0);
        adzi_fill(all->gradients, 0);
    }
    return true;
}

static void release_buffer(void *data, void *user)
{
    (void)data;
    adzi_storage_release(user);
}

/* A tensor like `t` around the elements of a buffer from `offset` on, with its own storage: an
 * in-place change of one parameter must not raise the version of the others. The storage keeps the
 * buffer alive. */
static adz_tensor *slice_tensor(
    const char *op, const adz_tensor *buffer, const adz_tensor *t, int64_t offset)
{
    const int64_t item = (int64_t)adzi_item_size(t);
    adzi_storage *storage =
        adzi_storage_around(buffer->data + offset * item, (size_t)(t->numel * item));
    if (storage == NULL) {
        return adzi_fail_memory(op, sizeof *storage);
    }
    adz_tensor *made =
        adzi_tensor_over(adzi_self(), op, storage, (adz_dtype)t->dtype, t->rank, t->sizes);
    if (made != NULL) {
        adzi_refs_take(&buffer->storage->refs);
        adzi_storage_hand_over(storage, release_buffer, buffer->storage);
    }
    adzi_storage_release(storage);
    return made;
}

static bool make_slices(const char *op, adz_flat_parameters *flat)
{
    for (size_t i = 0; i < flat->count; ++i) {
        slice *s = &flat->slices[i];
        const group *all = &flat->groups[s->group];
        s->value = slice_tensor(op, all->values, s->parameter, s->offset);
        s->place =
            s->value != NULL ? slice_tensor(op, all->gradients, s->parameter, s->offset) : NULL;
        if (s->place == NULL || adzi_gradient_of(op, s->parameter) == NULL) {
            return false;
        }
    }
    return true;
}

/* Moves a parameter and its gradient to their slices. The version stays, since the values do: a
 * graph that has saved the parameter remains valid. */
static void move_in(slice *s)
{
    adz_tensor *t = s->parameter, *value = s->value;
    adzi_gradient *gradient = t->gradient;
    adzi_copy(value, t);
    value->storage->version = t->storage->version;
    value->storage->writer = t->storage->writer;
    value->storage->file = t->storage->file;
    value->storage->line = t->storage->line;
    s->value = NULL;
    adzi_tensor_adopt(t, value);
    gradient->place = s->place;
    s->place = NULL;
    s->moved = true;
    if (gradient->grad != NULL) {
        adzi_copy(gradient->place, gradient->grad);
        adzi_gradient_placed(gradient, "adz_flat_parameters_new");
    }
}

/* ---- making and ending ---------------------------------------------------------------------- */

static void destroy(adz_flat_parameters *flat)
{
    for (size_t i = 0; i < flat->count; ++i) {
        slice *s = &flat->slices[i];
        adzi_gradient *gradient = s->parameter->gradient;
        if (s->moved) {
            adz_tensor *place = gradient->place;
            gradient->place = NULL;
            adzi_drop(place);
        }
        adzi_drop(s->place);
        adzi_drop(s->value);
        adzi_drop(s->parameter);
    }
    for (int g = 0; g < flat->n_groups; ++g) {
        adzi_drop(flat->groups[g].values);
        adzi_drop(flat->groups[g].gradients);
    }
    adzi_free(flat->slices, flat->capacity * sizeof *flat->slices);
    adzi_handle_end(flat, sizeof *flat);
}

adz_flat_parameters *adz_flat_parameters_new(adz_tensor_list parameters)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_flat_parameters_new";
    adzi_settle(adzi_self()); /* a backward that was left by a jump still owns gradients */
    if (parameters.items == NULL) {
        if (adzi_pending() == ADZ_OK) {
            adzi_error_null(op, "the list of parameters");
        }
        return NULL;
    }
    adz_flat_parameters *flat = adzi_handle_new(sizeof *flat);
    if (flat == NULL) {
        return adzi_fail_memory(op, sizeof *flat);
    }
    if (!collect(op, flat, parameters) || !make_buffers(op, flat) || !make_slices(op, flat)) {
        destroy(flat);
        return NULL;
    }
    for (size_t i = 0; i < flat->count; ++i) {
        move_in(&flat->slices[i]);
    }
    return flat;
}

void adz_flat_parameters_free(adz_flat_parameters **flat)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, );
    adz_flat_parameters *gone = adzi_handle_take("adz_flat_parameters_free", "flat", flat);
    if (gone != NULL) {
        destroy(gone);
    }
}

/* ---- looking -------------------------------------------------------------------------------- */

size_t adz_flat_parameters_count(const adz_flat_parameters *flat)
{
    return flat != NULL ? flat->count : 0;
}

static const slice *slice_at(const char *op, const adz_flat_parameters *flat, size_t index)
{
    if (!adzi_check_handle(op, "flat", flat)) {
        return NULL;
    }
    if (index >= flat->count) {
        return adzi_fail(
            op, ADZ_ERR_INDEX, "there is no parameter %zu, only %zu", index, flat->count);
    }
    return &flat->slices[index];
}

adz_flat_slice adz_flat_parameters_slice_at(const adz_flat_parameters *flat, size_t index)
{
    const slice *s = slice_at("adz_flat_parameters_slice_at", flat, index);
    return s != NULL ? (adz_flat_slice){ s->parameter, s->group, s->offset, s->parameter->numel }
                     : (adz_flat_slice){ NULL, 0, 0, 0 };
}

int adz_flat_parameters_group_count(const adz_flat_parameters *flat)
{
    return flat != NULL ? flat->n_groups : 0;
}

static const group *group_at(const char *op, const adz_flat_parameters *flat, int g)
{
    if (!adzi_check_handle(op, "flat", flat)) {
        return NULL;
    }
    if (g < 0 || g >= flat->n_groups) {
        return adzi_fail(op, ADZ_ERR_INDEX, "there is no group %d, only %d", g, flat->n_groups);
    }
    return &flat->groups[g];
}

adz_tensor *adz_flat_parameters_values(const adz_flat_parameters *flat, int group_index)
{
    const group *g = group_at("adz_flat_parameters_values", flat, group_index);
    return g != NULL ? g->values : NULL;
}

adz_tensor *adz_flat_parameters_gradients(const adz_flat_parameters *flat, int group_index)
{
    const group *g = group_at("adz_flat_parameters_gradients", flat, group_index);
    return g != NULL ? g->gradients : NULL;
}

/* ---- changing ------------------------------------------------------------------------------- */

adz_status adz_flat_parameters_attach_grad(adz_flat_parameters *flat, size_t index)
{
    static const char op[] = "adz_flat_parameters_attach_grad";
    adzi_settle(adzi_self());
    const slice *s = slice_at(op, flat, index);
    if (s == NULL) {
        return adz_error_code();
    }
    adzi_gradient *gradient = s->parameter->gradient;
    if (!adzi_place_is_free(gradient)) {
        return adzi_error(op, ADZ_ERR_STATE,
            "a running backward has not finished the gradient of parameter %zu%s", index,
            adzi_text_shape(s->parameter));
    }
    if (gradient->grad == NULL) {
        adzi_gradient_placed(gradient, op);
    }
    return ADZ_OK;
}

adz_status adz_flat_parameters_touch(adz_flat_parameters *flat)
{
    static const char op[] = "adz_flat_parameters_touch";
    if (!adzi_check_handle(op, "flat", flat)) {
        return adz_error_code();
    }
    for (size_t i = 0; i < flat->count; ++i) {
        adzi_written(flat->slices[i].parameter, op);
        adzi_written(flat->slices[i].parameter->gradient->place, op);
    }
    return ADZ_OK;
}

/* ---- comparing ------------------------------------------------------------------------------ */

static adz_status compare(
    const char *op, const adz_flat_parameters *flat, adz_tensor_list list, adzi_index *seen)
{
    size_t n = 0;
    for (size_t i = 0; i < list.count; ++i) {
        adz_tensor *t = list.items[i];
        if (!adzi_check_tensor(op, "a parameter", t)) {
            return adz_error_code();
        }
        if (adzi_index_has_address(seen, t)) {
            continue;
        }
        adzi_index_enter_address(seen, t);
        if (n < flat->count && flat->slices[n].parameter == t) {
            ++n;
        } else if (adzi_requires_grad(t)) {
            return adzi_error(op, ADZ_ERR_STATE,
                "parameter %zu%s is not at position %zu of the layout: the module was changed after it was laid out; end the layout and make a new one",
                i, adzi_text_shape(t), n);
        }
    }
    return n == flat->count
               ? ADZ_OK
               : adzi_error(op, ADZ_ERR_STATE,
                     "the layout has %zu parameters, of which %zu%s is not in the list: the module was changed after it was laid out; end the layout and make a new one",
                     flat->count, n, adzi_text_shape(flat->slices[n].parameter));
}

adz_status adz_flat_parameters_check(const adz_flat_parameters *flat, adz_tensor_list parameters)
{
    static const char op[] = "adz_flat_parameters_check";
    if (flat == NULL || parameters.items == NULL) {
        return adzi_error_null(op, flat == NULL ? "flat" : "the list of parameters");
    }
    adzi_index seen = { 0 };
    if (!adzi_index_reserve(&seen, parameters.count)) {
        adzi_fail_memory(op, 2 * parameters.count * sizeof(adzi_index_slot));
        return ADZ_ERR_MEMORY;
    }
    adz_status status = compare(op, flat, parameters, &seen);
    adzi_index_free(&seen);
    return status;
}
