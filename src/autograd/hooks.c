/* Hooks on gradients: registering, removing, running. */
#include <string.h>

#include "autograd/op.h"
#include "base/door.h"

static atomic_ullong next_hook = 1;
static const char no_hook[] = "t%s has no hook %llu";

/* ---- registering ----------------------------------------------------------------------------- */

static adzi_hook_list **hooks_of(const char *op, adz_tensor *t)
{
    if (t->node != NULL) {
        t->node->watched = true;
        return &t->node->results[t->result].hooks;
    }
    adzi_gradient *gradient = adzi_gradient_of(op, t);
    return gradient != NULL ? &gradient->hooks : NULL;
}

/* Appends a hook and returns its number; 0 with the error recorded. */
static uint64_t append(const char *op, adzi_hook_list **list, adzi_hook hook)
{
    if (*list == NULL && (*list = adzi_alloc_zero(sizeof **list)) == NULL) {
        adzi_fail_memory(op, sizeof **list);
        return 0;
    }
    if (!adzi_grow(&(*list)->hooks, &(*list)->capacity, (*list)->count + 1, sizeof(adzi_hook))) {
        adzi_fail_memory(op, sizeof(adzi_hook));
        return 0;
    }
    adzi_settings_changed();
    hook.id = atomic_fetch_add(&next_hook, 1);
    (*list)->hooks[(*list)->count++] = hook;
    return hook.id;
}

static bool check_wish(const char *op, const adz_tensor *t, bool hooked)
{
    if (!adzi_check_tensor(op, "t", t)) {
        return false;
    }
    if (!hooked) {
        adzi_error_null(op, "hook");
        return false;
    }
    if (!adzi_requires_grad(t)) {
        adzi_error(op, ADZ_ERR_GRAPH, "t%s wants no gradient", adzi_text_shape(t));
        return false;
    }
    return true;
}

uint64_t adz_register_hook(adz_tensor *t, adz_tensor_hook hook, void *user)
{
    static const char op[] = "register_hook";
    if (!check_wish(op, t, hook != NULL)) {
        return 0;
    }
    adzi_hook_list **list = hooks_of(op, t);
    return list != NULL ? append(op, list, (adzi_hook){ .call = hook, .user = user }) : 0;
}

