/* The types of optimizers: reading and checking them, and the settings that they describe. */
#include <math.h>
#include <string.h>

#include "base/door.h"
#include "base/error.h"
#include "optim/optimizer.h"
#include "tensor/fields.h"

/* Names become parts of names in files: "state.12.momentum_buffer". */
enum { LONGEST_NAME = 63 };

/* ---- names ---------------------------------------------------------------------------------- */

/* The names of a type's settings or states, in their order. */
typedef struct {
    const char *op, *type, *kind; /* for messages */
    const char *names[ADZ_OPTIMIZER_SETTINGS];
    int most; /* rows of the type */
    int n;    /* rows that have a name */
} name_list;

_Static_assert((int)ADZ_OPTIMIZER_STATES <= (int)ADZ_OPTIMIZER_SETTINGS, "names has room");

static bool check_name(const name_list *l, int i)
{
    const char *name = l->names[i];
    if (name[0] == '\0' || strlen(name) > LONGEST_NAME || strchr(name, '.') != NULL) {
        adzi_error(l->op, ADZ_ERR_ARGUMENT,
            "%s %d of the type %s is called \"%.80s\"; a name has 1 to %d bytes and no dot",
            l->kind, i, l->type, name, (int)LONGEST_NAME);
        return false;
    }
    for (int k = 0; k < i; ++k) {
        if (strcmp(name, l->names[k]) == 0) {
            adzi_error(l->op, ADZ_ERR_ARGUMENT, "%s %d and %s %d of the type %s are both called %s",
                l->kind, k, l->kind, i, l->type, name);
            return false;
        }
    }
    static const char *const reserved[] = { "params", "initial_lr", "step" };
    for (size_t k = 0; k < sizeof reserved / sizeof *reserved; ++k) {
        if (strcmp(name, reserved[k]) == 0) {
            adzi_error(l->op, ADZ_ERR_ARGUMENT,
                "%s %d of the type %s is called %s, a name that files have for something else",
                l->kind, i, l->type, name);
            return false;
        }
    }
    return true;
}

/* Counts the rows up to the first one without a name, after which there must be no further one. */
static bool check_names(name_list *l)
{
    while (l->n < l->most && l->names[l->n] != NULL) {
        ++l->n;
    }
    for (int i = l->n; i < l->most; ++i) {
        if (l->names[i] != NULL) {
            adzi_error(l->op, ADZ_ERR_ARGUMENT,
                "%s %d of the type %s has no name, but %s %d is called %s", l->kind, l->n, l->type,
                l->kind, i, l->names[i]);
            return false;
        }
    }
    bool good = true;
    for (int i = 0; i < l->n && good; ++i) {
        good = check_name(l, i);
    }
    return good;
}

/* ---- settings and states -------------------------------------------------------------------- */

static bool read_settings(const char *op, adz_optimizer *o)
{
    const adz_optimizer_type *type = o->type;
    name_list l = { op, type->name, "setting", { NULL }, ADZ_OPTIMIZER_SETTINGS, 0 };
    for (int i = 0; i < l.most; ++i) {
        l.names[i] = type->settings[i].name;
    }
    if (l.names[0] == NULL || strcmp(l.names[0], "lr") != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the first setting of the type %s has to be \"lr\", the learning rate, which schedulers change",
            type->name);
        return false;
    }
    if (!check_names(&l)) {
        return false;
    }
    o->n_settings = l.n;
    for (int i = 0; i < l.n; ++i) {
        const adz_field *s = &type->settings[i];
        if ((unsigned)s->kind > ADZ_FIELD_F64 || s->count > 0 ||
            (unsigned)s->bounds > ADZ_BOUNDS_OPEN) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the setting %s of the type %s is not a single number; use ADZ_SETTING or ADZ_SETTING_FLAG",
                s->name, type->name);
            return false;
        }
    }
    return true;
}

