/* Calls of modules. Around each forward there is a scope, which releases the temporaries, and a
 * frame of the thread, from which messages take the path of the module. */
#include "nn/parametrize.h"

#include <string.h>

#include "base/alloc.h"
#include "base/door.h"
#include "base/error.h"
#include "base/capture.h"
#include "base/threads/upcalls.h"

/* A running call: what leave() restores. */
typedef struct call {
    adzi_thread *thread;
    size_t frame;     /* the index of the call's frame among the thread's frames */
    adz_scope *scope; /* the scope that was the innermost open one when the call began */
    size_t mark;      /* number of temporaries of the thread when the call began */
} call;

/* The name of a module in the module that calls it. A module that is no child of its caller has
 * only the name of its type. */
static const char *name_in(const adz_module *caller, const adz_module *module)
{
    for (size_t i = 0; i < caller->n_children; ++i) {
        if (caller->children[i].module == module) {
            return caller->children[i].name;
        }
    }
    return module->type.name;
}

/* Gives the one or two names that a call adds to the path in messages. The outermost module has the
 * name "", as in PyTorch's names of parameters. Two names are needed if the callee stands in a
 * ModuleList of the caller: the list is never called itself, so it has no frame. */
static int path_names(const void *caller, const void *callee, const char *names[2])
{
    const adz_module *from = caller, *module = callee;
    if (from == NULL) {
        names[0] = "";
        return 1;
    }
    const adz_module *list = module->parent;
    if (list != NULL && list != from && list->parent == from) {
        names[0] = name_in(from, list);
        names[1] = name_in(list, module);
        return 2;
    }
    names[0] = name_in(from, module);
    return 1;
}

/* The base room makes the messages and must not include this one, so it calls through a table. */
ADZI_AT_LOAD register_modules(void)
{
    adzi_upper.path_names = path_names;
}

/* Begins a call. `floor` is the position on the stack by which a later call finds out whether this
 * one was left by a jump (Note [Calls that are left by a jump]). */
static inline bool enter(call *f, adz_module *module, uintptr_t floor)
{
    adzi_thread *thread = adzi_self();
    f->thread = thread;
    f->frame = adzi_open_door(thread, module->type.name, floor, module);
    f->scope = thread->scope;
    f->mark = thread->n_temporaries;
    adzi_capture *capture = adzi_capture_of(thread);
    if (capture != NULL) {
        module->is_captured = true;
        capture->uses_modes(capture, module);
    }
    return f->frame != SIZE_MAX;
}

/* Marks as closed the scopes that a forward opened and left open when it failed. If the caller's
 * scope is not among the open ones, the forward closed it, and nothing can be restored. */
static void close_scopes(call *f)
{
    adz_scope *s = f->thread->scope;
    while (s != NULL && s != f->scope) {
        s = s->outer;
    }
    for (adz_scope *open = f->thread->scope; s != NULL && open != s; open = open->outer) {
        open->open = false;
    }
    f->thread->scope = s != NULL ? s : f->thread->scope;
}

/* Moves y to the front of the temporaries of this call, behind the `handed` results before it.
 * leave() then releases what comes after the results. Returns false if y is no temporary of this
 * call and therefore needs no position. */
static bool hand_out(call *f, size_t handed, const adz_tensor *y)
{
    adz_tensor **t = f->thread->temporaries;
    for (size_t i = f->thread->n_temporaries, first = f->mark + handed; i-- > first;) {
        if (t[i] == y) {
            adz_tensor *other = t[first];
            t[first] = t[i];
            t[i] = other;
            return true;
        }
    }
    return false; /* y is x itself, a parameter, or a tensor that the module keeps */
}

/* Ends a call. Its first `handed` temporaries pass to the caller's scope, the others are released.
 */
static void leave(call *f, size_t handed)
{
    adzi_close_door(f->thread, f->frame);
    if (f->thread->scope != f->scope) {
        close_scopes(f);
    }
    adzi_scope_unwind(f->thread, f->mark + handed);
}

/* Computes the parametrised parameters of a call that has begun. */
static inline bool begin_parameters(adz_module *module)
{
    return module->n_parametrized == 0 || adzi_parametrized_begin(module);
}

