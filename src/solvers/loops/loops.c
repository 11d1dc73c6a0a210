/* Steps of loops: calling the body, checking what it gives, and naming the step in messages. */
#include "solvers/loops/loops.h"

#include <stdio.h>
#include <string.h>

#include "adze/ops.h"
#include "autograd/op.h"
#include "base/door.h"

/* The longest path: "step -9223372036854775808 of " and the name of a public function. */
enum { PATH_BYTES = 64 };

bool adzi_loop_check_list(
    const char *op, const char *what, adz_tensor *const *tensors, size_t n, size_t least)
{
    if (n < least || n > ADZ_LOOP_TENSORS) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%zu %s; %zu to %d are possible", n, what, least,
            ADZ_LOOP_TENSORS);
        return false;
    }
    if (n > 0 && tensors == NULL) {
        adzi_error_null(op, what);
        return false;
    }
    for (size_t i = 0; i < n; ++i) {
        if (!adzi_check_tensor(op, what, tensors[i])) {
            return false;
        }
    }
    return true;
}

adz_tensor **adzi_loop_list(const char *op, size_t n)
{
    const int64_t bytes = (int64_t)(n * sizeof(adz_tensor *));
    adz_tensor *room = adzi_scratch(op, ADZ_U8, 1, &bytes);
    if (room == NULL) {
        return NULL;
    }
    memset(room->data, 0, (size_t)bytes);
    return (adz_tensor **)(void *)room->data;
}

bool adzi_loop_begin(adzi_loop *loop, adz_tensor *const *carries)
{
    const size_t n_in = loop->n_carries + loop->n_inputs;
    loop->in = adzi_loop_list(loop->op, n_in + loop->n_carries + loop->n_results);
    if (loop->in == NULL) {
        return false;
    }
    loop->out = loop->in + n_in;
    if (loop->n_carries > 0) {
        memcpy(loop->in, carries, loop->n_carries * sizeof *carries);
    }
    loop->mark = adzi_self()->n_temporaries;
    return true;
}

/* ---- messages -------------------------------------------------------------------------------- */

void adzi_loop_name_step(const adzi_loop *loop, int64_t step)
{
    char *text = adzi_self()->frames[loop->frame].text;
    if (step < 0) {
        snprintf(text, PATH_BYTES, "%s", loop->op);
    } else {
        snprintf(text, PATH_BYTES, "step %lld of %s", (long long)step, loop->op);
    }
}

/* Begins a message of the loop itself, which names the step in its text and so has no path. Returns
 * what end_own takes. */
static char *begin_own(const adzi_loop *loop)
{
    char *path = adzi_self()->frames[loop->frame].text;
    adzi_self()->frames[loop->frame].text = NULL;
    return path;
}

