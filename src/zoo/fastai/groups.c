/* Groups of parameters for fastai's discriminative learning rates: a model is split into groups,
 * from the embedding to the head, which can be frozen and get a learning rate each. */
#include "adze/zoo/fastai_groups.h"

#include <math.h>
#include <string.h>

#include "adze/autograd.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/math.h"

#include "zoo.h"

typedef struct {
    adz_tensor **items;
    size_t count, capacity;
} group;

/* The mark of groups that live. A free overwrites it, so a pointer to groups that were freed is
 * recognised until their memory is used again. */
enum { GROUPS_ALIVE = 0x3d9a61c5 };

struct adz_fastai_groups {
    uint32_t mark;
    size_t count;
    group items[]; /* each owns a reference to its tensors */
};

/* ---- building ------------------------------------------------------------------------------- */

static adz_fastai_groups *groups_new(size_t count)
{
    adz_fastai_groups *groups = adzi_zoo_alloc(sizeof(adz_fastai_groups) + count * sizeof(group));
    if (groups != NULL) {
        groups->mark = GROUPS_ALIVE;
        groups->count = count;
    }
    return groups;
}

/* Whether the groups live. Records an error if they are NULL or were freed. */
static bool check_groups(const char *op, const adz_fastai_groups *groups)
{
    if (groups == NULL) {
        adz_error_null(op, "groups");
        return false;
    }
    if (groups->mark != GROUPS_ALIVE) {
        adz_error_format(op, ADZ_ERR_OWNERSHIP, "groups is a stale pointer: it was freed before");
        return false;
    }
    return true;
}

void adz_fastai_groups_free(adz_fastai_groups **groups)
{
    adz_fastai_groups *freed = groups != NULL ? *groups : NULL;
    if (freed == NULL) {
        return;
    }
    *groups = NULL;
    if (!check_groups("adz_fastai_groups_free", freed)) {
        return;
    }
    for (size_t i = 0; i < freed->count; ++i) {
        group *g = &freed->items[i];
        for (size_t k = 0; k < g->count; ++k) {
            adz_release(&g->items[k]);
        }
        adzi_zoo_free(g->items);
    }
    freed->mark = 0;
    adzi_zoo_free(freed);
}

static bool is_in(const adz_fastai_groups *groups, const adz_tensor *t)
{
    for (size_t i = 0; i < groups->count; ++i) {
        for (size_t k = 0; k < groups->items[i].count; ++k) {
            if (groups->items[i].items[k] == t) {
                return true;
            }
        }
    }
    return false;
}

/* Adds a parameter to a group unless some group has it already, as tied parameters do. False with
 * the error recorded. */
static bool add(adz_fastai_groups *groups, size_t index, adz_tensor *t)
{
    group *g = &groups->items[index];
    if (zoo_is_none(t) || is_in(groups, t)) {
        return true;
    }
    if (g->count == g->capacity) {
        const size_t capacity = 2 * g->capacity + 8;
        adz_tensor **items = adzi_zoo_alloc(capacity * sizeof *items);
        if (items == NULL) {
            return false;
        }
        if (g->count > 0) {
            memcpy(items, g->items, g->count * sizeof *items);
        }
        adzi_zoo_free(g->items);
        g->items = items;
        g->capacity = capacity;
    }
    g->items[g->count++] = adz_keep(t);
    return true;
}

/* Adds all parameters of a module to a group. False if the module is NULL or an error is recorded.
 */
static bool add_module(adz_fastai_groups *groups, size_t index, adz_module *module)
{
    const adz_tensor_list list = adz_module_parameters(module);
    bool good = adz_error_code() == ADZ_OK;
    for (size_t i = 0; good && i < list.count; ++i) {
        good = add(groups, index, list.items[i]);
    }
    return good;
}

/* ---- splitting ------------------------------------------------------------------------------ */

/* The parts of a model from which the groups are made, borrowed from the model. */
typedef struct {
    const char *op;
    adz_module *encoder, *head;
    adz_module *layers; /* the encoder's ModuleList of layers */
} parts;

/* The child of `of` with this name; NULL with an error that says that the model is no `what`. NULL
 * without another error if `of` is NULL. */