static bool read_states(const char *op, adz_optimizer *o)
{
    const adz_optimizer_type *type = o->type;
    name_list l = { op, type->name, "state", { NULL }, ADZ_OPTIMIZER_STATES, 0 };
    for (int i = 0; i < l.most; ++i) {
        l.names[i] = type->states[i].name;
    }
    if (!check_names(&l)) {
        return false;
    }
    o->n_states = l.n;
    for (int i = 0; i < l.n; ++i) {
        const int initial = type->states[i].initial;
        if (initial < ADZ_INITIAL_ONE || initial >= o->n_settings) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the state %s of the type %s begins with setting %d; there are %d settings",
                l.names[i], type->name, initial, o->n_settings);
            return false;
        }
    }
    return true;
}

/* ---- functions ------------------------------------------------------------------------------ */

static bool read_numbers(const char *op, adz_optimizer *o)
{
    const adz_optimizer_type *type = o->type;
    const bool computed = type->numbers != NULL;
    if (computed != (type->n_numbers > 0) || type->n_numbers > ADZ_OPTIMIZER_NUMBERS) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the type %s has %s function `numbers`, but n_numbers is %zu; set it to 1 to %d with that function and to 0 without",
            type->name, computed ? "a" : "no", type->n_numbers, ADZ_OPTIMIZER_NUMBERS);
        return false;
    }
    o->n_numbers = computed ? (int)type->n_numbers : o->n_settings;
    return true;
}

static bool check_kernels(const char *op, const adz_optimizer_type *type)
{
    for (int i = 0; i < ADZ_KERNEL_DTYPES; ++i) {
        if (type->kernels[i] != NULL && !adzi_is_float((adz_dtype)i)) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the type %s has a kernel for dtype %d, but parameters are float32 or float64",
                type->name, i);
            return false;
        }
        if (type->kernels[i] != NULL && type->whole) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the type %s is `whole` and has a kernel; a kernel gets some of the elements, so leave out one of them",
                type->name);
            return false;
        }
        if (type->kernels[i] != NULL && type->state_shape != NULL) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "the type %s has `state_shape` and a kernel; a kernel gets states like the parameter only, so leave out one of them",
                type->name);
            return false;
        }
    }
    return true;
}

bool adzi_optimizer_read_type(const char *op, adz_optimizer *o, const adz_optimizer_type *type)
{
    if (type == NULL) {
        adzi_error_null(op, "type");
        return false;
    }
    if (type->size < sizeof type->size) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the type's size is %zu; set it to sizeof(adz_optimizer_type)", type->size);
        return false;
    }
    memcpy(&o->given, type, type->size < sizeof o->given ? type->size : sizeof o->given);
    o->type = &o->given;
    o->identity = type;
    if (o->given.name == NULL || o->given.name[0] == '\0') {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the type has no name, by which files are recognised");
        return false;
    }
    if (o->given.update == NULL) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the type %s has no `update`; write the update of a parameter with adze's operators, also if the type has kernels",
            o->given.name);
        return false;
    }
    if (o->given.elementwise && o->given.whole) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the type %s is `elementwise` and `whole`, which exclude each other", o->given.name);
        return false;
    }
    return read_settings(op, o) && read_states(op, o) && read_numbers(op, o) &&
           check_kernels(op, o->type);
}

/* ---- shapes of states ----------------------------------------------------------------------- */

/* What the type says of state k, with the sizes that it gives. */
static int ask_shape(const adz_optimizer *o, const adz_tensor *t, int k, int64_t *sizes)
{
    return o->type->state_shape != NULL ? o->type->state_shape(k, t, sizes)
                                        : ADZ_STATE_LIKE_PARAMETER;
}

uint32_t adzi_optimizer_states_of(const adz_optimizer *o, const adz_tensor *t)
{
    int64_t sizes[ADZ_MAX_RANK];
    uint32_t states = (1u << o->n_states) - 1;
    for (int k = 0; k < o->n_states && o->type->state_shape != NULL; ++k) {
        states &= ask_shape(o, t, k, sizes) == ADZ_STATE_ABSENT ? ~(1u << k) : ~0u;
    }
    return states;
}

