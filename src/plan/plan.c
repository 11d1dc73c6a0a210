/* Plans: calling the function while it is captured, and replaying its launches. */
#include "plan/plan.h"
#include "plan/attempt.h"
#include "plan/replay.h"
#include "base/capture.h"

#include <math.h>
#include <string.h>

#include "adze/autograd.h"
#include "adze/ops.h"
#include "base/context.h"
#include "adze/options.h"
#include "base/door.h"
#include "base/threads/parallel.h"
#include "tensor/tensor.h"

/* After so many calls in a row that differed, the function cannot be captured. */
enum { MOST_ATTEMPTS = 4 };

static const char op_run[] = "adz_plan_run";

ADZ_OPTIONS_INIT(adz_plan_options_init, adz_plan_options, ADZ_PLAN_OPTIONS)

/* ---- whether a captured call is valid -------------------------------------------------------- */

static adzi_plan_settings settings_now(void)
{
    const adzi_thread *thread = adzi_self();
    return (adzi_plan_settings){
        .epoch = atomic_load_explicit(&adzi_settings_epoch, memory_order_relaxed),
        .context = thread->context,
        .threads = adzi_num_threads(),
        .precision = (int)adz_get_matmul_precision(),
        .products = (int)adz_get_gemm_backend(),
        .deterministic = adz_is_deterministic(),
        .recomputing = adz_is_recomputing(),
        .grad_enabled = thread->grad_enabled,
    };
}

static bool same_settings(const adzi_plan_settings *a, const adzi_plan_settings *b)
{
    return a->epoch == b->epoch && a->context == b->context && a->threads == b->threads &&
           a->precision == b->precision && a->products == b->products &&
           a->deterministic == b->deterministic && a->recomputing == b->recomputing &&
           a->grad_enabled == b->grad_enabled;
}

/* Forgets the captured calls. */
static void forget(adz_plan *plan)
{
    adzi_plan_unwatch(plan);
    if (plan->memory != NULL) {
        adzi_free(plan->memory, plan->last->memory_bytes);
        plan->memory = NULL;
    }
    adzi_plan_free_packed(plan);
    adzi_captured_call_free(plan->last);
    adzi_captured_call_free(plan->current);
    plan->last = plan->current = NULL;
    plan->captured = false;
    plan->attempts = 0;
    plan->refusal[0] = '\0';
}

/* ---- calling the function ------------------------------------------------------------------- */

typedef struct captured {
    const char *op;
    adz_plan *plan;
} captured;

/* Calls the function in its own scope and takes its results. The scope ends before the
 * capture does, so that the memory of its tensors is known to be freed. */
static bool call_captured(void *state)
{
    const captured *c = state;
    adz_plan *plan = c->plan;
    bool good = false;
    adzi_capture_begin(&plan->capture);
    adz_scope *scope = adz_scope_open();
    if (scope != NULL) {
        good = adzi_function_call(c->op, &plan->function, plan->returned) &&
               (plan->capture.gave_up || adzi_plan_take_results(c->op, plan));
        adz_scope_close(scope);
    }
    adzi_capture_end();
    return good;
}

/* Runs the function and captures the call in plan->current. */
static adz_status capture(const char *op, adz_plan *plan)
{
    const adzi_door door = { .op = op };
    adzi_settle(adzi_self());
    plan->settings = settings_now();
    plan->current = adzi_captured_call_new();
    if (plan->current == NULL) {
        adzi_fail_memory(op, sizeof *plan->current);
        return ADZ_ERR_MEMORY;
    }
    plan->current->stretches.off = plan->unrolls;
    if (!adzi_through_door(&door, call_captured, &(captured){ op, plan })) {
        return adz_error_code();
    }
    if (plan->capture.gave_up) {
        return ADZ_ERR_STATE; /* nothing has failed, so nothing is recorded */
    }
    adzi_plan_show_results(plan);
    if (!adzi_captured_call_close(plan->current)) {
        adzi_fail_memory(op, sizeof *plan->current);
        return ADZ_ERR_MEMORY;
    }
    return ADZ_OK;
}

