/* Finding a module's own parameters, buffers and children by their names. */
#include "nn/module.h"

#include <string.h>

/* A module with fewer names has no index: a search through them all is as quick. */
enum { FEW = 32 };

size_t adzi_module_count(const adz_module *module, int kind)
{
    return kind == ADZI_PARAMETER ? module->n_parameters
           : kind == ADZI_BUFFER  ? module->n_buffers
                                  : module->n_children;
}

static const char *name_of(const adz_module *module, int kind, size_t i)
{
    return kind == ADZI_PARAMETER ? module->parameters[i].name
           : kind == ADZI_BUFFER  ? module->buffers[i].name
                                  : module->children[i].name;
}

static size_t count_all(const adz_module *module)
{
    return module->n_parameters + module->n_buffers + module->n_children;
}

/* ---- the index ------------------------------------------------------------------------------ */

/* The position of entry i of a kind in the index. */
static size_t place(int kind, size_t i)
{
    return i * ADZI_KINDS + (size_t)kind;
}

/* Whether an entry has a name of n characters. */
static bool has_name(const adz_module *module, int kind, size_t i, const char *name, size_t n)
{
    const char *own = name_of(module, kind, i);
    return strncmp(own, name, n) == 0 && own[n] == '\0';
}

static bool match(const void *list, size_t position, const void *key, size_t size)
{
    return has_name(list, (int)(position % ADZI_KINDS), position / ADZI_KINDS, key, size);
}

static void enter(adz_module *module, int kind, size_t i)
{
    const char *name = name_of(module, kind, i);
    adzi_index_enter(&module->names, name, strlen(name), place(kind, i));
}

void adzi_module_named(adz_module *module, int kind)
{
    const size_t total = count_all(module);
    if (total < FEW) {
        return;
    }
    if (module->names.count + 1 == total && adzi_index_reserve(&module->names, 1)) {
        enter(module, kind, adzi_module_count(module, kind) - 1);
        return;
    }
    adzi_index_free(&module->names);
    if (!adzi_index_reserve(&module->names, total)) {
        return; /* it works without an index */
    }
    for (int k = 0; k < ADZI_KINDS; ++k) {
        for (size_t i = 0; i < adzi_module_count(module, k); ++i) {
            enter(module, k, i);
        }
    }
}

size_t adzi_module_position(const adz_module *module, int kind, const char *name, size_t n)
{
    const size_t count = adzi_module_count(module, kind), total = count_all(module);
    if (total >= FEW && module->names.count == total) {
        const size_t found = adzi_index_find(&module->names, name, n, match, module);
        return found != ADZI_NOWHERE && found % ADZI_KINDS == (size_t)kind ? found / ADZI_KINDS
                                                                           : count;
    }
    size_t i = 0;
    while (i < count && !has_name(module, kind, i, name, n)) {
        ++i;
    }
    return i;
}

size_t adzi_parameter_index(const adz_module *module, const char *name)
{
    return adzi_module_position(module, ADZI_PARAMETER, name, strlen(name));
}
