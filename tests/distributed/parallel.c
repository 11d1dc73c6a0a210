#include "parallel.h"

/* The element of a parameter at the start. */
static double value(int parameter, int64_t i)
{
    return cos(1.3 * (double)i + parameter) + 0.2;
}

static double gradient(int parameter, int64_t i, int step)
{
    return sin(0.7 * (double)i + 1.9 * step + parameter) * (1 + 0.5 * (double)(i % 3)) + 0.1;
}

static adz_tensor *like(const adz_tensor *t, int parameter, int step)
{
    double *numbers = malloc(sizeof *numbers * (size_t)(t->numel + 1));
    for (int64_t i = 0; i < t->numel; ++i) {
        numbers[i] = step < 0 ? value(parameter, i) : gradient(parameter, i, step);
    }
    const adz_shape shape = { t->rank, { t->sizes[0], t->rank > 1 ? t->sizes[1] : 0 } };
    adz_tensor *made = adz_to(adz_tensor_from(numbers, shape, ADZ_F64), (adz_dtype)t->dtype);
    free(numbers);
    return made;
}

training training_new(adz_group *group)
{
    static const int in[LAYERS] = { 23, 17, 1, 5 }, out[LAYERS] = { 17, 9, 3, 7 };
    training t = { .model = NULL };
    adz_module *layers[LAYERS];
    adz_scope *scope = adz_scope_open();
    for (int k = 0; k < LAYERS; ++k) {
        adz_linear_options o = ADZ_LINEAR_OPTIONS;
        o.dtype = k % 2 == 0 ? ADZ_F32 : ADZ_F64;
        layers[k] = adz_linear_new(in[k], out[k], &o);
    }
    check(adz_module_requires_grad_(layers[LAYERS - 1], false) == ADZ_OK);
    t.model = adz_sequential_new(layers, LAYERS);
    const adz_tensor_list list = adz_module_parameters(t.model);
    check(list.count == PARAMETERS);
    ADZ_NO_GRAD
    {
        for (int i = 0; i < PARAMETERS; ++i) {
            t.w[i] = list.items[i];
            adz_copy_(t.w[i], like(t.w[i], i, -1));
        }
    }
    if (group != NULL) {
        t.parallel = adz_data_parallel_new(group, t.model, NULL);
    }
    adz_scope_close(scope);
    return t;
}

void training_end(training *t)
{
    adz_data_parallel_free(&t->parallel);
    adz_optimizer_release(&t->optimizer);
    adz_module_release(&t->model);
}

void training_optimizer(training *t, const optimizer_case *which)
{
    t->optimizer = which->make(adz_tensor_list_of(t->w, PARAMETERS - 4));
    check(t->optimizer != NULL);
}

void training_second_group(training *t)
{
    check(adz_optimizer_add_param_group(
              t->optimizer, adz_tensor_list_of(t->w + PARAMETERS - 4, 4)) == 1);
    check(adz_optimizer_set(t->optimizer, 1, "lr", 0.03) == ADZ_OK);
}

void training_gradients(training *t, int step)
{
    adz_scope *scope = adz_scope_open();
    for (int i = 0; i < PARAMETERS; ++i) {
        const bool has = i < PARAMETERS - 2 && (i + step) % 5 != 0;
        adz_tensor_set_grad(t->w[i], has ? like(t->w[i], i, step) : ADZ_NONE);
    }
    adz_scope_close(scope);
}

adz_status training_step(training *t, int step)
{
    training_gradients(t, step);
    return t->parallel != NULL ? adz_data_parallel_step(t->parallel, t->optimizer)
                               : adz_optimizer_step(t->optimizer);
}

size_t training_state_bytes(const training *t)
{
    size_t bytes = 0;
    for (size_t g = 0; g < t->optimizer->n_groups; ++g) {
        const adzi_group *group = t->optimizer->groups[g];
        for (size_t i = 0; i < group->count; ++i) {
            for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
                const adz_tensor *state = group->kept[i].state[k];
                bytes += state != NULL ? (size_t)state->numel * adzi_item_size(state) : 0;
            }
        }
    }
    return bytes;
}

bool training_equal(const training *a, const training *b)
{
    bool equal = true;
    for (int i = 0; i < PARAMETERS; ++i) {
        equal = equal && adz_equal(a->w[i], b->w[i]);
    }
    return equal;
}
