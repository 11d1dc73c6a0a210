/* Containers of modules: Sequential, ModuleList and Identity. Children are called "0", "1", ... */
#include "adze/nn/containers.h"

#include <stdio.h>

#include "nn/fusion.h"
#include "nn/containers.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/threads/thread.h"

/* ---- Sequential ----------------------------------------------------------------------------- */

/* Computes child *i, and moves *i to the next child. If child *i is a linear layer, the elementwise
 * steps after it are computed in one operator with it (Note [Fused modules]). */
static adz_tensor *forward_from(const adz_module *self, size_t *i, adz_tensor *x)
{
    adz_module *first = adzi_child_at(self, (*i)++);
    if (first->type.linear_parts != NULL && *i < self->n_children) {
        size_t end = *i;
        adz_bias_activation_options steps = adzi_no_steps();
        while (end < self->n_children && adzi_add_step(adzi_child_at(self, end), &steps)) {
            ++end;
        }
        adz_tensor *y = adzi_forward_linear(first, &steps, x);
        if (y != ADZ_NONE) {
            *i = end;
            return y;
        }
    }
    return adz_module_forward(first, x);
}

/* Releases the temporaries of this call, those from `mark` on, except y. A result of a child that
 * no backward has saved ends here, before the next child takes memory. */
static void release_all_but(adzi_thread *thread, size_t mark, adz_tensor *y)
{
    adz_tensor **const all = thread->temporaries;
    for (size_t i = thread->n_temporaries; i-- > mark;) {
        if (all[i] == y) {
            all[i] = all[mark];
            all[mark++] = y;
            break;
        }
    }
    if (thread->n_temporaries > mark) {
        adzi_scope_unwind(thread, mark);
    }
}

/* A ReLU before a pooling by the maximum is computed after it (Note [A ReLU after a maximum]). */
static adz_tensor *sequential_forward(adz_module *self, adz_tensor *x)
{
    adzi_thread *const thread = adzi_self();
    const adz_tensor *const argument = x;
    const size_t mark = thread->n_temporaries;
    adz_module *waiting = NULL; /* the ReLU whose turn comes after the next child */
    for (size_t i = 0; x != NULL && (i < self->n_children || waiting != NULL);) {
        if (waiting != NULL) {
            x = adz_module_forward(waiting, x);
            waiting = NULL;
        } else if (i + 1 < self->n_children && x != argument &&
                   adzi_relu_can_wait(adzi_child_at(self, i), adzi_child_at(self, i + 1), x)) {
            waiting = adzi_child_at(self, i);
            x = adz_module_forward(adzi_child_at(self, i + 1), x);
            i += 2;
        } else {
            x = forward_from(self, &i, x);
        }
        release_all_but(thread, mark, x);
    }
    return x;
}

/* Appends all values of `from` to `to`. */
static adz_status append_all(adz_values *to, const adz_values *from)
{
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < from->count && status == ADZ_OK; ++i) {
        status = adz_values_add(to, from->items[i].name, from->items[i].tensor);
    }
    return status;
}

/* Passes all results of a child to the next one. Two lists take turns as arguments and results. */
static adz_status sequential_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_values lists[2];
    adzi_values_begin(&lists[0]);
    adzi_values_begin(&lists[1]);
    lists[0].handed_on = lists[1].handed_on = true;
    adz_status status = ADZ_OK;
    const adz_values *current = in;
    for (size_t i = 0; i < self->n_children && status == ADZ_OK; ++i) {
        adz_values *next = &lists[i % 2];
        adz_values_clear(next);
        status = adz_module_call(adzi_child_at(self, i), current, next);
        current = next;
    }
    if (status == ADZ_OK) {
        status = append_all(out, current);
    }
    adzi_values_end(&lists[0]);
    adzi_values_end(&lists[1]);
    return status;
}

static const adz_module_type sequential_type = {
    .size = sizeof(adz_module_type),
    .name = "Sequential",
    .forward = sequential_forward,
    .call = sequential_call,
};

/* ---- ModuleList ----------------------------------------------------------------------------- */

/* Always fails: the user's own module calls the children. */
static adz_tensor *list_forward(adz_module *self, adz_tensor *x)
{
    (void)x;
    return adzi_fail(self->type.name, ADZ_ERR_UNSUPPORTED,
        "a list cannot be called; call its children, or use a Sequential");
}

const adz_module_type adzi_module_list_type = {
    .size = sizeof(adz_module_type),
    .name = "ModuleList",
    .forward = list_forward,
};

/* ---- making and appending to containers ----------------------------------------------------- */

/* Appends a module to a container of the given type. The caller's reference to `module` is taken
 * over in every case. */

static adz_module *append(
    const char *op, const adz_module_type *type, adz_module *container, adz_module *module)
{
    const bool lives = adzi_check_module(op, "container", container);
    if (!lives || container->identity != type) {
        if (lives) {
            adzi_error(
                op, ADZ_ERR_ARGUMENT, "this is a %s, not a %s", container->type.name, type->name);
        }
        adzi_module_give_back(module);
        return NULL;
    }
    char name[24];
    snprintf(name, sizeof name, "%zu", container->n_children);
    return adz_module_add_child(container, name, module);
}

/* A container of `count` modules, whose references are taken over in every case. */
static adz_module *container_new(
    const char *op, const adz_module_type *type, adz_module *const *modules, size_t count)
{
    if (modules == NULL && count > 0) {
        return adzi_fail_null(op, "modules");
    }
    adz_module *container = adz_module_new(type, 0);
    bool good = container != NULL;
    for (size_t i = 0; i < count; ++i) {
        adz_module *module = modules[i];
        if (good) {
            good = append(op, type, container, module) != NULL;
        } else {
            adzi_module_give_back(module);
        }
    }
    if (!good) {
        adz_module_release(&container);
    }
    return container;
}

adz_module *adz_sequential_new(adz_module *const *modules, size_t count)
{
    return container_new("adz_sequential_new", &sequential_type, modules, count);
}

adz_module *adz_sequential_append(adz_module *sequential, adz_module *module)
{
    return append("adz_sequential_append", &sequential_type, sequential, module);
}

adz_module *adz_module_list_new(adz_module *const *modules, size_t count)
{
    return container_new("adz_module_list_new", &adzi_module_list_type, modules, count);
}

adz_module *adz_module_list_append(adz_module *list, adz_module *module)
{
    return append("adz_module_list_append", &adzi_module_list_type, list, module);
}

/* ---- Identity ------------------------------------------------------------------------------- */

static adz_tensor *identity_forward(adz_module *self, adz_tensor *x)
{
    (void)self;
    return x;
}

static adz_status identity_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    adzi_read_all(in);
    return append_all(out, in);
}

/* Declares a step that changes nothing, so that an Identity does not end a fused sequence. */
static bool identity_step(adz_module *self, adz_bias_activation_options *step)
{
    (void)self;
    (void)step;
    return true;
}

static const adz_module_type identity_type = {
    .size = sizeof(adz_module_type),
    .name = "Identity",
    .forward = identity_forward,
    .call = identity_call,
    .elementwise_step = identity_step,
};

adz_module *adz_identity_new(void)
{
    return adz_module_new(&identity_type, 0);
}
