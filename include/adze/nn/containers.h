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
