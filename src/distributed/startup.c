/* The start of data-parallel training: the ranks compare what bits depend on, and rank 0's model
 * becomes everybody's. */
#include <stdio.h>

#include "adze/precision.h"
#include "base/error.h"
#include "distributed/data_parallel.h"
#include "tensor/gemm/gemm.h"
#include "tensor/tensor.h"

enum { TEXT = 400 };

static adz_status compare_list(adz_group *group, const char *kind, adz_named_list list)
{
    char what[96], value[TEXT];
    snprintf(what, sizeof what, "the number of the model's %ss", kind);
    snprintf(value, sizeof value, "%zu", list.count);
    adz_status status = adz_group_agree(group, what, value);
    for (size_t i = 0; i < list.count && status == ADZ_OK; ++i) {
        const adz_tensor *t = list.items[i].tensor;
        snprintf(what, sizeof what, "the model's %s %zu", kind, i);
        snprintf(value, sizeof value, "%.300s%s %s%s", list.items[i].name, adzi_text_shape(t),
            adz_dtype_name((adz_dtype)t->dtype), adzi_requires_grad(t) ? "" : " without gradient");
        status = adz_group_agree(group, what, value);
    }
    return status;
}

static adz_status compare_options(adz_group *group, const adz_data_parallel_options *o)
{
    char text[TEXT];
    snprintf(text, sizeof text,
        "micro_batches %d, seed %llu, %zu generators, bucket_bytes %zu, fast %s", o->micro_batches,
        (unsigned long long)o->seed, o->n_generators, o->bucket_bytes, o->fast ? "true" : "false");
    return adz_group_agree(group, "the options of adz_data_parallel_new", text);
}

/* Compares the parts of the library and of the machine on which the bits of a result depend. */
static adz_status compare_builds(adz_group *group)
{
    char text[TEXT];
    const char *const facts[][2] = {
        { "the version of adze", adz_version() },
        { "the instruction set", adz_cpu_name() },
        { "the BLAS library", adzi_gemm_uses_blas() ? adzi_blas_info() : "not used" },
        { "whose products are computed",
            adz_get_gemm_backend() == ADZ_GEMM_BLAS ? "BLAS" : "adze" },
        { "the matmul precision", adz_matmul_precision_info() },
    };
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < sizeof facts / sizeof *facts && status == ADZ_OK; ++i) {
        snprintf(text, sizeof text, "%s", facts[i][1]);
        status = adz_group_agree(group, facts[i][0], text);
    }
    return status;
}

adz_status adzi_parallel_compare(
    adz_group *group, adz_module *module, const adz_data_parallel_options *options)
{
    /* The first comparison also tells the others if this rank has failed already. */
    adz_status status = compare_builds(group);
    status = status == ADZ_OK ? compare_options(group, options) : status;
    status = status == ADZ_OK
                 ? compare_list(group, "parameter", adz_module_named_parameters(module))
                 : status;
    return status == ADZ_OK ? compare_list(group, "buffer", adz_module_named_buffers(module))
                            : status;
}

/* ---- rank 0's model ------------------------------------------------------------------------- */

static adz_status broadcast_list(adz_group *group, adz_named_list list)
{
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < list.count && status == ADZ_OK; ++i) {
        status = adz_group_broadcast(group, list.items[i].tensor, 0);
    }
    return status;
}

/* Parameters that want no gradient lie outside of the layout. */
static adz_status broadcast_rest(adz_group *group, adz_named_list list)
{
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < list.count && status == ADZ_OK; ++i) {
        if (!adzi_requires_grad(list.items[i].tensor)) {
            status = adz_group_broadcast(group, list.items[i].tensor, 0);
        }
    }
    return status;
}

adz_status adzi_parallel_broadcast(const adz_data_parallel *p)
{
    adz_status status = ADZ_OK;
    if (p->group->size == 1) {
        return ADZ_OK;
    }
    const bool before = adz_set_grad_enabled(false);
    for (int g = 0; g < adz_flat_parameters_group_count(p->flat) && status == ADZ_OK; ++g) {
        status = adz_group_broadcast(p->group, adz_flat_parameters_values(p->flat, g), 0);
    }
    adz_flat_parameters_touch(p->flat);
    status = status == ADZ_OK ? broadcast_rest(p->group, adz_module_named_parameters(p->module))
                              : status;
    status =
        status == ADZ_OK ? broadcast_list(p->group, adz_module_named_buffers(p->module)) : status;
    adz_set_grad_enabled(before);
    return status;
}