static inline void end_parameters(const call *f, const adz_module *module)
{
    if (module->n_parametrized > 0) {
        adzi_parametrized_end(f->frame);
    }
}

/* adz_module_forward for a type that has `call` only: the first of the results. */
static adz_tensor *forward_by_call(adz_module *module, adz_tensor *x)
{
    adz_values in, out;
    adzi_values_begin(&in);
    adzi_values_begin(&out);
    adz_tensor *y = NULL;
    if (adz_values_add(&in, "", x) == ADZ_OK && module->type.call(module, &in, &out) == ADZ_OK) {
        y = out.count > 0 ? out.items[0].tensor
                          : adzi_fail(module->type.name, ADZ_ERR_STATE, "the call has no result");
    }
    adzi_values_end(&in);
    adzi_values_end(&out);
    return y;
}

/* The body of adz_module_forward, in its own function so that it lies deeper on the stack
 * (Note [Calls that are left by a jump]). */
static __attribute__((noinline)) adz_tensor *run_forward(adz_module *module, adz_tensor *x)
{
    call f;
    if (!enter(&f, module, ADZI_FLOOR())) {
        return NULL;
    }
    adz_tensor *y = NULL;
    if (begin_parameters(module)) {
        y = module->type.forward != NULL ? module->type.forward(module, x)
                                         : forward_by_call(module, x);
    }
    if (y == NULL) {
        adzi_pass_null(module->type.name, "the result");
    }
    end_parameters(&f, module);
    leave(&f, y != NULL && hand_out(&f, 0, y));
    return y;
}

adz_tensor *adz_module_forward(adz_module *module, adz_tensor *x)
{
    if (!adzi_check_module("adz_module_forward", "module", module)) {
        return NULL;
    }
    if (x == NULL) {
        return adzi_fail_null("adz_module_forward", "x");
    }
    ADZI_STEP_DOWN();
    return run_forward(module, x);
}

/* Whether a value is the one argument of a type that has `forward` only. */
static bool is_first(const adzi_value *value)
{
    return value->name[0] == '\0' || strcmp(value->name, "x") == 0 ||
           strcmp(value->name, "input") == 0;
}

/* adz_module_call for a type that has `forward` only: it takes one tensor, named or not. */
static adz_status call_by_forward(adz_module *module, const adz_values *in, adz_values *out)
{
    for (size_t i = 1; i < in->count; ++i) {
        if (!adzi_is_none(in->items[i].tensor)) {
            return adzi_error(module->type.name, ADZ_ERR_ARGUMENT,
                "takes one tensor, but value %zu%s%s is given too", i,
                in->items[i].name[0] != '\0' ? ", " : "", in->items[i].name);
        }
    }
    if (in->count == 0) {
        return adzi_error(module->type.name, ADZ_ERR_ARGUMENT, "takes a tensor, but none is given");
    }
    if (!is_first(&in->items[0])) {
        return adzi_error(module->type.name, ADZ_ERR_ARGUMENT,
            "takes no argument \"%s\", only x; it would be ignored", in->items[0].name);
    }
    adzi_read_all(in);
    adz_tensor *y = module->type.forward(module, in->items[0].tensor);
    if (y == NULL) {
        adzi_pass_null(module->type.name, "the result");
        return adz_error_code();
    }
    return adz_values_add(out, "", y);
}

/* The body of adz_module_call, in its own function so that it lies deeper on the stack
 * (Note [Calls that are left by a jump]). After a failure `out` has the values it had before. */
static __attribute__((noinline)) adz_status run_call(
    adz_module *module, const adz_values *in, adz_values *out)
{
    call f;
    if (!enter(&f, module, ADZI_FLOOR())) {
        return adz_error_code();
    }
    adzi_reading reading;
    size_t before = out->count, handed = 0;
    adzi_reading_begin(f.thread, &reading, in);
    adz_status status = begin_parameters(module) ? ADZ_OK : adz_error_code();
    if (status == ADZ_OK) {
        status = module->type.call != NULL ? module->type.call(module, in, out)
                                           : call_by_forward(module, in, out);
    }
    if (status != ADZ_OK) {
        adzi_callback_failed(module->type.name, status, "the call failed without saying why");
    }
    adzi_reading_end(f.thread, &reading);
    if (status == ADZ_OK && !in->handed_on) {
        status = adzi_reading_check(&reading, module->type.name);
    }
    if (status != ADZ_OK) {
        out->count = before;
    }
    end_parameters(&f, module);
    for (size_t i = before; i < out->count; ++i) {
        handed += hand_out(&f, handed, out->items[i].tensor);
    }
    leave(&f, handed);
    return status;
}

