/* A model and its loss, for reference vectors that store both. */
#include "adze/zoo.h"
#include "nn/case.h"

typedef struct {
    adz_module *model;
    double alpha, beta; /* the factors of AR and TAR */
} loss_state;

/* The last result whose name begins with the prefix. */
static adz_tensor *last_of(const adz_values *results, const char *prefix)
{
    adz_tensor *last = ADZ_NONE;
    for (size_t i = 0; i < adz_values_count(results); ++i) {
        if (strncmp(adz_values_name_at(results, i), prefix, strlen(prefix)) == 0) {
            last = adz_values_at(results, i);
        }
    }
    return last;
}

static adz_status add_loss(
    const loss_state *s, const adz_values *from, adz_tensor *target, adz_values *out)
{
    adz_tensor *logits = adz_values_at(from, 0);
    adz_tensor *loss = adz_fastai_cross_entropy_flat(logits, target, ADZ_NONE, -1, NULL);
    adz_status status = adz_values_add(out, "ce", adz_detach(loss));
    if (s->alpha != 0 || s->beta != 0) {
        loss = adz_fastai_ar_tar(
            loss, last_of(from, "out."), last_of(from, "raw."), s->alpha, s->beta);
    }
    return status == ADZ_OK ? adz_values_add(out, "loss", loss) : status;
}

/* Passes all arguments except "target" to the model. The model's first result becomes "logits". */
static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const loss_state *s = adz_module_data(self);
    adz_tensor *target = adz_values_get(in, "target");
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < adz_values_count(in) && status == ADZ_OK; ++i) {
        const char *name = adz_values_name_at(in, i);
        bool by_position =
            strcmp(name, "x") == 0; /* a head without an encoder takes x by position */
        if (strcmp(name, "target") != 0) {
            status = adz_values_add(to, by_position ? "" : name, adz_values_at(in, i));
        }
    }
    status = status == ADZ_OK ? adz_module_call(s->model, to, from) : status;
    status = status == ADZ_OK ? adz_values_add(out, "logits", adz_values_at(from, 0)) : status;
    if (status == ADZ_OK && target != ADZ_NONE) {
        status = add_loss(s, from, target, out);
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status;
}

static void destroy(adz_module *self)
{
    adz_module_release(&((loss_state *)adz_module_data(self))->model);
}

static const adz_module_type type = {
    .size = sizeof(adz_module_type),
    .name = "WithLoss",
    .call = call,
    .destroy = destroy,
};

adz_module *case_with_loss(adz_module *model, double alpha, double beta)
{
    adz_module *self = model != NULL ? adz_module_new(&type, sizeof(loss_state)) : NULL;
    if (self == NULL) {
        return NULL;
    }
    *(loss_state *)adz_module_data(self) = (loss_state){ model, alpha, beta };
    for (size_t i = 0; i < adz_module_child_count(model); ++i) {
        adz_module_add_child(self, adz_module_child_name_at(model, i),
            adz_module_keep(adz_module_child_at(model, i)));
    }
    return self;
}
