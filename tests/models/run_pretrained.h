/* Runs a published model on inputs of a file: for the test of golden files and for oracle.py. */
#ifndef ADZE_TESTS_MODELS_RUN_PRETRAINED_H
#define ADZE_TESTS_MODELS_RUN_PRETRAINED_H

#include "adze/adze.h"
#include "adze/models.h"

/**
 * Calls a model with each tensor of `in` as the argument of its name, except "labels". Adds the
 * results to `out`. With "labels" i64[B, T] of a language model, it also adds "loss", the mean
 * cross entropy of logits[:, :-1] and labels[:, 1:], and the gradients "grad.NAME" of all
 * parameters. Without a head and with "target", the loss is the sum of last_hidden_state * target.
 */
static inline adz_status run_pretrained(
    adz_module *model, adz_safetensors *in, adz_safetensors *out)
{
    adz_values *to = adz_values_new(), *from = adz_values_new();
    for (size_t i = 0; i < adz_safetensors_count(in); ++i) {
        const char *name = adz_safetensors_name_at(in, i);
        if (strcmp(name, "labels") != 0 && strcmp(name, "target") != 0) {
            adz_values_add(to, name, adz_safetensors_at(in, i));
        }
    }
    adz_status status = adz_module_call(model, to, from);
    for (size_t i = 0; i < adz_values_count(from) && status == ADZ_OK; ++i) {
        status = adz_safetensors_add(
            out, adz_values_name_at(from, i), adz_detach(adz_values_at(from, i)));
    }
    adz_tensor *loss = NULL;
    if (status == ADZ_OK && adz_safetensors_has(in, "labels")) {
        adz_tensor *logits = adz_values_get(from, "logits"),
                   *labels = adz_safetensors_get(in, "labels");
        const int64_t n = adz_tensor_size(labels, 1) - 1;
        logits =
            adz_reshape(adz_narrow(logits, 1, 0, n), ADZ_SHAPE(-1, adz_tensor_size(logits, 2)));
        labels = adz_reshape(adz_narrow(labels, 1, 1, n), ADZ_SHAPE(-1));
        loss = adz_cross_entropy(logits, labels, ADZ_NONE, NULL);
    } else if (status == ADZ_OK && adz_safetensors_has(in, "target")) {
        adz_tensor *h = adz_values_get(from, "last_hidden_state");
        adz_tensor *target = adz_to(adz_safetensors_get(in, "target"), adz_tensor_dtype(h));
        loss = adz_sum(adz_mul(h, target), ADZ_ALL_DIMS, ADZ_DROPDIM);
    }
    if (loss != NULL) {
        status = adz_backward(loss);
        adz_named_list parameters = adz_module_named_parameters(model);
        for (size_t i = 0; i < parameters.count && status == ADZ_OK; ++i) {
            char name[300];
            snprintf(name, sizeof name, "grad.%s", parameters.items[i].name);
            adz_tensor *g = adz_tensor_grad(parameters.items[i].tensor);
            status = g != NULL ? adz_safetensors_add(out, name, g) : ADZ_OK;
        }
        status = status == ADZ_OK ? adz_safetensors_add(out, "loss", adz_detach(loss)) : status;
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status;
}

#endif
