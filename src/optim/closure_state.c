/* The memory of a search in checkpoints, and by name. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adze/ops.h"
#include "adze/scope.h"
#include "base/capture.h"
#include "base/error.h"
#include "optim/closure.h"
#include "tensor/copy.h"

static const char prefix[] = "state.0.";

adz_status adzi_search_add(adz_state_dict *state, const char *name, adz_tensor *t)
{
    char full[96];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return t != NULL ? adz_state_dict_add(state, full, t) : adz_error_code();
}

adz_tensor *adzi_search_vector(adz_dtype dtype, const adz_tensor *t, int64_t begin, int64_t count)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *copy = adzi_tensor_new(adzi_self(), "adz_optimizer_restore", dtype, 1, &count);
    adz_tensor *flat = adz_reshape((adz_tensor *)(uintptr_t)t, ADZ_SHAPE(t->numel));
    flat = adz_narrow(flat, 0, begin, count);
    if (copy != NULL && flat != NULL) {
        adzi_copy(copy, flat);
    } else {
        adzi_drop(copy);
        copy = NULL;
    }
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return copy;
}

static double *number_at(const adzi_search *search, void *memory, int k)
{
    return (double *)(void *)((char *)memory + search->numbers[k].offset);
}

double adzi_search_counted(const adz_optimizer *optimizer, const void *memory, int k)
{
    return *(
        const double *)(const void *)((const char *)memory + optimizer->search->numbers[k].offset);
}

static int count_numbers(const adzi_search *search)
{
    int n = 0;
    while (n < ADZI_SEARCH_NUMBERS && search->numbers[n].name != NULL) {
        ++n;
    }
    return n;
}

const double *adzi_search_number_of(const adz_optimizer *optimizer, const char *name)
{
    const adzi_search *search = optimizer->search;
    for (int k = 0; search != NULL && k < count_numbers(search); ++k) {
        if (strcmp(search->numbers[k].name, name) == 0) {
            return number_at(search, optimizer->memory, k);
        }
    }
    return NULL;
}

const char *adzi_search_number_name(const adz_optimizer *optimizer, int k)
{
    const adzi_search *search = optimizer->search;
    return search != NULL && k < count_numbers(search) ? search->numbers[k].name : NULL;
}

adz_status adzi_search_collect(const adz_optimizer *optimizer, adz_state_dict *state)
{
    const adzi_search *search = optimizer->search;
    adz_status status = ADZ_OK;
    if (*number_at(search, optimizer->memory, 0) == 0) {
        return ADZ_OK;
    }
    adz_scope *scope = adz_scope_open();
    for (int k = 0; k < count_numbers(search) && status == ADZ_OK; ++k) {
        adz_tensor *t = adz_scalar(*number_at(search, optimizer->memory, k), ADZ_F64);
        status = adzi_search_add(state, search->numbers[k].name, t);
    }
    if (status == ADZ_OK && search->collect != NULL) {
        status = search->collect(optimizer->memory, state);
    }
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return scope != NULL ? status : adz_error_code();
}

/* Reads one entry of a state. `found` gets bit k for number k. */
static bool read_entry(
    const adz_optimizer *optimizer, void *memory, const char *full, adz_tensor *t, unsigned *found)
{
    const adzi_search *search = optimizer->search;
    const bool ours = strncmp(full, prefix, strlen(prefix)) == 0;
    const char *name = full + (ours ? strlen(prefix) : 0);
    for (int k = 0; k < count_numbers(search) && ours; ++k) {
        if (strcmp(name, search->numbers[k].name) == 0) {
            const double value = t->numel == 1 ? adz_item(t) : NAN;
            *number_at(search, memory, k) = value;
            *found |= 1u << k;
            if (!isfinite(value)) {
                adzi_error("adz_optimizer_restore", ADZ_ERR_STATE, "%s is no number", full);
            }
            return isfinite(value);
        }
    }
    if (ours && search->read != NULL) {
        return search->read(optimizer, memory, name, t);
    }
    adzi_error("adz_optimizer_restore", ADZ_ERR_STATE,
        "%s has no %s; the state is that of another optimizer", optimizer->type->name, full);
    return false;
}

void *adzi_search_read(const adz_optimizer *optimizer, const adz_state_dict *state)
{
    const adzi_search *search = optimizer->search;
    void *memory = adzi_alloc_zero(search->size);
    bool good = memory != NULL, any = false;
    unsigned found = 0;
    if (!good) {
        return adzi_fail_memory("adz_optimizer_restore", search->size);
    }
    for (size_t i = 0; i < adz_state_dict_count(state) && good; ++i) {
        const char *name = adz_state_dict_name_at(state, i);
        if (strncmp(name, "state.", strlen("state.")) == 0) {
            any = true;
            good = read_entry(optimizer, memory, name, adz_state_dict_at(state, i), &found);
        }
    }
    for (int k = 0; k < count_numbers(search) && good && any; ++k) {
        good = (found & (1u << k)) != 0 || search->numbers[k].optional;
        if (!good) {
            adzi_error("adz_optimizer_restore", ADZ_ERR_STATE, "there is no %s%s", prefix,
                search->numbers[k].name);
        }
    }
    good = good && (!any || search->complete == NULL || search->complete(memory));
    if (!good) {
        adzi_search_drop(optimizer, memory);
        return NULL;
    }
    return memory;
}

/* ---- what the last step was ------------------------------------------------------------------ */

adz_status adz_optimizer_get_report(const adz_optimizer *optimizer, adz_closure_report *report)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, ADZ_ERR_STATE);
    static const char op[] = "adz_optimizer_get_report";
    if (optimizer == NULL || report == NULL) {
        return adzi_error_null(op, optimizer == NULL ? "optimizer" : "report");
    }
    if (optimizer->search == NULL) {
        return adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "%s makes one move in a step and has no report; L-BFGS and Levenberg-Marquardt have",
            optimizer->type->name);
    }
    if (!optimizer->reported) {
        return adzi_error(
            op, ADZ_ERR_STATE, "no step has succeeded yet; call adz_optimizer_step_closure first");
    }
    *report = optimizer->report;
    return ADZ_OK;
}
