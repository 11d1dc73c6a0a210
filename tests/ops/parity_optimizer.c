/* The optimizers of the configs of reference vectors. */
#include "adze/zoo.h"
#include "ops/parity_optim.h"

#include <string.h>

static double number(const json_t *value)
{
    return json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
}

static adz_optimizer *optimizer_named(
    const char *reference, adz_tensor_list list, double lr, const json_t *args)
{
    double warmup = config_number(args, "warmup", 0), width = config_number(args, "d_model", 512);
    const char *const names[] = { "torch.optim.SGD", "torch.optim.Adam", "torch.optim.AdamW",
        "torch.optim.RMSprop", "torch.optim.Adagrad", "torch.optim.RAdam", "labml Adam",
        "labml AMSGrad", "labml AdamWarmup", "labml Noam", "labml RAdam",
        "labml AdamWarmupCosineDecay", "labml AdaBelief" };
    int which = 0, n = sizeof names / sizeof *names;
    while (which < n && strcmp(names[which], reference) != 0) {
        ++which;
    }
    switch (which) {
    case 0:
        return adz_sgd_new(list, lr, NULL);
    case 1:
        return adz_adam_new(list, lr, NULL);
    case 2:
        return adz_adamw_new(list, lr, NULL);
    case 3:
        return adz_rmsprop_new(list, lr, NULL);
    case 4:
        return adz_adagrad_new(list, lr, NULL);
    case 5:
        return adz_radam_new(list, lr, NULL);
    case 6:
        return adz_labml_adam_new(list, lr, NULL);
    case 7:
        return adz_labml_amsgrad_new(list, lr, NULL);
    case 8:
        return adz_labml_adam_warmup_new(list, lr, warmup, NULL);
    case 9:
        return adz_labml_noam_new(list, lr, warmup, width, NULL);
    case 10:
        return adz_labml_radam_new(list, lr, NULL);
    case 11:
        return adz_labml_adam_warmup_cosine_decay_new(
            list, lr, warmup, config_number(args, "total_steps", 1e10), NULL);
    case 12:
        return adz_labml_ada_belief_new(list, lr, NULL);
    default:
        return NULL;
    }
}

/* Sets one argument of the constructor. A list or an object sets several settings. */
static bool set(adz_optimizer *o, int group, const char *name, const json_t *value)
{
    if (strcmp(name, "betas") == 0) {
        return adz_optimizer_set(o, group, "beta1", number(json_array_get(value, 0))) == ADZ_OK &&
               adz_optimizer_set(o, group, "beta2", number(json_array_get(value, 1))) == ADZ_OK;
    }
    if (strcmp(name, "params") == 0 || strcmp(name, "nesterov") == 0 || json_is_null(value)) {
        return true;
    }
    if (!json_is_object(value)) {
        return adz_optimizer_set(o, group, name, number(value)) == ADZ_OK;
    }
    const char *key;
    const json_t *part;
    bool good = true;
    json_object_foreach((json_t *)value, key, part)
    {
        good = good && adz_optimizer_set(o, group, key, number(part)) == ADZ_OK;
    }
    return good;
}

static bool set_all(adz_optimizer *o, int group, const json_t *args)
{
    const char *key;
    const json_t *value;
    bool good = true;
    json_object_foreach((json_t *)args, key, value)
    {
        good = good && set(o, group, key, value);
    }
    if (good && config_has(args, "nesterov")) { /* Nesterov needs a momentum, so it is set last. */
        good = adz_optimizer_set(o, group, "nesterov", config_flag(args, "nesterov", false)) == 0;
    }
    return good;
}

/* Lists the parameters of one of config.param_groups; returns how many they are. */
static size_t group_members(const json_t *group, const outcome *r, adz_tensor **members)
{
    const json_t *list = json_object_get(group, "params");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); ++i) {
        for (size_t k = 0; k < r->n; ++k) {
            if (strcmp(r->names[k], json_string_value(json_array_get(list, i))) == 0) {
                members[n++] = r->tensors[k];
            }
        }
    }
    return n;
}

adz_optimizer *make_optimizer(const vector_file *v, const outcome *r)
{
    const json_t *args = json_object_get(v->config, "optimizer_args");
    const json_t *groups = json_object_get(v->config, "param_groups");
    const char *reference = vector_meta(v, "reference");
    bool slow = strstr(reference, "Adam") != NULL || strncmp(reference, "labml", 5) == 0;
    double lr = config_number(args, "lr", slow ? 1e-3 : 1e-2); /* the defaults of the references */
    adz_optimizer *o = NULL;
    if (groups == NULL) {
        o = optimizer_named(reference, adz_tensor_list_of(r->tensors, r->n), lr, args);
    }
    for (size_t g = 0; g < json_array_size(groups); ++g) {
        adz_tensor *members[MOST_PARAMETERS];
        size_t n = group_members(json_array_get(groups, g), r, members);
        if (n == 0) {
            continue; /* an empty group changes nothing */
        }
        adz_tensor_list list = adz_tensor_list_of(members, n);
        if (o == NULL) {
            o = optimizer_named(reference, list, lr, args);
        } else if (adz_optimizer_add_param_group(o, list) < 0) {
            adz_optimizer_release(&o);
            return NULL;
        }
    }
    bool good = o != NULL && set_all(o, -1, args);
    for (size_t g = 0, here = 0; good && g < json_array_size(groups); ++g) {
        const json_t *group = json_array_get(groups, g);
        if (json_array_size(json_object_get(group, "params")) > 0) {
            good = set_all(o, (int)here++, group);
        }
    }
    if (!good) {
        adz_optimizer_release(&o);
    }
    return o;
}