bool adzi_state_is_undivided(const adz_optimizer *o, const adz_tensor *t, int k)
{
    int64_t sizes[ADZ_MAX_RANK];
    return ask_shape(o, t, k, sizes) >= 0;
}

static bool check_state(
    const char *op, const adz_optimizer *o, const adz_tensor *t, size_t i, int k)
{
    int64_t sizes[ADZ_MAX_RANK] = { 0 }, numel;
    const int rank = ask_shape(o, t, k, sizes);
    if (rank < ADZ_STATE_ABSENT || rank > ADZ_MAX_RANK) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "`state_shape` of the type %s gives the state %s of parameter %zu%s the rank %d; a rank is 0 to %d, or an adz_state_rank",
            o->type->name, o->type->states[k].name, i, adzi_text_shape(t), rank, ADZ_MAX_RANK);
        return false;
    }
    return rank < 0 || adzi_check_sizes(op, rank, sizes, (adz_dtype)t->dtype, &numel) == ADZ_OK;
}

bool adzi_type_takes(const char *op, const adz_optimizer *o, const adz_tensor *t, size_t i)
{
    if (o->type->check_parameter != NULL) {
        const adz_status status = o->type->check_parameter(op, t, i);
        if (adzi_callback_failed(
                op, status, "%s refused parameter %zu%s", o->type->name, i, adzi_text_shape(t))) {
            return false;
        }
    }
    bool good = true;
    for (int k = 0; k < o->n_states && good; ++k) {
        good = check_state(op, o, t, i, k);
    }
    return good;
}

adz_shape adzi_state_shape(const adz_optimizer *o, const adz_tensor *t, int k)
{
    adz_shape shape = { 0 };
    shape.rank = ask_shape(o, t, k, shape.sizes);
    if (shape.rank < 0) {
        shape.rank = t->rank;
        memcpy(shape.sizes, t->sizes, (size_t)t->rank * sizeof *t->sizes);
    }
    return shape;
}

/* ---- values of settings --------------------------------------------------------------------- */

adz_status adzi_check_settings(const char *op, const adz_optimizer *o, const double *settings)
{
    adz_status status = ADZ_OK;
    for (int i = 0; i < o->n_settings && status == ADZ_OK; ++i) {
        const bool good = adzi_field_check_number(op, &o->type->settings[i], settings[i]);
        status = good ? ADZ_OK : ADZ_ERR_ARGUMENT;
    }
    if (status == ADZ_OK && o->type->check != NULL) {
        status = o->type->check(op, settings);
        adzi_callback_failed(op, status, "the check of %s refused the settings", o->type->name);
    }
    if (status == ADZ_OK && adzi_optimizer_needs(o, settings) >> o->n_states != 0) {
        status = adzi_error(op, ADZ_ERR_ARGUMENT,
            "`needs` of the type %s asks for the states 0x%x, but there are %d", o->type->name,
            (unsigned)adzi_optimizer_needs(o, settings), o->n_states);
    }
    return status;
}

/* ---- public functions ----------------------------------------------------------------------- */

const adz_optimizer_type *adz_optimizer_type_of(const adz_optimizer *optimizer)
{
    return optimizer != NULL ? optimizer->identity
                             : adzi_fail_null("adz_optimizer_type_of", "optimizer");
}

double adz_update_setting(const adz_update *update, int setting)
{
    static const char op[] = "adz_update_setting";
    if (update == NULL || update->at == NULL) {
        adzi_error_null(op, update == NULL ? "update" : "update->at");
        return NAN;
    }
    const adz_optimizer *o = update->at->optimizer;
    if (setting < 0 || setting >= o->n_settings) {
        adzi_error(op, ADZ_ERR_INDEX, "%s has no setting %d, only %d", o->type->name, setting,
            o->n_settings);
        return NAN;
    }
    const char *name = o->type->settings[setting].name;
    if (setting == 0 || adzi_setting_is_momentum(name)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "schedulers change %s from step to step, and a plan would keep this value; use the numbers of the update",
            name);
        return NAN;
    }
    return update->at->seen.settings[setting];
}
