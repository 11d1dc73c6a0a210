/* The error record of a thread, warnings, and texts of shapes and numbers for messages. */
#include "base/error.h"

#include <stdio.h>
#include <locale.h>
#include <stdarg.h>
#include <string.h>

#include "base/alloc.h"
#include "base/context.h"
#include "base/number.h"
#include "base/errors/status.h"
#include "base/threads/thread.h"
#include "base/tracer.h"
#include "base/errors/unheard.h"
#include "base/threads/upcalls.h"

/* ---- recording ------------------------------------------------------------------------------- */

/* Writes the path of the modules whose calls are running, outermost first ("encoder.2.ffn").
 * Returns its length, which is less than `size`. */
static size_t write_path(char *buffer, size_t size, const adzi_thread *thread)
{
    const void *caller = NULL;
    size_t length = 0;
    for (size_t i = 0; i < thread->n_frames; ++i) {
        const adzi_frame *f = &thread->frames[i];
        const char *names[2] = { f->text };
        int count = f->text != NULL;
        if (f->owner != NULL) {
            count = adzi_upper.path_names(caller, f->owner, names);
        }
        caller = count > 0 ? f->owner : caller;
        for (int k = 0; k < count; ++k) {
            int n = names[k][0] == '\0' ? 0
                                        : snprintf(buffer + length, size - length, "%s%s",
                                              length > 0 ? "." : "", names[k]);
            length += n > 0 ? (size_t)n : 0;
            length = length < size ? length : size - 1;
        }
    }
    return length;
}

size_t adzi_calls_path(char *buffer, size_t size)
{
    buffer[0] = '\0';
    return write_path(buffer, size, adzi_self());
}

/* Calls the context's callback, or keeps the message for adzi_release_reports. */
static __attribute__((noinline)) void report(adzi_thread *thread, adz_status code, const char *text)
{
    if (thread->context->on_error == NULL) {
        return;
    }
    if (thread->holds == 0) {
        const char *composed = thread->composed;
        thread->composed = NULL;
        thread->reporting = ADZI_FLOOR();
        thread->context->on_error(code, text, thread->context->on_error_user);
        thread->reporting = 0;
        thread->composed = composed;
    } else if (thread->held_code == ADZ_OK) {
        thread->held_code = code;
        memcpy(thread->held, text, strlen(text) + 1);
    }
}

/* Writes the thread's error record, unless an earlier error is recorded, and reports the error. The
 * callers do not contain this code because of its 4 kB buffer. With the buffer in their stack
 * frames, adzi_settle would run too far down the stack. It would then not notice calls that were
 * left by a jump. */
static void record(const char *op, adz_status code, const char *format, va_list arguments)
{
    adzi_thread *thread = adzi_self();
    adzi_error_record *error = &thread->error;
    char text[ADZI_MESSAGE_SIZE];
    op = thread->composed != NULL ? thread->composed : op;
    size_t length = write_path(text, sizeof text / 2, thread);
    int n = snprintf(text + length, sizeof text - length, "%s%s: ", length > 0 ? ": " : "", op);
    length += (size_t)n;
    if (length < sizeof text) {
        vsnprintf(text + length, sizeof text - length, format, arguments);
    }
    if (error->code == ADZ_OK) {
        memcpy(error->text, text, sizeof text);
        error->code = code;
        error->op = op;
        error->sited = error->heard = error->printed = false;
        error->refused = 0;
    }
    error->heard = error->heard || thread->context->on_error != NULL;
    report(thread, code, text);
}

void adzi_hold_reports(void)
{
    ++adzi_self()->holds;
}

unsigned adzi_pause_reports(void)
{
    const unsigned holds = adzi_self()->holds;
    adzi_self()->holds = 0;
    return holds;
}

void adzi_resume_reports(unsigned holds)
{
    adzi_self()->holds = holds;
}

/* In a function of its own because of the copy: the callback may record errors itself. */
static __attribute__((noinline)) void report_held(adzi_thread *thread)
{
    char text[ADZI_MESSAGE_SIZE];
    const adz_status code = thread->held_code;
    memcpy(text, thread->held, sizeof text);
    thread->held_code = ADZ_OK;
    report(thread, code, text);
}

void adzi_release_reports(void)
{
    adzi_thread *thread = adzi_self();
    /* No hold is left if an exception comes from a callback that send_warning called. */
    if (thread->holds > 0 && --thread->holds == 0 && thread->held_code != ADZ_OK) {
        report_held(thread);
    }
}

adz_status adzi_error(const char *op, adz_status code, const char *format, ...)
{
    va_list arguments;
    adzi_settle(adzi_self());
    va_start(arguments, format);
    record(op, code, format, arguments);
    va_end(arguments);
    return code;
}

