/**
 * @file containers.h
 * Modules made of modules.
 */
#ifndef ADZE_NN_CONTAINERS_H
#define ADZE_NN_CONTAINERS_H

#include "adze/nn/module.h"

#ifdef __cplusplus
#include <initializer_list>
extern "C" {
#endif

/**
 * Modules called one after the other, each with the result of the one before.
 *
 * A call with lists hands all results on as the next one's arguments. A result that no backward
 * needs ends when the next module has used it; adz_keep it to read it later.
 *
 * @param modules  count modules, named "0", "1", ...; each reference is taken over in every case,
 *                 failure included; a NULL among them fails. The array itself is not kept.
 * @param count    0 or more; an empty one returns its argument
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_OWNERSHIP
 *                 (a module stands twice without adz_module_keep) or ADZ_ERR_MEMORY recorded
 * @see            torch.nn.Sequential
 */
ADZ_API adz_module *adz_sequential_new(adz_module *const *modules, size_t count);

/**
 * Appends to a Sequential.
 *
 * @param sequential  from adz_sequential_new
 * @param module      its reference is taken over in every case
 * @return            module, borrowed; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (not a Sequential)
 *                    or ADZ_ERR_MEMORY recorded
 * @see               torch.nn.Sequential.append
 */
ADZ_API adz_module *adz_sequential_append(adz_module *sequential, adz_module *module);

/**
 * Modules in a list, which its owner calls one by one; calling the list itself is an error.
 *
 * @param modules  count modules, named "0", "1", ...; each reference is taken over in every case,
 *                 failure included; a NULL among them fails. The array itself is not kept.
 * @param count    0 or more
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_OWNERSHIP
 *                 (a module stands twice without adz_module_keep) or ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ModuleList
 */
ADZ_API adz_module *adz_module_list_new(adz_module *const *modules, size_t count);

/**
 * Appends to a ModuleList.
 *
 * @param list    from adz_module_list_new
 * @param module  its reference is taken over in every case
 * @return        module, borrowed; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (not a ModuleList) or
 *                ADZ_ERR_MEMORY recorded
 * @see           torch.nn.ModuleList.append
 */
ADZ_API adz_module *adz_module_list_append(adz_module *list, adz_module *module);

/**
 * Modules by name, which their owner calls one by one; calling the dict itself is an error.
 *
 * Modules are in the order in which their keys were added. adz_module_get_child looks one up;
 * adz_module_child_count, adz_module_child_name_at and adz_module_child_at go through them.
 *
 * @param keys     count names, not empty, without a dot, each once
 * @param modules  count modules; each reference is taken over in every case, failure included; a
 *                 NULL among them fails. The arrays themselves are not kept
 * @param count    0 or more
 * @return         yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 *                 (a key), ADZ_ERR_OWNERSHIP (a module stands twice without adz_module_keep) or
 *                 ADZ_ERR_MEMORY recorded
 * @see            torch.nn.ModuleDict
 */
ADZ_API adz_module *adz_module_dict_new(
    const char *const *keys, adz_module *const *modules, size_t count);

/**
 * Adds a module to a ModuleDict, or replaces the one of that key, which keeps its position.
 *
 * @param dict    from adz_module_dict_new
 * @param key     not empty, without a dot; copied
 * @param module  its reference is taken over in every case
 * @return        module, borrowed; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (the key, or not a
 *                ModuleDict), ADZ_ERR_OWNERSHIP or ADZ_ERR_MEMORY recorded
 * @see           torch.nn.ModuleDict.__setitem__
 */
ADZ_API adz_module *adz_module_dict_set(adz_module *dict, const char *key, adz_module *module);

/**
 * Removes a module from a ModuleDict and ends the dict's reference to it.
 *
 * @param dict  from adz_module_dict_new
 * @param key   of one of its modules
 * @return      ADZ_OK; ADZ_ERR_NULL or ADZ_ERR_ARGUMENT with nothing changed
 * @see         torch.nn.ModuleDict.__delitem__
 */
ADZ_API adz_status adz_module_dict_remove(adz_module *dict, const char *key);

/**
 * Parameters in a list, which the owner of the list uses; calling it is an error.
 *
 * adz_module_parameter_count and adz_module_parameter_at go through them.
 *
 * @param parameters  count contiguous f32 or f64 leaves, named "0", "1", ... and kept; they start
 * to want a gradient. The array itself is not kept
 * @param count       0 or more
 * @return            yours, end it with adz_module_release; NULL with ADZ_ERR_NULL, ADZ_ERR_DTYPE,
 *                    ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not contiguous) or ADZ_ERR_MEMORY
 *                    recorded
 * @see               torch.nn.ParameterList
 */
ADZ_API adz_module *adz_parameter_list_new(adz_tensor *const *parameters, size_t count);

/**
 * Appends to a ParameterList.
 *
 * @param list       from adz_parameter_list_new
 * @param parameter  a contiguous f32 or f64 leaf, kept; it starts to want a gradient
 * @return           parameter, borrowed from the list; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * (not a ParameterList), ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not contiguous) or
 * ADZ_ERR_MEMORY recorded
 * @see              torch.nn.ParameterList.append
 */
ADZ_API adz_tensor *adz_parameter_list_append(adz_module *list, adz_tensor *parameter);

/**
 * Parameters by name, which the owner of the dict uses; calling it is an error.
 *
 * Parameters are in the order in which their keys were added. adz_module_get_parameter looks one
 * up; adz_module_parameter_count, adz_module_parameter_name_at and adz_module_parameter_at go
 * through them.
 *
 * @param parameters  count contiguous f32 or f64 leaves, kept, each with its key: not empty,
 * without a dot, each once. They start to want a gradient. The array itself is not kept
 * @param count       0 or more
 * @return            yours, end it with adz_module_release; NULL with ADZ_ERR_NULL,
 * ADZ_ERR_ARGUMENT (a key), ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not contiguous)
 *                    or ADZ_ERR_MEMORY recorded
 * @see               torch.nn.ParameterDict
 */
ADZ_API adz_module *adz_parameter_dict_new(const adz_named_tensor *parameters, size_t count);

/**
 * Adds a parameter to a ParameterDict, or replaces the one of that key, which keeps its position.
 *
 * @param dict       from adz_parameter_dict_new
 * @param key        not empty, without a dot; copied
 * @param parameter  a contiguous f32 or f64 leaf, kept; it starts to want a gradient
 * @return           parameter, borrowed from the dict; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT
 * (the key, or not a ParameterDict), ADZ_ERR_DTYPE, ADZ_ERR_GRAPH (no leaf), ADZ_ERR_SHAPE (not
 * contiguous), ADZ_ERR_STATE (the parameter there lies in a flat buffer) or ADZ_ERR_MEMORY recorded
 * @see              torch.nn.ParameterDict.__setitem__
 */
ADZ_API adz_tensor *adz_parameter_dict_set(
    adz_module *dict, const char *key, adz_tensor *parameter);

/**
 * Removes a parameter from a ParameterDict.
 *
 * @param dict  from adz_parameter_dict_new
 * @param key   of one of its parameters
 * @return      ADZ_OK; ADZ_ERR_NULL, ADZ_ERR_ARGUMENT or ADZ_ERR_STATE (the parameter lies in a
 * flat buffer) with nothing changed
 * @see         torch.nn.ParameterDict.__delitem__
 */
ADZ_API adz_status adz_parameter_dict_remove(adz_module *dict, const char *key);

/**
 * A module that returns its argument.
 *
 * @return yours, end it with adz_module_release; NULL with ADZ_ERR_MEMORY recorded
 * @see    torch.nn.Identity
 */
ADZ_API adz_module *adz_identity_new(void);

#ifdef __cplusplus
}
/** adz_sequential_new of the modules written down; behind ADZ_SEQUENTIAL in C++. */
static inline adz_module *adz_sequential_list(std::initializer_list<adz_module *> modules)
{
    return adz_sequential_new(modules.begin(), modules.size());
}
/** A Sequential of the modules written down: ADZ_SEQUENTIAL(adz_linear_new(8, 1, NULL), ...). */
#define ADZ_SEQUENTIAL(...) (adz_sequential_list({ __VA_ARGS__ }))
#else
/** A Sequential of the modules written down: ADZ_SEQUENTIAL(adz_linear_new(8, 1, NULL), ...). */
#define ADZ_SEQUENTIAL(...) \
    adz_sequential_new((adz_module *[]){ __VA_ARGS__ }, ADZ_COUNT_MODULES_(__VA_ARGS__))
/** The number of modules written down. */
#define ADZ_COUNT_MODULES_(...) (sizeof((adz_module *[]){ __VA_ARGS__ }) / sizeof(adz_module *))
#endif

#endif