static adz_module *part(const char *op, adz_module *of, const char *name, const char *what)
{
    for (size_t i = 0; of != NULL && i < adz_module_child_count(of); ++i) {
        if (strcmp(adz_module_child_name_at(of, i), name) == 0) {
            return zoo_child(of, i);
        }
    }
    return of == NULL
               ? NULL
               : zoo_fail(op, ADZ_ERR_ARGUMENT, "the model is no %s: its %s has no child called %s",
                     what, adz_module_name(of), name);
}

/* Finds the parts of a model. `layers` is the name of the encoder's list: "rnns" or "layers". */
static bool find_parts(
    parts *p, const char *op, adz_module *model, bool classifier, const char *layers)
{
    const char *what = classifier ? "text classifier of this kind" : "language model of this kind";
    if (model == NULL) {
        adz_error_null(op, "model");
        return false;
    }
    p->op = op;
    p->encoder = part(op, model, "0", what);
    if (classifier) {
        p->encoder = part(op, p->encoder, "module", what);
    }
    p->head = p->encoder != NULL ? part(op, model, "1", what) : NULL;
    p->layers = p->head != NULL ? part(op, p->encoder, layers, what) : NULL;
    return p->layers != NULL && part(op, p->encoder, "encoder", what) != NULL;
}

/* Returns `groups` if `good`; otherwise frees them and returns NULL. */
static adz_fastai_groups *finish(adz_fastai_groups *groups, bool good)
{
    if (!good) {
        adz_fastai_groups_free(&groups);
    }
    return groups;
}

/* Adds the parameters of the embedding and, in an AWD-LSTM, of the dropout around it. */
static bool add_embedding(const parts *p, adz_fastai_groups *groups, size_t index)
{
    bool good = true;
    for (size_t i = 0; i < adz_module_child_count(p->encoder) && good; ++i) {
        const char *name = adz_module_child_name_at(p->encoder, i);
        if (strcmp(name, "encoder") == 0 || strcmp(name, "encoder_dp") == 0) {
            good = add_module(groups, index, zoo_child(p->encoder, i));
        }
    }
    return good;
}

/* One group per layer. A classifier has groups of its own for the embedding and the head. In a
 * language model the last group has both, because they share their weight. */
static adz_fastai_groups *split_awd_lstm(const char *op, adz_module *model, bool classifier)
{
    parts p;
    if (!find_parts(&p, op, model, classifier, "rnns")) {
        return NULL;
    }
    size_t layers = adz_module_child_count(p.layers), last = layers + (classifier ? 1 : 0);
    adz_fastai_groups *groups = groups_new(last + 1);
    bool good = groups != NULL && add_embedding(&p, groups, classifier ? 0 : last);
    for (size_t i = 0; i < layers && good; ++i) {
        good = add_module(groups, classifier ? i + 1 : i, zoo_child(p.layers, i));
    }
    return finish(groups, good && add_module(groups, last, p.head));
}

/* Adds u and v, the parameters that a Transformer-XL has in addition to those of its children. */
static bool add_own(const parts *p, adz_fastai_groups *groups, size_t index)
{
    static const char *const names[] = { "u", "v" };
    for (int i = 0; i < 2; ++i) {
        const bool found = adzi_zoo_has_entry(p->encoder, names[i]);
        adz_tensor *own = found ? adz_module_get_parameter(p->encoder, names[i]) : NULL;
        if (own == NULL) {
            adz_error_format(p->op, ADZ_ERR_ARGUMENT,
                "the model is no Transformer-XL: its %s has no parameter called %s",
                adz_module_name(p->encoder), names[i]);
            return false;
        }
        if (!add(groups, index, own)) {
            return false;
        }
    }
    return true;
}

/* Three groups of layers; the third one has the remainder of the division by 3. A classifier has
 * groups of its own for embedding and head, a language model one group for both. */
static adz_fastai_groups *split_transformer(
    const char *op, adz_module *model, bool classifier, bool xl)
{
    parts p;
    if (!find_parts(&p, op, model, classifier, "layers")) {
        return NULL;
    }
    size_t layers = adz_module_child_count(p.layers), third = layers / 3;
    size_t first = classifier ? 1 : 0, last = first + 3;
    adz_fastai_groups *groups = groups_new(last + 1);
    bool good = groups != NULL && add_embedding(&p, groups, classifier ? 0 : last);
    for (size_t i = 0; i < layers && good; ++i) {
        size_t index = i < third ? 0 : i < 2 * third ? 1 : 2;
        good = add_module(groups, first + index, zoo_child(p.layers, i));
    }
    good = good && (!xl || add_own(&p, groups, first));
    return finish(groups, good && add_module(groups, last, p.head));
}