/* Takes the last captured call into use. */
static adz_status take_into_use(const char *op, adz_plan *plan)
{
    const size_t bytes = plan->last->memory_bytes;
    plan->captured = true;
    plan->memory = adzi_alloc(bytes);
    if (plan->memory == NULL || (plan->pack_weights && !adzi_plan_pack_weights(plan)) ||
        !adzi_plan_watch(plan)) {
        adzi_fail_memory(op, bytes);
        return ADZ_ERR_MEMORY;
    }
    adzi_captured_call_drop_compared(plan->last);
    adzi_captured_call_move_to(plan->last, plan->memory);
    if (!adzi_plan_join_sums(plan->last)) {
        adzi_fail_memory(op, bytes);
        return ADZ_ERR_MEMORY;
    }
    adzi_plan_find_chains(plan->last);
    if (!adzi_plan_prepare_loops(plan->last) || !adzi_plan_prepare_replay(plan->last)) {
        adzi_fail_memory(op, bytes);
        return ADZ_ERR_MEMORY;
    }
    ++plan->captures;
    adz_empty_cache(); /* the memory that the calls of the function have used */
    return ADZ_OK;
}

/* Notes that the last call did something else than the one before. After too many of them the plan
 * is refused. The last call has done its work, so it is the next run that fails, before it begins.
 */
static adz_status differ(const char *op, adz_plan *plan, const char *text)
{
    if (plan->last->why != NULL || ++plan->attempts >= MOST_ATTEMPTS) {
        forget(plan);
        snprintf(plan->refusal, sizeof plan->refusal, "%s", text);
        return ADZ_OK;
    }
    if (!adzi_plan_watch(plan)) {
        adzi_fail_memory(op, sizeof *plan->watched);
        return ADZ_ERR_MEMORY;
    }
    return ADZ_OK;
}

/* Forgets the calls. The next ones hold all launches and make no loops of those that have bytes
 * without meaning. */
static adz_status unroll(adz_plan *plan)
{
    forget(plan);
    plan->unrolls = true;
    return ADZ_OK;
}

/* Whether two calls that do not agree may differ only in which launches have become loops: bytes
 * without meaning have been compared. */
static bool may_agree_unrolled(const adz_plan *plan)
{
    const adzi_captured_call *a = plan->last, *b = plan->current;
    return !plan->unrolls && a != NULL && !b->masked && (a->n_loops > 0 || b->n_loops > 0);
}

/* Compares the last two calls. In anomaly mode the host looks at every result, so every run is an
 * ordinary call. */
static adz_status compare(const char *op, adz_plan *plan)
{
    char text[sizeof plan->refusal] = "";
    if (plan->current->stretches.torn) {
        return unroll(plan);
    }
    const bool agree = adzi_captured_calls_agree(plan->last, plan->current, text, sizeof text);
    if (!agree && may_agree_unrolled(plan)) {
        return unroll(plan);
    }
    adzi_captured_call_free(plan->last);
    plan->last = plan->current;
    plan->current = NULL;
    if (adzi_self()->anomaly) {
        forget(plan);
        return ADZ_OK;
    }
    return agree ? take_into_use(op, plan) : differ(op, plan, text);
}

/* Calls the function once, and captures it if it made the launches of the call before. A call that
 * fails leaves no captured call, because nothing watches what an earlier one compares. */
static adz_status call(const char *op, adz_plan *plan)
{
    adzi_plan_unwatch(plan); /* what the function itself ends is part of the function */
    adz_status status = capture(op, plan);
    if (status == ADZ_OK) {
        status = compare(op, plan);
    }
    if (status != ADZ_OK) {
        forget(plan);
    }
    return status;
}

/* ---- replaying ------------------------------------------------------------------------------ */

/* Saved values that a backward would read have changed: the version of a storage rises as it did in
 * the captured call. */
static void raise_versions(const adzi_captured_call *c)
{
    for (size_t i = 0; i < c->n_written; ++i) {
        ++c->written[i]->version;
    }
}

static adz_status replay(adz_plan *plan)
{
    const adz_status status = adzi_plan_run_launches(plan->last);
    raise_versions(plan->last);
    return status;
}

/* Whether a replay could give something else than an ordinary call. What an ordinary call reads is
 * compared here, or it is in the memory that the launches read, or its change raises the counter
 * (adzi_settings_changed) or frees memory that the plan watches. */
