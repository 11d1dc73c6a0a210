/* The values of parametrised parameters: how they are computed, and noted for the time of a call
 * (Note [Parametrised parameters]). */
#include <pthread.h>
#include <string.h>

#include "adze/ops/shape.h"
#include "base/door.h"
#include "base/error.h"
#include "base/threads/fork.h"
#include "nn/containers.h"
#include "nn/parametrize.h"
#include "tensor/shape.h"

/* ---- the list of a parameter ----------------------------------------------------------------- */

/* The child of this name and type, or NULL. */
static adz_module *child_of(const adz_module *module, const char *name, const adz_module_type *type)
{
    for (size_t i = 0; module != NULL && i < module->n_children; ++i) {
        if (strcmp(module->children[i].name, name) == 0) {
            adz_module *child = module->children[i].module;
            return child->identity == type ? child : NULL;
        }
    }
    return NULL;
}

adz_module *adzi_parametrizations(const adz_module *module)
{
    return child_of(module, "parametrizations", &adzi_module_dict_type);
}

adz_module *adzi_parametrization_list(const char *op, const adz_module *module, size_t i)
{
    const char *name = module->parameters[i].name;
    adz_module *list =
        child_of(adzi_parametrizations(module), name, &adzi_parametrization_list_type);
    if (list == NULL || list->n_parameters == 0 || list->n_children == 0) {
        return adzi_fail(op, ADZ_ERR_STATE,
            "%s is parametrised, but the child parametrizations.%s was taken away or emptied", name,
            name);
    }
    return list;
}

/* ---- checks and inverses --------------------------------------------------------------------- */

size_t adzi_parametrized_index(const char *op, const adz_module *module, const char *name)
{
    if (!adzi_check_module(op, "module", module)) {
        return SIZE_MAX;
    }
    if (name == NULL) {
        adzi_error_null(op, "name");
        return SIZE_MAX;
    }
    const size_t i = adzi_parameter_index(module, name);
    if (i == module->n_parameters || module->parameters[i].tensor != NULL) {
        adzi_error(
            op, ADZ_ERR_ARGUMENT, "%s has no parametrised parameter %s", module->type.name, name);
        return SIZE_MAX;
    }
    return i;
}

bool adzi_parametrized_like(
    const char *op, const char *what, const adz_tensor *y, const adz_tensor *t)
{
    if (y == NULL) {
        return false;
    }
    if (y->dtype != t->dtype) {
        adzi_error(op, ADZ_ERR_DTYPE, "%s is %s, but must be %s", what,
            adz_dtype_name((adz_dtype)y->dtype), adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    if (!adzi_same_sizes(y, t)) {
        adzi_error(op, ADZ_ERR_SHAPE, "%s has the shape %s, but must have %s", what,
            adzi_text_shape(y), adzi_text_shape(t));
        return false;
    }
    return true;
}

typedef struct inversion {
    adz_module *parametrization;
    adz_tensor *value;
    adz_values *originals;
    adz_status status;
} inversion;

static bool run_inverse(void *state)
{
    inversion *i = state;
    i->status = i->parametrization->type.right_inverse(i->parametrization, i->value, i->originals);
    return i->status == ADZ_OK;
}

bool adzi_parametrization_invert(
    const char *op, adz_module *parametrization, adz_tensor *value, adz_values *originals)
{
    const adz_module_type *type = &parametrization->type;
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS_NOTHING, .reports_errors = true };
    inversion i = { parametrization, value, originals, ADZ_OK };
    if (type->right_inverse == NULL) {
        return adz_values_add(originals, "", value) == ADZ_OK;
    }
    if (!adzi_through_door(&door, run_inverse, &i)) {
        adzi_callback_failed(type->name, i.status, "the inverse failed without saying why");
        return false;
    }
    if (originals->count == 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the inverse of %s has no result", type->name);
    }
    return originals->count > 0;
}

/* ---- computing ------------------------------------------------------------------------------- */

adz_tensor *adzi_parametrization_apply(adz_module *parametrization, const adz_values *originals)
{
    if (originals->count == 1) {
        return adz_module_forward(parametrization, originals->items[0].tensor);
    }
    adz_values out;
    adzi_values_begin(&out);
    adz_tensor *y = NULL;
    if (adz_module_call(parametrization, originals, &out) == ADZ_OK) {
        y = out.count > 0
                ? out.items[0].tensor
                : adzi_fail(parametrization->type.name, ADZ_ERR_STATE, "the call has no result");
    }
    adzi_values_end(&out);
    return y;
}

/* The value that the parametrisations of a list make of its originals. */
static adz_tensor *compute(adz_module *list)
{
    adz_values originals;
    adzi_values_begin(&originals);
    bool good = true;
    for (size_t i = 0; i < list->n_parameters && good; ++i) {
        good = adz_values_add(&originals, "", adzi_parameter(list, i)) == ADZ_OK;
    }
    adz_tensor *y = good ? adzi_parametrization_apply(adzi_child_at(list, 0), &originals) : NULL;
    adzi_values_end(&originals);
    for (size_t k = 1; k < list->n_children && y != NULL; ++k) {
        y = adz_module_forward(adzi_child_at(list, k), y);
    }
    return y;
}

/* A list that is called, which takes no argument, gives the value. */
static adz_status list_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)in;
    if (self->n_parameters == 0 || self->n_children == 0) {
        return adzi_error(self->type.name, ADZ_ERR_STATE, "the list is empty");
    }
    adz_tensor *y = compute(self);
    return y != NULL ? adz_values_add(out, "", y) : adz_error_code();
}

