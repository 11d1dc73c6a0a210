/* Scopes. Each thread has a stack of references to tensors. A scope is the part of the stack above
 * its mark; closing it releases that part. */
#include "tensor/tensor.h"

#include "base/error.h"
#include "base/threads/thread.h"
#include "base/errors/unheard.h"
#include "base/threads/upcalls.h"

/* With this many tensors in the root scope, a warning suggests opening a scope. */
enum { MANY_IN_ROOT = 10000 };

/* The most common mistake is a training loop that opens no scope, so that the root scope grows. A
 * warning says so once per thread. It is given before anything is changed, because its callback may
 * call the library. */
static void warn_of_root(adzi_thread *thread)
{
    const size_t count = adzi_scope_root_count(thread);
    if (count >= MANY_IN_ROOT && !thread->warned_root) {
        thread->warned_root = true;
        adzi_warn("scope", ADZI_ROOT_ADVICE, count);
    }
}

bool adzi_scope_grow(adzi_thread *thread, size_t n)
{
    warn_of_root(thread);
    return adzi_grow(&thread->temporaries, &thread->temporaries_capacity, thread->n_temporaries + n,
        sizeof *thread->temporaries);
}

/* A header is fetched into the processor's cache this many releases before it is released. */
enum { AHEAD = 8 };

void adzi_scope_unwind(adzi_thread *thread, size_t mark)
{
    while (thread->n_temporaries > mark) {
        if (thread->n_temporaries > mark + AHEAD) {
            const char *next = (const char *)thread->temporaries[thread->n_temporaries - AHEAD];
            __builtin_prefetch(next, 1);
            __builtin_prefetch(next + sizeof(adz_tensor), 1);
        }
        adzi_drop(thread->temporaries[--thread->n_temporaries]);
    }
}

ADZI_AT_LOAD register_scopes(void)
{
    adzi_upper.scope_unwind = adzi_scope_unwind;
}

adz_scope *adz_scope_open(void)
{
    adzi_thread *thread = adzi_self();
    if (thread->scope == NULL) {
        return adzi_fail_memory("adz_scope_open", sizeof(adzi_thread));
    }
    adzi_settle(thread);
    if (thread->error.code != ADZ_OK) {
        adzi_print_unheard(thread);
    }
    adz_scope *scope = thread->scope->inner;
    if (scope == NULL) {
        scope = adzi_alloc_zero(sizeof *scope);
        if (scope == NULL) {
            return adzi_fail_memory("adz_scope_open", sizeof *scope);
        }
        scope->thread = thread;
        scope->outer = thread->scope;
        thread->scope->inner = scope;
    }
    scope->start = thread->n_temporaries;
    scope->open = true;
    thread->scope = scope;
    return scope;
}

/* Whether the caller may close the scope: it is open, on this thread, and no root scope. Records an
 * error if not. */
static bool check_open(const char *op, const adz_scope *scope, const adzi_thread *thread)
{
    if (scope == NULL) {
        adzi_error_null(op, "scope");
        return false;
    }
    if (scope->thread != thread || !scope->open || scope == &thread->root) {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "this scope is not open on this thread; each adz_scope_open is closed once, by the thread that called it");
        return false;
    }
    return true;
}

/* Closes a scope and all scopes that are open inside it. */
static void close_from(adz_scope *scope, adzi_thread *thread)
{
    for (adz_scope *s = thread->scope; s != scope; s = s->outer) {
        s->open = false;
    }
    scope->open = false;
    thread->scope = scope->outer;
    adzi_scope_unwind(thread, scope->start);
}

adz_status adz_scope_close(adz_scope *scope)
{
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    if (!check_open("adz_scope_close", scope, thread)) {
        return adz_error_code();
    }
    close_from(scope, thread);
    return ADZ_OK;
}

adz_tensor *adz_scope_return(adz_scope *scope, adz_tensor *t)
{
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    if (!check_open("adz_scope_return", scope, thread)) {
        return NULL;
    }
    if (t == NULL) {
        close_from(scope, thread);
        return adzi_fail_null("adz_scope_return", "t");
    }
    if (adzi_is_none(t)) {
        close_from(scope, thread);
        return t;
    }
    if (!adzi_scope_reserve(thread, 1)) {
        close_from(scope, thread);
        return adzi_fail_memory("adz_scope_return", sizeof t);
    }
    adzi_retain(t);
    close_from(scope, thread);
    return adzi_borrow(thread, t);
}

adz_tensor *adz_keep(adz_tensor *t)
{
    if (t == NULL || adzi_is_none(t) || !adzi_check_tensor("adz_keep", "t", t)) {
        return t != NULL && adzi_is_none(t) ? t : NULL;
    }
    adzi_refs_take(&t->keeps);
    return adzi_retain(t);
}

adz_status adz_release(adz_tensor **t)
{
    if (t == NULL) {
        return adzi_error_null("adz_release", "t");
    }
    if (*t == NULL || adzi_is_none(*t)) {
        *t = NULL;
        return ADZ_OK;
    }
    if (!adzi_check_tensor("adz_release", "t", *t)) {
        return adz_error_code();
    }
    if (atomic_fetch_sub(&(*t)->keeps, 1) <= 0) {
        atomic_fetch_add(&(*t)->keeps, 1);
        return adzi_error("adz_release", ADZ_ERR_OWNERSHIP,
            "this tensor%s was not kept: a scope owns it and will end it; release only what adz_keep returned",
            adzi_text_shape(*t));
    }
    adz_tensor *gone = *t;
    *t = NULL;
    adzi_drop(gone);
    return ADZ_OK;
}

adz_tensor *adz_none(void)
{
    return &adzi_none;
}