adz_status adz_module_call(adz_module *module, const adz_values *in, adz_values *out)
{
    static const char op[] = "adz_module_call";
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (in == NULL || out == NULL) {
        return adzi_error_null(op, in == NULL ? "in" : "out");
    }
    if (in == out) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "in and out are one list");
    }
    ADZI_STEP_DOWN();
    return run_call(module, in, out);
}

adz_tensor *adz_module_call_named(
    adz_module *module, const adz_named_tensor *arguments, size_t count, adz_values *results)
{
    static const char op[] = "adz_module_call_named";
    if (!adzi_check_module(op, "module", module)) {
        return NULL;
    }
    if (arguments == NULL && count > 0) {
        return adzi_fail_null(op, "arguments");
    }
    adz_values in, own;
    adzi_values_begin(&in);
    adzi_values_begin(&own);
    adz_values *out = results != NULL ? results : &own;
    const size_t before = out->count;
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < count && status == ADZ_OK; ++i) {
        status = adz_values_add(&in, arguments[i].name, arguments[i].tensor);
    }
    if (status == ADZ_OK) {
        status = adz_module_call(module, &in, out);
    }
    adz_tensor *y = NULL;
    if (status == ADZ_OK) {
        y = out->count > before
                ? out->items[before].tensor
                : adzi_fail(module->type.name, ADZ_ERR_STATE, "the call has no result");
    }
    adzi_values_end(&in);
    adzi_values_end(&own);
    return y;
}

/* ---- with other parameters ------------------------------------------------------------------ */

/* Note [Parameters for one call]
 * adz_module_functional_call puts the given tensors into the slots of the parameters and takes them
 * out again after the call. The lists of parameters still name the module's own tensors, because
 * the exchange is no change of the module. A slot owns a reference to the tensor in it, so a module
 * whose call was left by a jump can still be freed. */
typedef struct exchange {
    adzi_slot *slot;
    adz_tensor *own; /* the module's own parameter, which returns to the slot */
} exchange;

/* Puts the given tensors into their slots. Returns how many it put there: all of them, or fewer
 * with the error recorded. */
static size_t exchange_all(
    adz_module *module, const adz_values *parameters, exchange *all, const char *op)
{
    size_t done = 0;
    for (; done < parameters->count; ++done) {
        const adzi_value *given = &parameters->items[done];
        adzi_slot *slot = adzi_parameter_slot(op, module, given->name);
        if (slot == NULL || !adzi_check_tensor(op, given->name, given->tensor)) {
            break;
        }
        all[done] = (exchange){ slot, slot->tensor };
        slot->tensor = adzi_retain(given->tensor);
    }
    return done;
}

adz_status adz_module_functional_call(
    adz_module *module, const adz_values *parameters, const adz_values *in, adz_values *out)
{
    static const char op[] = "adz_module_functional_call";
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (parameters == NULL) {
        return adzi_error_null(op, "parameters");
    }
    const size_t bytes = (parameters->count + 1) * sizeof(exchange);
    exchange *all = adzi_alloc(bytes);
    if (all == NULL) {
        adzi_fail_memory(op, bytes);
        return ADZ_ERR_MEMORY;
    }
    size_t done = exchange_all(module, parameters, all, op);
    adz_status status =
        done == parameters->count ? adz_module_call(module, in, out) : adz_error_code();
    while (done-- > 0) { /* last to first: the first exchange of a slot has the module's own */
        adzi_drop(all[done].slot->tensor);
        all[done].slot->tensor = all[done].own;
    }
    adzi_free(all, bytes);
    return status;
}