uint64_t adz_register_post_accumulate_grad_hook(
    adz_tensor *t, adz_post_accumulate_grad_hook hook, void *user)
{
    static const char op[] = "register_post_accumulate_grad_hook";
    if (!check_wish(op, t, hook != NULL)) {
        return 0;
    }
    if (t->node != NULL) {
        adzi_error(op, ADZ_ERR_GRAPH,
            "t%s was made by %s; only leaves accumulate a gradient, use adz_register_hook",
            adzi_text_shape(t), t->node->op->name);
        return 0;
    }
    adzi_gradient *gradient = adzi_gradient_of(op, t);
    return gradient != NULL
               ? append(op, &gradient->after, (adzi_hook){ .done = hook, .user = user })
               : 0;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static adzi_hook *find_in(adzi_hook_list *list, uint64_t id)
{
    for (size_t i = 0; list != NULL && i < list->count; ++i) {
        if (list->hooks[i].id == id) {
            return &list->hooks[i];
        }
    }
    return NULL;
}

adz_status adz_set_hook_end(adz_tensor *t, uint64_t id, adz_hook_end end)
{
    static const char op[] = "adz_set_hook_end";
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    adzi_hook_list **list = hooks_of(op, t);
    adzi_hook *hook = list != NULL ? find_in(*list, id) : NULL;
    if (hook == NULL && t->gradient != NULL) {
        hook = find_in(t->gradient->after, id);
    }
    if (hook == NULL) {
        return adzi_error(
            op, ADZ_ERR_ARGUMENT, no_hook, adzi_text_shape(t), (unsigned long long)id);
    }
    hook->end = end;
    return ADZ_OK;
}

static bool remove_from(adzi_hook_list *list, uint64_t id)
{
    adzi_hook *found = find_in(list, id);
    if (found == NULL) {
        return false;
    }
    adzi_hook ended = *found;
    memmove(found, found + 1, (size_t)(list->hooks + list->count - found - 1) * sizeof *found);
    --list->count;
    adzi_hook_ended(&ended); /* last, because it may register or remove hooks */
    return true;
}

adz_status adz_remove_hook(adz_tensor *t, uint64_t id)
{
    static const char op[] = "adz_remove_hook";
    if (!adzi_check_tensor(op, "t", t)) {
        return adz_error_code();
    }
    adzi_hook_list **list = hooks_of(op, t);
    if ((list != NULL && remove_from(*list, id)) ||
        (t->gradient != NULL && remove_from(t->gradient->after, id))) {
        return ADZ_OK;
    }
    return adzi_error(op, ADZ_ERR_ARGUMENT, no_hook, adzi_text_shape(t), (unsigned long long)id);
}

/* ---- running --------------------------------------------------------------------------------- */

static const char calls_back[] = "a tensor has a hook, which a replay does not call";

/* The hook behind number `id`; NULL if there is none up to number `last`. A hook that runs may
 * remove hooks, which moves the others, and may register some, which wait for the next backward. */
static const adzi_hook *next_of(const adzi_hook_list *list, uint64_t id, uint64_t last)
{
    for (size_t i = 0; i < list->count && list->hooks[i].id <= last; ++i) {
        if (list->hooks[i].id > id) {
            return &list->hooks[i];
        }
    }
    return NULL;
}

static uint64_t last_of(const adzi_hook_list *list)
{
    return list->count > 0 ? list->hooks[list->count - 1].id : 0;
}

adz_status adzi_hooks_run(const char *op, const adzi_hook_list *list, adz_tensor **grad)
{
    adzi_thread *thread = adzi_self();
    if (list->count > 0 && adzi_is_captured(op, calls_back)) {
        return ADZ_ERR_STATE;
    }
    adzi_may_be_written(*grad);
    const uint64_t last = last_of(list);
    uint64_t id = 0;
    for (const adzi_hook *hook; (hook = next_of(list, id, last)) != NULL;) {
        size_t mark = thread->n_temporaries;
        id = hook->id;
        adz_tensor *t = hook->call(*grad, hook->user);
        if (t == NULL || !adzi_check_tensor(op, "a hook's gradient", t)) {
            adz_status status = adz_error_code();
            return status != ADZ_OK
                       ? status
                       : adzi_error(op, ADZ_ERR_CANCELLED, "a tensor hook returned NULL");
        }
        if (!adzi_same_sizes(t, *grad) || t->dtype != (*grad)->dtype) {
            return adzi_error(op, ADZ_ERR_SHAPE, "a tensor hook replaced a gradient %s by %s %s",
                adzi_text_shape(*grad), adz_dtype_name((adz_dtype)t->dtype), adzi_text_shape(t));
        }
        if (t != *grad) {
            adzi_retain(t);
            adzi_drop(*grad);
            *grad = t;
        }
        adzi_scope_unwind(thread, mark);
    }
    return ADZ_OK;
}

adz_status adzi_hooks_run_after(const char *op, const adzi_hook_list *list, adz_tensor *t)
{
    adzi_thread *thread = adzi_self();
    if (list->count > 0 && adzi_is_captured(op, calls_back)) {
        return ADZ_ERR_STATE;
    }
    const uint64_t last = last_of(list);
    uint64_t id = 0;
    for (const adzi_hook *hook; (hook = next_of(list, id, last)) != NULL;) {
        size_t mark = thread->n_temporaries;
        id = hook->id;
        adz_status status = hook->done(t, hook->user);
        if (adzi_callback_failed(op, status != ADZ_OK ? ADZ_ERR_CANCELLED : ADZ_OK,
                "a post-accumulate hook of a leaf%s failed without saying why",
                adzi_text_shape(t)) ||
            adzi_pending() != ADZ_OK) {
            return adzi_pending();
        }
        adzi_scope_unwind(thread, mark);
    }
    return ADZ_OK;
}
