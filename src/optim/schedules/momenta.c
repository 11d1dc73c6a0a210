/* The momenta that schedules move, and numbers for each group of parameters. */
#include "optim/schedules/momenta.h"

#include <string.h>

#include "base/error.h"

adz_status adzi_fill_groups(const char *op, const adz_optimizer *optimizer,
    const adzi_group_numbers *rows, size_t n_rows, double *list)
{
    const size_t n_groups = optimizer->n_groups;
    for (size_t k = 0; k < n_rows; ++k) {
        if (rows[k].n != (rows[k].list != NULL ? n_groups : 0)) {
            return adzi_error(op, ADZ_ERR_ARGUMENT,
                "%zu numbers in %s for %zu groups of parameters", rows[k].n, rows[k].name,
                n_groups);
        }
        for (size_t g = 0; g < n_groups; ++g) {
            list[g * n_rows + k] = rows[k].list != NULL ? rows[k].list[g] : rows[k].all;
        }
    }
    return ADZ_OK;
}

bool adzi_setting_is_momentum(const char *name)
{
    return strcmp(name, "momentum") == 0 || strcmp(name, "beta1") == 0;
}

bool adzi_momentum_setting(
    const char *op, const adz_optimizer *optimizer, bool wanted, int *setting)
{
    *setting = -1;
    for (int k = 0; k < optimizer->n_settings && wanted && *setting < 0; ++k) {
        *setting = adzi_setting_is_momentum(optimizer->type->settings[k].name) ? k : -1;
    }
    if (wanted && *setting < 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s has no momentum to cycle; set cycle_momentum to false",
            adz_optimizer_name(optimizer));
    }
    return !wanted || *setting >= 0;
}

adz_status adzi_check_momenta(const char *op, const adz_optimizer *optimizer, const double *momenta,
    size_t stride, int setting)
{
    adz_status status = ADZ_OK;
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t which = 0; which < 2 && status == ADZ_OK; ++which) {
            double settings[ADZ_OPTIMIZER_SETTINGS];
            memcpy(settings, optimizer->groups[g]->settings, sizeof settings);
            settings[setting] = momenta[g * stride + which];
            status = adzi_check_settings(op, optimizer, settings);
        }
    }
    return status;
}