void *adzi_fail(const char *op, adz_status code, const char *format, ...)
{
    va_list arguments;
    adzi_settle(adzi_self());
    va_start(arguments, format);
    record(op, code, format, arguments);
    va_end(arguments);
    return NULL;
}

const char *adzi_error_name(const char *op)
{
    adzi_thread *thread = adzi_self();
    const char *name = op != NULL && op[0] != '\0' ? op : "error";
    if (thread->error.code != ADZ_OK || op == thread->error_name) {
        return name; /* the record keeps the name of the earlier error */
    }
    snprintf(thread->error_name, sizeof thread->error_name, "%s", name);
    return thread->error_name;
}

adz_status adz_error_set(const char *op, adz_status status, const char *message)
{
    return adzi_error(adzi_error_name(op), adzi_is_error(status) ? status : ADZ_ERR_ARGUMENT, "%s",
        message != NULL ? message : "no reason was given");
}

adz_status adz_error_null(const char *op, const char *argument)
{
    adzi_pass_null(adzi_error_name(op), argument);
    return adzi_pending();
}

void *adzi_fail_memory(const char *op, size_t bytes)
{
    enum { MANY = 1000 }; /* with this many tensors in the root scope, a message suggests a scope */
    const adz_memory_info memory = adzi_measure_memory();
    const size_t most = adzi_memory_limit();
    const size_t in_root = adzi_scope_root_count(adzi_self());
    char limit[80] = "no limit is set", advice[200] = "";
    if (most != 0) {
        snprintf(limit, sizeof limit, "adz_set_memory_limit allows %zu bytes live", most);
    }
    if (in_root >= MANY) {
        snprintf(advice, sizeof advice, "; " ADZI_ROOT_ADVICE, in_root);
    }
    return adzi_fail(op, ADZ_ERR_MEMORY,
        "memory was refused: %zu bytes were asked for; %zu bytes are live, %zu bytes cached; %s%s",
        bytes, memory.live_bytes, memory.cached_bytes, limit, advice);
}

/* Tells the callback that a call was refused because of the recorded error. */
static __attribute__((noinline)) void report_refused(adzi_thread *thread, const char *op)
{
    char text[ADZI_MESSAGE_SIZE];
    snprintf(text, sizeof text,
        "%s: refused, because an earlier error was not cleared (adz_error_clear, adz_error_take): %.3500s",
        op, thread->error.text);
    report(thread, thread->error.code, text);
}

/* Whether the callback hears of refused calls. It does not hear of those that it makes itself, or
 * it would be called for ever. They lie below it on the stack. Calls after a jump out of it lie
 * above it, because whoever calls it has a large buffer in its stack frame. */
static bool hears_of_refused(adzi_thread *thread)
{
    if (ADZI_FLOOR() >= thread->reporting) {
        thread->reporting = 0;
    }
    return thread->context->on_error != NULL && thread->reporting == 0;
}

adz_status adzi_refused(const char *op)
{
    adzi_thread *thread = adzi_self();
    const adz_status code = thread->error.code;
    if (code != ADZ_OK) {
        adzi_count_refused(thread);
        if (hears_of_refused(thread)) {
            adzi_settle(thread);
            report_refused(thread, op);
        }
    }
    return code;
}

adz_status adzi_error_null(const char *op, const char *argument)
{
    const adz_status pending = adzi_refused(op);
    if (pending == ADZ_OK) {
        adzi_pass_null(op, argument);
    }
    return adzi_pending();
}

void adzi_pass_null(const char *op, const char *argument)
{
    if (adzi_pending() == ADZ_OK) {
        adzi_error(op, ADZ_ERR_NULL,
            "%s is NULL though no call has failed; leave optional tensors out with ADZ_NONE",
            argument);
    }
}

void *adzi_fail_null(const char *op, const char *argument)
{
    adzi_pass_null(op, argument);
    return NULL;
}

adz_status adzi_pending(void)
{
    return adzi_self()->error.code;
}

adz_status adzi_status(const void *result)
{
    if (result != NULL) {
        return ADZ_OK;
    }
    adz_status code = adz_error_code();
    return code != ADZ_OK ? code
                          : adzi_error("adze", ADZ_ERR_NULL, "a call gave NULL without an error");
}

/* ---- warnings -------------------------------------------------------------------------------- */

/* Writes a warning and hands it out. Its 4 kB buffer is not in the stack frame of adzi_warn, where
 * adzi_settle must not run too far down the stack. */