adz_fastai_groups *adz_fastai_awd_lstm_lm_split(adz_module *model)
{
    return split_awd_lstm("adz_fastai_awd_lstm_lm_split", model, false);
}

adz_fastai_groups *adz_fastai_awd_lstm_clas_split(adz_module *model)
{
    return split_awd_lstm("adz_fastai_awd_lstm_clas_split", model, true);
}

adz_fastai_groups *adz_fastai_tfmer_lm_split(adz_module *model)
{
    return split_transformer("adz_fastai_tfmer_lm_split", model, false, false);
}

adz_fastai_groups *adz_fastai_tfmer_clas_split(adz_module *model)
{
    return split_transformer("adz_fastai_tfmer_clas_split", model, true, false);
}

adz_fastai_groups *adz_fastai_tfmer_xl_lm_split(adz_module *model)
{
    return split_transformer("adz_fastai_tfmer_xl_lm_split", model, false, true);
}

adz_fastai_groups *adz_fastai_tfmer_xl_clas_split(adz_module *model)
{
    return split_transformer("adz_fastai_tfmer_xl_clas_split", model, true, true);
}

/* ---- groups --------------------------------------------------------------------------------- */

size_t adz_fastai_groups_count(const adz_fastai_groups *groups)
{
    return groups != NULL && check_groups("adz_fastai_groups_count", groups) ? groups->count : 0;
}

adz_tensor_list adz_fastai_groups_at(const adz_fastai_groups *groups, size_t index)
{
    static const char op[] = "adz_fastai_groups_at";
    if (!check_groups(op, groups)) {
        return (adz_tensor_list){ NULL, 0 };
    }
    if (index >= groups->count) {
        adz_error_format(
            op, ADZ_ERR_INDEX, "there is no group %zu, only %zu", index, groups->count);
        return (adz_tensor_list){ NULL, 0 };
    }
    return (adz_tensor_list){ groups->items[index].items, groups->items[index].count };
}

adz_status adz_fastai_freeze_to(const adz_fastai_groups *groups, int64_t n)
{
    if (!check_groups("adz_fastai_freeze_to", groups)) {
        return adz_error_code();
    }
    int64_t count = (int64_t)groups->count, first = n < 0 ? count + n : n;
    for (int64_t i = 0; i < count; ++i) {
        const group *g = &groups->items[i];
        for (size_t k = 0; k < g->count; ++k) {
            if (adz_requires_grad_(g->items[k], i >= first) == NULL) {
                return adz_error_code();
            }
        }
    }
    return ADZ_OK;
}

adz_status adz_fastai_lr_range(double start, double stop, size_t n, double *rates)
{
    static const char op[] = "adz_fastai_lr_range";
    if (rates == NULL) {
        return adz_error_null(op, "rates");
    }
    if (!(start >= 0 && start < INFINITY) || !(stop > 0 && stop < INFINITY) || n < 1) {
        return adz_error_format(op, ADZ_ERR_ARGUMENT,
            "from %s to %s in %zu steps: rates must be above 0, for a group or more",
            adz_text_number(start), adz_text_number(stop), n);
    }
    adz_scope *scope = adz_scope_open();
    /* (stop / start)^(i / (n - 1)) */
    adz_tensor *exponents =
        adz_div_number(adz_arange(0, (double)(n - 1), 1, ADZ_F64), n > 1 ? (double)(n - 1) : 1);
    adz_tensor *base = adz_full(ADZ_SHAPE(1), start > 0 ? stop / start : 1, ADZ_F64);
    adz_tensor *powers = adz_pow(base, exponents);
    const double *factors = powers != NULL ? adz_tensor_data_f64(powers) : NULL;
    for (size_t i = 0; factors != NULL && i + 1 < n; ++i) {
        rates[i] = start > 0 ? start * factors[i] : stop / 10;
    }
    adz_scope_close(scope);
    if (factors == NULL) {
        return adz_error_code();
    }
    rates[n - 1] = stop;
    return ADZ_OK;
}
