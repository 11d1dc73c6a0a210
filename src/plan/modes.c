/* The modes of modules on which a captured call depends.
 *
 * A call of a module reads the module's mode, and may read the mode of any module below it. A
 * replay does what an ordinary call would do while each of them has the mode that it had when the
 * captured call ended. So a validation between two runs, which leaves the modes as they were, does
 * not end a plan. */
#include <stdlib.h>

#include "base/alloc.h"
#include "nn/module.h"
#include "plan/plan.h"

static void note(adzi_captured_call *c, const adz_module *module)
{
    if (!adzi_grow(&c->modes, &c->modes_capacity, c->n_modes + 1, sizeof *c->modes)) {
        c->refused = true;
        return;
    }
    c->modes[c->n_modes++] = (struct adzi_plan_mode){ .module = module };
    for (size_t i = 0; i < module->n_children; ++i) {
        note(c, module->children[i].module);
    }
}

void adzi_plan_uses_modes(adzi_capture *capture, const adz_module *module)
{
    adzi_captured_call *c = ((adz_plan *)(void *)capture)->current;
    if (module != c->noted) { /* a loop calls one module again and again */
        note(c, module);
        c->noted = module;
    }
}

static int by_address(const void *a, const void *b)
{
    const struct adzi_plan_mode *x = a, *y = b;
    return ((uintptr_t)x->module > (uintptr_t)y->module) -
           ((uintptr_t)x->module < (uintptr_t)y->module);
}

void adzi_plan_close_modes(adzi_captured_call *c)
{
    size_t kept = 0;
    if (c->n_modes > 1) { /* an empty list is NULL, which qsort does not take */
        qsort(c->modes, c->n_modes, sizeof *c->modes, by_address);
    }
    for (size_t i = 0; i < c->n_modes; ++i) {
        const adz_module *module = c->modes[i].module;
        const bool repeated = kept > 0 && c->modes[kept - 1].module == module;
        if (!repeated && module->alive == ADZI_MODULE_ALIVE) {
            c->modes[kept++] = (struct adzi_plan_mode){ module, module->training };
        }
    }
    c->n_modes = kept;
}

bool adzi_plan_modes_changed(const adzi_captured_call *c)
{
    bool changed = false;
    for (size_t i = 0; i < c->n_modes; ++i) {
        changed = changed || c->modes[i].module->training != c->modes[i].training;
    }
    return changed;
}
