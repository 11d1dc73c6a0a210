/* Functions as modules: one of the user's, and the selection of a step. Both read the first
 * argument of a call, so that they may stand behind modules with several results. */
#include "adze/nn/functions.h"

#include <string.h>

#include "adze/ops/shape.h"
#include "base/error.h"
#include "nn/module.h"

/* The state is copied with the module, so the name is a part of it. */
typedef struct {
    adz_lambda_function function;
    void *user;
    char name[ADZ_LAMBDA_NAME + 1];
} lambda_state;

static adz_tensor *lambda_forward(adz_module *self, adz_tensor *x)
{
    const lambda_state *state = self->state;
    return state->function(x, state->user);
}

static size_t lambda_repr(adz_module *self, char *buffer, size_t size)
{
    return (size_t)snprintf(buffer, size, "%s", ((const lambda_state *)self->state)->name);
}

typedef struct {
    int dim;
    int64_t index;
} select_state;

static const adz_field select_fields[] = { ADZ_FIELD(select_state, dim, .value = 0),
    ADZ_FIELD(select_state, index, .value = 0) };

static adz_tensor *select_forward(adz_module *self, adz_tensor *x)
{
    const select_state *state = self->state;
    return adz_select(x, state->dim, state->index);
}

/* Hands the first argument to the type's forward. */
static adz_status call_with_first(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adz_values_argument(in, 0, "x");
    if (!adzi_check_tensor(self->type.name, "x", x)) {
        return adz_error_code();
    }
    return adz_values_add(out, "", self->type.forward(self, x));
}

static const adz_module_type lambda_type = { .size = sizeof(adz_module_type),
    .name = "Lambda",
    .forward = lambda_forward,
    .call = call_with_first,
    .extra_repr = lambda_repr };

static const adz_module_type select_type = { .size = sizeof(adz_module_type),
    .name = "Select",
    .forward = select_forward,
    .call = call_with_first,
    ADZI_MODULE_FIELDS(select_fields) };

adz_module *adz_lambda_new(const char *name, adz_lambda_function function, void *user)
{
    static const char op[] = "adz_lambda_new";
    if (name == NULL || function == NULL) {
        return adzi_fail_null(op, name == NULL ? "name" : "function");
    }
    const size_t length = strnlen(name, ADZ_LAMBDA_NAME + 1);
    if (length == 0 || length > ADZ_LAMBDA_NAME) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "name has %s bytes, but must have 1 to %d",
            length == 0 ? "no" : "too many", ADZ_LAMBDA_NAME);
    }
    adz_module *self = adz_module_new(&lambda_type, sizeof(lambda_state));
    if (self != NULL) {
        lambda_state *state = self->state;
        state->function = function;
        state->user = user;
        memcpy(state->name, name, length + 1);
    }
    return self;
}

adz_module *adz_select_new(int dim, int64_t index)
{
    const select_state state = { dim, index };
    return adzi_module_of(&select_type, &state, sizeof state);
}