static bool has_changed(const adz_plan *plan)
{
    const adzi_plan_settings now = settings_now();
    return atomic_load(&plan->stale) || !same_settings(&now, &plan->settings) ||
           (plan->captured && adzi_self()->anomaly) ||
           (plan->last != NULL && adzi_captured_call_is_old(plan->last));
}

adz_status adz_plan_run(adz_plan *plan)
{
    if (plan == NULL || !adzi_check_handle(op_run, "plan", &plan->handle)) {
        return plan == NULL ? adzi_error_null(op_run, "plan") : adz_error_code();
    }
    adzi_settle(adzi_self());
    if (adzi_refused(op_run) != ADZ_OK) {
        return adzi_pending();
    }
    if (adzi_is_captured(op_run, "a plan runs no other plan")) {
        return ADZ_ERR_STATE;
    }
    if (has_changed(plan)) {
        forget(plan);
    }
    if (plan->refusal[0] != '\0' && plan->capture.attempt) {
        return ADZ_ERR_STATE;
    }
    if (plan->refusal[0] != '\0') {
        return adzi_error(op_run, ADZ_ERR_STATE,
            "the function cannot be captured, and this run has done nothing: calls of the function differ from one another (%s)",
            plan->refusal);
    }
    return plan->captured ? replay(plan) : call(op_run, plan);
}

/* The first call was left by a jump, so nobody gets the plan. */
static void abandoned(adzi_capture *capture)
{
    adz_plan *plan = (adz_plan *)(void *)capture;
    if (plan->kept != NULL) {
        adzi_plan_restore(plan);
    }
    adz_plan_free(&plan);
}

/* The first call of the function, after which everything may be put back. */
static bool begin(const char *op, adz_plan *plan, bool restore)
{
    if (restore && !adzi_plan_restore_begin(op, plan)) {
        return false;
    }
    plan->capture.abandoned = abandoned;
    const bool good = call(op, plan) == ADZ_OK;
    plan->capture.abandoned = NULL;
    return restore ? adzi_plan_restore_end(op, plan, good) : good;
}

/* ---- beginning and ending ------------------------------------------------------------------- */

static bool copy_inputs(const char *op, adz_plan *plan, const adz_plan_options *o)
{
    const size_t n = o->inputs.count;
    if (n > 0 && o->inputs.items == NULL) {
        adzi_error_null(op, "the list of inputs");
        return false;
    }
    plan->inputs = adzi_alloc_zero(n * sizeof *plan->inputs);
    plan->input_names = adzi_alloc_zero(n * sizeof *plan->input_names);
    plan->reads = adzi_alloc_zero(n * sizeof *plan->reads);
    plan->n_inputs = n;
    bool good = plan->inputs != NULL && plan->input_names != NULL && plan->reads != NULL;
    for (size_t i = 0; i < n && good; ++i) {
        char name[32];
        if (!adzi_check_tensor(op, "an input", o->inputs.items[i])) {
            return false;
        }
        plan->inputs[i] = adzi_retain(o->inputs.items[i]);
        if (o->input_names != NULL && o->input_names[i] == NULL) {
            adzi_error_null(op, "the name of an input");
            return false;
        }
        snprintf(name, sizeof name, n == 1 ? "input" : "input%zu", i);
        plan->input_names[i] = adzi_string_copy(o->input_names != NULL ? o->input_names[i] : name);
        good = plan->input_names[i] != NULL;
    }
    if (!good) {
        adzi_fail_memory(op, n * sizeof *plan->inputs);
    }
    return good;
}

/* Whether the options suit. Records an error if not. */
static bool check_options(const char *op, const adz_plan_options *o)
{
    if (o->pack_weights && o->module == NULL) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "pack_weights needs the option module, whose parameters are the weights");
    }
    return !o->pack_weights || o->module != NULL;
}