static void end_own(const adzi_loop *loop, char *path)
{
    adzi_self()->frames[loop->frame].text = path;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* Whether the body gave a tensor. */
static bool is_given(const adzi_loop *loop, size_t k, int64_t step)
{
    const bool carry = k < loop->n_carries;
    const adz_tensor *t = loop->out[k];
    if (t != NULL && !adzi_is_none(t)) {
        return adzi_check_tensor(loop->op, "a result of the body", t);
    }
    char *path = begin_own(loop);
    adzi_error(loop->op, t == NULL ? ADZ_ERR_NULL : ADZ_ERR_ARGUMENT,
        "the body gave %s for %s %zu in step %lld", t == NULL ? "NULL" : "ADZ_NONE",
        carry ? "carry" : "result", carry ? k : k - loop->n_carries, (long long)step);
    end_own(loop, path);
    return false;
}

/* Whether a carry has kept its shape and dtype. */
static bool is_kept(const adzi_loop *loop, size_t k, int64_t step)
{
    const adz_tensor *before = loop->in[k], *now = loop->out[k];
    if (before->dtype == now->dtype && before->rank == now->rank && adzi_same_sizes(before, now)) {
        return true;
    }
    char *path = begin_own(loop);
    adzi_error(loop->op, before->dtype != now->dtype ? ADZ_ERR_DTYPE : ADZ_ERR_SHAPE,
        "the body gave %s%s for carry %zu in step %lld, and got %s%s; a carry keeps its shape and dtype",
        adz_dtype_name((adz_dtype)now->dtype), adzi_text_shape(now), k, (long long)step,
        adz_dtype_name((adz_dtype)before->dtype), adzi_text_shape(before));
    end_own(loop, path);
    return false;
}

bool adzi_loop_step(adzi_loop *loop, int64_t step)
{
    const size_t n = loop->n_carries + loop->n_results;
    memset(loop->out, 0, n * sizeof(adz_tensor *));
    const adz_status status = loop->body(loop->out, loop->in, loop->user);
    if (adzi_callback_failed(loop->op, status, "the body failed")) {
        return false;
    }
    for (size_t k = 0; k < n; ++k) {
        if (!is_given(loop, k, step) || (k < loop->n_carries && !is_kept(loop, k, step))) {
            return false;
        }
    }
    return true;
}

/* Retains n tensors, of which some may be NULL. Returns how many are not. */
static size_t retain_all(adz_tensor *const *tensors, size_t n)
{
    size_t count = 0;
    for (size_t i = 0; i < n; ++i) {
        if (tensors[i] != NULL) {
            adzi_retain(tensors[i]);
            ++count;
        }
    }
    return count;
}

/* Gives the references of retain_all to the scope, or gives them back. */
static void borrow_all(adzi_thread *thread, adz_tensor *const *tensors, size_t n, bool keep)
{
    for (size_t i = 0; i < n; ++i) {
        if (tensors[i] != NULL && keep) {
            adzi_borrow(thread, tensors[i]);
        } else if (tensors[i] != NULL) {
            adzi_drop(tensors[i]);
        }
    }
}

bool adzi_loop_advance(adzi_loop *loop, adz_tensor *const *lasting, size_t n)
{
    adzi_thread *thread = adzi_self();
    const size_t count = retain_all(lasting, n) + retain_all(loop->out, loop->n_carries);
    adzi_scope_unwind(thread, loop->mark);
    const bool good = adzi_scope_reserve(thread, count);
    borrow_all(thread, lasting, n, good);
    loop->mark = thread->n_temporaries;
    borrow_all(thread, loop->out, loop->n_carries, good);
    if (!good) {
        adzi_fail_memory(loop->op, count * sizeof(adz_tensor *));
        return false;
    }
    memcpy(loop->in, loop->out, loop->n_carries * sizeof *loop->in);
    return true;
}

bool adzi_loop_survive(const char *op, size_t mark, adz_tensor *const *tensors, size_t n)
{
    adzi_thread *thread = adzi_self();
    const size_t count = retain_all(tensors, n);
    adzi_scope_unwind(thread, mark);
    const bool good = adzi_scope_reserve(thread, count);
    borrow_all(thread, tensors, n, good);
    if (!good) {
        adzi_fail_memory(op, count * sizeof(adz_tensor *));
    }
    return good;
}

bool adzi_loop_run(adzi_loop *loop, bool (*body)(void *state), void *state)
{
    char path[PATH_BYTES];
    memset(path, ' ', sizeof path - 1); /* room for adzi_loop_name_step */
    path[sizeof path - 1] = '\0';
    const adzi_door door = { .op = loop->op, .path = path };
    loop->frame = adzi_self()->n_frames;
    return adzi_through_door(&door, body, state);
}

bool adzi_loop_check_truth(const char *op, const char *what, const adz_tensor *t)
{
    if (!adzi_check_tensor(op, what, t)) {
        return false;
    }
    if (adzi_is_none(t) || t->numel != 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %s, and must have one element", what,
            adzi_is_none(t) ? "ADZ_NONE" : adzi_text_shape(t));
        return false;
    }
    return true;
}

int adzi_loop_truth(const char *op, const char *what, const adz_tensor *t)
{
    if (!adzi_loop_check_truth(op, what, t)) {
        return -1;
    }
    const double value = adz_item(t);
    return adzi_pending() != ADZ_OK ? -1 : value != 0;
}