static void send_warning(const char *op, const char *format, va_list arguments)
{
    adzi_thread *thread = adzi_self();
    const adz_context *context = thread->context;
    const char *composed = thread->composed;
    char text[ADZI_MESSAGE_SIZE];
    int n = snprintf(text, sizeof text, "%s: ", composed != NULL ? composed : op);
    vsnprintf(text + n, sizeof text - (size_t)n, format, arguments);
    if (context->on_warning == NULL) {
        adzi_print_once("warning", text, "",
            "adze: further warnings are not printed; adz_on_warning gets all\n");
        return;
    }
    const unsigned holds = adzi_pause_reports();
    thread->composed = NULL;
    context->on_warning(ADZ_OK, text, context->on_warning_user);
    thread->composed = composed;
    adzi_resume_reports(holds);
}

void adzi_warn(const char *op, const char *format, ...)
{
    va_list arguments;
    adzi_settle(adzi_self());
    va_start(arguments, format);
    send_warning(op, format, arguments);
    va_end(arguments);
}

/* ---- reading --------------------------------------------------------------------------------- */

adz_status adz_error_code(void)
{
    return adzi_self()->error.code;
}

const char *adz_error_message(void)
{
    adzi_error_record *error = &adzi_self()->error;
    error->heard = true;
    return error->code == ADZ_OK ? "" : error->text;
}

const char *adzi_error_text(void)
{
    return adzi_self()->error.text;
}

const char *adz_error_operator(void)
{
    const adzi_error_record *error = &adzi_self()->error;
    return error->code == ADZ_OK ? "" : error->op;
}

void adz_error_clear(void)
{
    adzi_thread *thread = adzi_self();
    adzi_settle(thread);
    thread->error.code = ADZ_OK;
}

adz_status adz_error_take(char *buffer, size_t size)
{
    adz_status code = adz_error_code();
    if (buffer != NULL && size > 0) {
        const char *text = adz_error_message();
        size_t length = strlen(text);
        length = length < size ? length : size - 1;
        memcpy(buffer, text, length);
        buffer[length] = '\0';
    }
    adz_error_clear();
    return code;
}

/* ---- texts for messages ---------------------------------------------------------------------- */

/* One of the thread's ADZI_TEXTS buffers for texts, in turn. */
static char *next_text(void)
{
    adzi_thread *thread = adzi_self();
    return thread->texts[thread->next_text++ % ADZI_TEXTS];
}

const char *adzi_text_sizes(int rank, const int64_t *sizes)
{
    char *text = next_text();
    if (rank < 0 || rank > ADZ_MAX_RANK) { /* an invalid shape of the caller has no sizes to read */
        snprintf(text, ADZI_TEXT_SIZE, rank == -1 ? "(more than 8 sizes)" : "(rank %d)", rank);
        return text;
    }
    int length = snprintf(text, ADZI_TEXT_SIZE, "[");
    for (int i = 0; i < rank && length < ADZI_TEXT_SIZE - 24; ++i) {
        length += snprintf(text + length, (size_t)(ADZI_TEXT_SIZE - length), "%s%lld",
            i > 0 ? ", " : "", (long long)sizes[i]);
    }
    snprintf(text + length, (size_t)(ADZI_TEXT_SIZE - length), "]");
    return text;
}

/* Replaces the locale's decimal point by a dot. */
static const char *with_dot(char *text)
{
    const char *point = localeconv()->decimal_point;
    char *found = point[0] != '.' || point[1] != '\0' ? strstr(text, point) : NULL;
    if (found != NULL) {
        size_t n = strlen(point);
        *found = '.';
        memmove(found + 1, found + n, strlen(found + n) + 1);
    }
    return text;
}

const char *adzi_text_number(double x)
{
    char *text = next_text();
    snprintf(text, ADZI_TEXT_SIZE, "%.10g", x);
    return with_dot(text);
}

/* The text with the fewest digits from `digits` on that reads back as x. */
static const char *text_from(double x, int digits)
{
    char *text = next_text();
    adzi_number_reader reader;
    const bool reads = adzi_number_begin(&reader);
    double back = 0;
    for (; digits <= 17; ++digits) { /* 17 digits distinguish any two doubles */
        snprintf(text, ADZI_TEXT_SIZE, "%.*g", digits, x);
        with_dot(text);
        if (reads && adzi_number_read(&reader, text, strlen(text), &back) == ADZI_NUMBER_OK &&
            back == x) {
            break;
        }
    }
    if (reads) {
        adzi_number_end(&reader);
    }
    return text;
}

const char *adzi_text_exact(double x)
{
    return text_from(x, 1);
}

const char *adzi_text_python(double x)
{
    return text_from(x, 10);
}
