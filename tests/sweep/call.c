/* Makes one call with chosen arguments, and checks how it comes back. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

#include "worker.h"

char first_error[300];

enum { MEMORY_LIMIT = 8 << 20 }; /* bytes that a call may use */

static void describe(const function *f, const size_t *choices)
{
    size_t length = (size_t)snprintf(now->text, sizeof now->text, "%s(", f->name);
    for (size_t i = 0; i < f->n_params; ++i) {
        const char *name = choice_name(&f->params[i], choices[i]);
        int n = snprintf(now->text + length, sizeof now->text - length, "%s%s: %.100s",
            i > 0 ? ", " : "", f->params[i].name, name != NULL ? name : "NULL");
        length += (size_t)n;
        length = length < sizeof now->text ? length : sizeof now->text - 1;
    }
    snprintf(now->text + length, sizeof now->text - length, ")");
}

void complain(const char *format, ...)
{
    va_list arguments;
    now->complaints += 1;
    now->complaints_of_function += 1;
    if (now->complaints_of_function > MOST_COMPLAINTS) {
        return;
    }
    printf("%s: ", now->text);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf(" [call %zu; error: %s]\n", now->call, adz_error_message());
    fflush(stdout);
}

void restore_settings(void)
{
    adz_context_use(NULL);
    adz_on_error(adz_quiet, NULL);
    adz_on_warning(NULL, NULL);
    adz_set_num_threads(2);
    adz_set_memory_limit(MEMORY_LIMIT);
    adz_set_grad_enabled(true);
    adz_set_deterministic(false);
    adz_set_recomputing(false);
    adz_set_debug(false);
    adz_set_anomaly_enabled(false);
    adz_set_matmul_precision(ADZ_MATMUL_HIGHEST);
    adz_set_gemm_backend(ADZ_GEMM_OWN);
    adz_manual_seed(1);
    adz_error_clear();
}

static bool failed(const function *f, const value *result)
{
    return f->returns == RETURNS_STATUS    ? result->n != ADZ_OK
           : f->returns == RETURNS_POINTER ? result->p == NULL
           : f->returns == RETURNS_MAYBE   ? result->p == NULL && adz_error_code() != ADZ_OK
                                           : adz_error_code() != ADZ_OK;
}

/* The name of an operator may be longer than a message, so only its beginning is compared. */
static bool named_in_message(void)
{
    char name[100];
    snprintf(name, sizeof name, "%s", adz_error_operator());
    return strstr(adz_error_message(), name) != NULL;
}

/* Whether the error has the name of the function that was called. add_number and number_pow are
 * forms of add and pow, and add_scaled is one with a factor. */
static bool names_the_call(const function *f)
{
    static const char *const forms[] = { "%s_", "%s_number", "%s_number_", "number_%s", "%s_scaled",
        "%s_scaled_" };
    const char *called = f->name + strlen("adz_"), *op = adz_error_operator();
    bool same = strcmp(op, called) == 0 || strcmp(op, f->name) == 0;
    for (size_t i = 0; i < sizeof forms / sizeof *forms && !same; ++i) {
        char name[100];
        snprintf(name, sizeof name, forms[i], op);
        same = strcmp(name, called) == 0;
    }
    return same;
}

static void check_error(const function *f, const value *result)
{
    adz_status code = adz_error_code();
    bool bad = failed(f, result);
    if (bad && code == ADZ_OK) {
        complain("failed without an error");
    } else if (!bad && code != ADZ_OK) {
        complain("did not fail, but recorded an error");
    } else if (f->returns == RETURNS_STATUS && result->n != (int)code) {
        complain("returned %d but recorded %d", result->n, (int)code);
    } else if (bad && (adz_error_operator()[0] == '\0' || !named_in_message())) {
        complain("the message does not name '%s'", adz_error_operator());
    } else if (bad && strcmp(adz_error_operator(), "adze") == 0) {
        complain("the error does not say what failed");
    } else if (bad && strstr(adz_error_message(), ": ") == NULL &&
               strlen(adz_error_message()) < 300) {
        complain("the message says nothing");
    } else if (bad && f->is_operator && !names_the_call(f)) {
        complain("the error names '%s'", adz_error_operator());
    }
}