const adz_module_type adzi_parametrization_list_type = {
    .size = sizeof(adz_module_type),
    .name = "ParametrizationList",
    .call = list_call,
};

/* ---- values of running calls ----------------------------------------------------------------- */

/* The value of parameter `index` in the call of a module. It is a temporary of that call. */
typedef struct note {
    const adzi_thread *thread;
    const adz_module *module;
    size_t frame, index; /* frame is SIZE_MAX for a stand-in while the module is printed */
    adz_tensor *value;
} note;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static note *notes; /* of all threads; freed when it is empty */
static size_t n_notes, capacity;

ADZI_FORK_TAKES(lock, ADZI_LOCK_PARAMETRIZED)

/* Drops the notes of the thread's frames from `frame` on. Called with the lock. */
static void drop_notes(const adzi_thread *thread, size_t frame)
{
    size_t kept = 0;
    for (size_t k = 0; k < n_notes; ++k) {
        if (notes[k].thread != thread || notes[k].frame < frame) {
            notes[kept++] = notes[k];
        }
    }
    n_notes = kept;
    if (n_notes == 0) {
        adzi_free(notes, capacity * sizeof *notes);
        notes = NULL;
        capacity = 0;
    }
}

static bool add_note(note entry)
{
    pthread_mutex_lock(&lock);
    const bool good = adzi_grow(&notes, &capacity, n_notes + 1, sizeof *notes);
    if (good) {
        notes[n_notes++] = entry;
    }
    pthread_mutex_unlock(&lock);
    if (!good) {
        adzi_fail_memory(entry.module->type.name, sizeof *notes);
    }
    return good;
}

static adz_tensor *find_note(
    const adzi_thread *thread, const adz_module *module, size_t frame, size_t index)
{
    adz_tensor *value = NULL;
    pthread_mutex_lock(&lock);
    for (size_t k = 0; k < n_notes && value == NULL; ++k) {
        const note *n = &notes[k];
        if (n->thread == thread && n->module == module && n->frame == frame && n->index == index) {
            value = n->value;
        }
    }
    pthread_mutex_unlock(&lock);
    return value;
}

void adzi_parametrized_end(size_t frame)
{
    pthread_mutex_lock(&lock);
    drop_notes(adzi_self(), frame);
    pthread_mutex_unlock(&lock);
}

bool adzi_parametrized_begin(adz_module *module)
{
    const adzi_thread *thread = adzi_self();
    const size_t frame = thread->n_frames - 1;
    adzi_parametrized_end(frame); /* those that a jump has left behind */
    for (size_t i = 0; i < module->n_parameters; ++i) {
        if (module->parameters[i].tensor == NULL) {
            adz_module *list = adzi_parametrization_list(module->type.name, module, i);
            adz_tensor *value = list != NULL ? compute(list) : NULL;
            if (value == NULL || !add_note((note){ thread, module, frame, i, value })) {
                return false;
            }
        }
    }
    return true;
}

bool adzi_parametrized_stand_in(const adz_module *module)
{
    for (size_t i = 0; i < module->n_parameters; ++i) {
        if (module->parameters[i].tensor == NULL) {
            const adz_module *list = adzi_parametrization_list(module->type.name, module, i);
            const adzi_parametrization_state *state = list != NULL ? list->state : NULL;
            adz_tensor *value = state != NULL
                                    ? adz_expand(adz_empty(ADZ_SHAPE_SCALAR,
                                                     (adz_dtype)adzi_parameter(list, 0)->dtype),
                                          state->shape)
                                    : NULL;
            if (value == NULL || !add_note((note){ adzi_self(), module, SIZE_MAX, i, value })) {
                return false;
            }
        }
    }
    return true;
}

adz_tensor *adzi_parametrized(const adz_module *module, size_t i)
{
    const adzi_thread *thread = adzi_self();
    for (size_t frame = thread->n_frames; frame-- > 0;) {
        if (thread->frames[frame].owner == module) {
            adz_tensor *value = find_note(thread, module, frame, i);
            if (value != NULL) {
                return value;
            }
            break;
        }
    }
    adz_tensor *stand_in = find_note(thread, module, SIZE_MAX, i);
    if (stand_in != NULL) {
        return stand_in;
    }
    adz_module *list = adzi_parametrization_list(module->type.name, module, i);
    return list != NULL ? compute(list) : NULL;
}