static adz_plan *plan_new(
    const char *op, const adzi_function *function, const adz_plan_options *options, bool attempt)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    adzi_settle(adzi_self());
    if (adzi_refused(op) != ADZ_OK || !ADZ_OPTIONS_READ(op, ADZ_PLAN_OPTIONS, &o, options) ||
        adzi_is_captured(op, "a plan makes no other plan") || !check_options(op, &o)) {
        return NULL;
    }
    adz_plan *plan = adzi_handle_alloc(sizeof *plan);
    if (plan == NULL) {
        return adzi_fail_memory(op, sizeof *plan);
    }
    memset(plan, 0, sizeof *plan);
    plan->handle.mark = ADZI_HANDLE_ALIVE;
    adzi_capture_init(&plan->capture);
    plan->capture.grad_norm = NAN;
    plan->capture.attempt = attempt;
    plan->function = *function;
    plan->pack_weights = o.pack_weights;
    plan->module = o.module != NULL ? adz_module_keep(o.module) : NULL;
    if (!copy_inputs(op, plan, &o) || !adzi_plan_make_results(op, plan, &o) ||
        !begin(op, plan, o.restore)) {
        adz_plan_free(&plan);
    } else if (plan->last != NULL) {
        adzi_captured_call_reads(plan->last, plan->inputs, plan->reads, plan->n_inputs);
    }
    return plan;
}

adz_plan *adz_plan_new(adz_plan_function function, void *user, const adz_plan_options *options)
{
    static const char op[] = "adz_plan_new";
    const adzi_function f = { .single = function, .user = user, .n_results = 1 };
    return function != NULL ? plan_new(op, &f, options, false) : adzi_fail_null(op, "function");
}

adz_plan *adz_plan_new_many(adz_plan_results_function function, void *user, size_t n_results,
    const adz_plan_options *options)
{
    static const char op[] = "adz_plan_new_many";
    const adzi_function f = { .several = function, .user = user, .n_results = n_results };
    return function != NULL ? plan_new(op, &f, options, false) : adzi_fail_null(op, "function");
}

adz_plan *adzi_plan_attempt(const char *op, adz_plan_function function, void *user)
{
    const adzi_function f = { .single = function, .user = user, .n_results = 1 };
    return plan_new(op, &f, NULL, true);
}

void adz_plan_free(adz_plan **plan)
{
    if (plan == NULL || *plan == NULL) {
        return;
    }
    adz_plan *gone = *plan;
    *plan = NULL;
    if (!adzi_check_handle("adz_plan_free", "plan", &gone->handle)) {
        return;
    }
    forget(gone);
    for (size_t i = 0; gone->inputs != NULL && i < gone->n_inputs; ++i) {
        adzi_drop(gone->inputs[i]);
    }
    for (size_t i = 0; gone->input_names != NULL && i < gone->n_inputs; ++i) {
        adzi_string_free(gone->input_names[i]);
    }
    adzi_free(gone->inputs, gone->n_inputs * sizeof *gone->inputs);
    adzi_free(gone->input_names, gone->n_inputs * sizeof *gone->input_names);
    adzi_free(gone->reads, gone->n_inputs * sizeof *gone->reads);
    adz_module_release(&gone->module);
    adzi_plan_free_results(gone);
    gone->handle.mark = 0;
    adzi_handle_free(gone, sizeof *gone);
}

/* ---- reading -------------------------------------------------------------------------------- */

double adz_plan_grad_norm(const adz_plan *plan)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, NAN);
    if (plan == NULL) {
        adzi_error_null("adz_plan_grad_norm", "plan");
        return NAN;
    }
    return plan->capture.grad_norm;
}

adz_status adz_plan_get_info(const adz_plan *plan, adz_plan_info *info, size_t size)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, ADZ_ERR_STATE);
    static const char op[] = "adz_plan_get_info";
    if (plan == NULL || info == NULL) {
        return adzi_error_null(op, plan == NULL ? "plan" : "info");
    }
    adz_plan_info all = { .captures = plan->captures, .captured = plan->captured };
    const adzi_captured_call *c = plan->last;
    for (size_t i = 0; c != NULL && i < c->n_launches; ++i) {
        all.launches += c->launches[i].kernel != NULL;
    }
    for (size_t i = 0; c != NULL && i < c->blocks.count; ++i) {
        all.tensors += c->blocks.all[i].freed && c->blocks.all[i].first >= 0;
    }
    all.memory_bytes = c != NULL ? c->memory_bytes : 0;
    all.packed_bytes = adzi_plan_packed_bytes(plan);
    memcpy(info, &all, size < sizeof all ? size : sizeof all);
    return ADZ_OK;
}