/* A struct whose size was not filled in must be refused, and the message must say so. */
static void check_unsized(const function *f, const size_t *choices, bool bad)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        const char *name = choice_name(&f->params[i], choices[i]);
        if (f->params[i].kind != KIND_STRUCT || name == NULL ||
            (strcmp(name, "size 0") != 0 && strcmp(name, "size 7") != 0)) {
            continue;
        }
        if (!bad || adz_error_code() != ADZ_ERR_ARGUMENT ||
            strstr(adz_error_message(), "size is") == NULL) {
            complain("a struct of %s was not refused as such", name);
        }
    }
}

static size_t count_in(const function *f, const arg *args)
{
    for (size_t i = 0; i < f->n_params; ++i) {
        if (f->params[i].kind == KIND_COUNT) {
            return args[i].v.z;
        }
    }
    return 0;
}

typedef struct call_in_backward {
    const function *f;
    const arg *args;
    value *result;
} call_in_backward;

static call_in_backward waiting;

static adz_status backward_that_calls(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    arg args[MOST_PARAMS];
    memcpy(args, waiting.args, waiting.f->n_params * sizeof *args);
    args[0].v.p = args[0].choice == 0 ? node : NULL;
    waiting.f->call(args, waiting.result);
    check_error(waiting.f, waiting.result);
    adz_error_clear();
    dx[0] = dy[0];
    return ADZ_OK;
}

/* Makes the call from a backward, because a node exists only while its backward runs. */
static void call_with_node(const function *f, const arg *args, value *result)
{
    static const adz_operator op = {
        .size = sizeof op, .name = "with_node", .backward = backward_that_calls
    };
    static const char attributes[] = "attributes";
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    adz_tensor *y = adz_ones(ADZ_SHAPE(3), ADZ_F32), *extra = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    adz_record_options o = ADZ_RECORD_OPTIONS;
    o.saved_inputs = o.saved_results = 1;
    o.extras = &extra;
    o.n_extras = 1;
    o.attributes = attributes;
    o.attributes_size = sizeof attributes;
    waiting = (call_in_backward){ f, args, result };
    if (adz_record(&op, &x, 1, &y, 1, &o) != ADZ_OK ||
        adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)) != ADZ_OK) {
        complain("the backward around the call failed");
    }
    result->p = y; /* The result of the call ended with the backward. */
}

/* Makes the call and checks its error. Returns true if the call failed. Uses and frees the objects
 * that the call gave to its caller. */
static bool make_call(
    const function *f, const size_t *choices, const arg *args, value *result, bool unsized)
{
    if (f->n_params > 0 && f->params[0].kind == KIND_NODE) {
        call_with_node(f, args, result);
    } else {
        f->call(args, result);
    }
    check_error(f, result);
    bool bad = failed(f, result);
    if (unsized) {
        check_unsized(f, choices, bad);
    }
    if (now->call == 0) {
        snprintf(first_error, sizeof first_error, "%s", adz_error_message());
    }
    adz_error_clear();
    if (!bad && result->p != NULL && f->owned != KIND_NONE) {
        object_use(f->owned, result->p);
        object_end(f->owned, result->p);
    }
    return bad;
}

/* Ends this process when a call has computed or has waited for that many seconds. 0: never. */
static void limit_time(unsigned computing, unsigned waiting)
{
    const struct itimerval limit = { .it_value.tv_sec = computing };
    setitimer(ITIMER_PROF, &limit, NULL);
    alarm(waiting);
}

bool call(const function *f, const size_t *choices, uint64_t random, bool unsized)
{
    arg args[MOST_PARAMS];
    value result = { 0 };
    describe(f, choices);
    adz_scope *scope = adz_scope_open();
    for (size_t i = 0; i < f->n_params; ++i) {
        make(&f->params[i], choices[i], random_from(&random), &args[i]);
    }
    if (adz_error_code() != ADZ_OK) {
        complain("the arguments could not be made");
        adz_error_clear();
    }
    bound_counts(f->params, f->n_params, args);
    size_t count = count_in(f, args);
    limit_time(seconds_per_call, wait_per_call);
    now->inside = true;
    bool bad = make_call(f, choices, args, &result, unsized);
    now->inside = false;
    limit_time(0, 0);
    for (size_t i = 0; i < f->n_params; ++i) {
        end(&f->params[i], &args[i], count);
    }
    restore_settings();
    adz_scope_close(scope);
    adz_error_clear();
    call_memory_end();
    now->calls += 1;
    now->failed += bad;
    if (verbose) {
        printf("%zu: %s: %s\n", now->call, now->text, bad ? "failed" : "ok");
    }
    return !bad;
}
