/* Containers that only hold: ModuleDict, ParameterList and ParameterDict. Their owner uses what
 * they hold, and a call of the container itself fails. */
#include <stdio.h>

#include "adze/nn/containers.h"
#include "base/capture.h"
#include "base/error.h"
#include "nn/containers.h"
#include "nn/module.h"

static adz_tensor *refuse_call(adz_module *self, adz_tensor *x)
{
    (void)x;
    return adzi_fail(self->type.name, ADZ_ERR_UNSUPPORTED,
        "a container of this kind cannot be called; use what it holds");
}

/* True if `module` is of the type. Otherwise the error is recorded. */
static bool check_type(const char *op, const adz_module *module, const adz_module_type *type)
{
    if (!adzi_check_module(op, "container", module)) {
        return false;
    }
    if (module->identity != type) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "this is a %s, not a %s", module->type.name, type->name);
        return false;
    }
    return true;
}

/* ---- ModuleDict ----------------------------------------------------------------------------- */

const adz_module_type adzi_module_dict_type = {
    .size = sizeof(adz_module_type),
    .name = "ModuleDict",
    .forward = refuse_call,
};

adz_module *adz_module_dict_new(const char *const *keys, adz_module *const *modules, size_t count)
{
    static const char op[] = "adz_module_dict_new";
    if (count > 0 && (keys == NULL || modules == NULL)) {
        for (size_t i = 0; i < count && modules != NULL; ++i) {
            adzi_module_give_back(modules[i]);
        }
        return adzi_fail_null(op, keys == NULL ? "keys" : "modules");
    }
    adz_module *dict = adz_module_new(&adzi_module_dict_type, 0);
    bool good = dict != NULL;
    for (size_t i = 0; i < count; ++i) {
        if (good) {
            good = adz_module_add_child(dict, keys[i], modules[i]) != NULL;
        } else {
            adzi_module_give_back(modules[i]);
        }
    }
    if (!good) {
        adz_module_release(&dict);
    }
    return dict;
}

adz_module *adz_module_dict_set(adz_module *dict, const char *key, adz_module *module)
{
    if (!check_type("adz_module_dict_set", dict, &adzi_module_dict_type)) {
        adzi_module_give_back(module);
        return NULL;
    }
    return adz_module_set_child(dict, key, module);
}

adz_status adz_module_dict_remove(adz_module *dict, const char *key)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_module_dict_remove";
    return check_type(op, dict, &adzi_module_dict_type) ? adzi_module_remove_child(op, dict, key)
                                                        : adz_error_code();
}

/* ---- ParameterList and ParameterDict --------------------------------------------------------- */

/* Writes a line for each parameter. PyTorch names the dtype in two ways: `by_class` gives
 * torch.FloatTensor, else torch.float32. The value of a parametrised parameter is a tensor. */
static size_t print_parameters(const adz_module *self, bool by_class, char *buffer, size_t size)
{
    adzi_text text = { 0 };
    for (size_t i = 0; i < self->n_parameters; ++i) {
        const adz_tensor *t = adzi_parameter(self, i);
        adzi_text_format(&text, "%s  (%s): ", i > 0 ? "\n" : "", self->parameters[i].name);
        if (t == NULL || adzi_is_none(t)) {
            adzi_text_add(&text, "Object of type: NoneType");
            continue;
        }
        const char *type = t->dtype == ADZ_F32 ? "FloatTensor" : "DoubleTensor";
        adzi_text_format(&text, "%s containing: [torch.%s of size ",
            self->parameters[i].tensor != NULL ? "Parameter" : "Tensor",
            by_class ? type : adz_dtype_name((adz_dtype)t->dtype));
        for (int d = 0; d < t->rank; ++d) {
            adzi_text_format(&text, "%s%lld", d > 0 ? "x" : "", (long long)t->sizes[d]);
        }
        adzi_text_add(&text, "]");
    }
    const int n = snprintf(buffer, size, "%s", adzi_text_get(&text));
    adzi_text_free(&text);
    return n > 0 ? (size_t)n : 0;
}

static size_t print_list(adz_module *self, char *buffer, size_t size)
{
    return print_parameters(self, false, buffer, size);
}

static size_t print_dict(adz_module *self, char *buffer, size_t size)
{
    return print_parameters(self, true, buffer, size);
}

static const adz_module_type list_type = {
    .size = sizeof(adz_module_type),
    .name = "ParameterList",
    .forward = refuse_call,
    .extra_repr = print_list,
};

static const adz_module_type dict_type = {
    .size = sizeof(adz_module_type),
    .name = "ParameterDict",
    .forward = refuse_call,
    .extra_repr = print_dict,
};

adz_tensor *adz_parameter_list_append(adz_module *list, adz_tensor *parameter)
{
    if (!check_type("adz_parameter_list_append", list, &list_type)) {
        return NULL;
    }
    char name[24];
    snprintf(name, sizeof name, "%zu", list->n_parameters);
    return adz_module_add_parameter(list, name, parameter);
}

adz_module *adz_parameter_list_new(adz_tensor *const *parameters, size_t count)
{
    if (parameters == NULL && count > 0) {
        return adzi_fail_null("adz_parameter_list_new", "parameters");
    }
    adz_module *list = adz_module_new(&list_type, 0);
    bool good = list != NULL;
    for (size_t i = 0; i < count && good; ++i) {
        good = adz_parameter_list_append(list, parameters[i]) != NULL;
    }
    if (!good) {
        adz_module_release(&list);
    }
    return list;
}

adz_module *adz_parameter_dict_new(const adz_named_tensor *parameters, size_t count)
{
    if (parameters == NULL && count > 0) {
        return adzi_fail_null("adz_parameter_dict_new", "parameters");
    }
    adz_module *dict = adz_module_new(&dict_type, 0);
    bool good = dict != NULL;
    for (size_t i = 0; i < count && good; ++i) {
        good = adz_module_add_parameter(dict, parameters[i].name, parameters[i].tensor) != NULL;
    }
    if (!good) {
        adz_module_release(&dict);
    }
    return dict;
}

adz_tensor *adz_parameter_dict_set(adz_module *dict, const char *key, adz_tensor *parameter)
{
    return check_type("adz_parameter_dict_set", dict, &dict_type)
               ? adz_module_set_parameter(dict, key, parameter)
               : NULL;
}

adz_status adz_parameter_dict_remove(adz_module *dict, const char *key)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_parameter_dict_remove";
    return check_type(op, dict, &dict_type) ? adzi_module_remove_parameter(op, dict, key)
                                            : adz_error_code();
}
