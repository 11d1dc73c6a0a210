/* oneDNN's plain products of bf16 matrices, in a module that adze-bench loads when it is asked for
 * them: a program linked to oneDNN itself would start with its memory. */
#include <stdlib.h>
#include <string.h>

#include <dnnl.h>

#include "gemm_floor.h"

enum { A_NUMBER = 0x3c }; /* bf16 and f32 made of such bytes are about 0.01 */

typedef struct {
    dnnl_primitive_t primitive;
    dnnl_exec_arg_t args[3];
} prepared;

static dnnl_engine_t engine;
static dnnl_stream_t stream;
static prepared all[MOST_PRODUCTS];

static bool describe(dnnl_memory_desc_t *out, int64_t rows, int64_t columns, bool turned, bool bf16)
{
    dnnl_dims_t sizes = { rows, columns }, steps = { turned ? 1 : columns, turned ? rows : 1 };
    return dnnl_memory_desc_init_by_strides(out, 2, sizes, bf16 ? dnnl_bf16 : dnnl_f32, steps) ==
           dnnl_success;
}

/* Each product has memory of its own, as in a step. */
static bool prepare(const product *p, prepared *out)
{
    static const int names[] = { DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST };
    dnnl_memory_desc_t d[3];
    dnnl_matmul_desc_t matmul;
    dnnl_primitive_desc_t made;
    if (!describe(&d[0], p->m, p->k, p->ta, true) || !describe(&d[1], p->k, p->n, p->tb, true) ||
        !describe(&d[2], p->m, p->n, false, false) ||
        dnnl_matmul_desc_init(&matmul, &d[0], &d[1], NULL, &d[2]) != dnnl_success ||
        dnnl_primitive_desc_create(&made, &matmul, NULL, engine, NULL) != dnnl_success) {
        return false;
    }
    dnnl_primitive_t primitive = NULL;
    bool done = dnnl_primitive_create(&primitive, made) == dnnl_success;
    dnnl_primitive_desc_destroy(made);
    for (int i = 0; done && i < 3; ++i) {
        dnnl_memory_t memory;
        size_t bytes = dnnl_memory_desc_get_size(&d[i]);
        void *values = malloc(bytes);
        done = values != NULL && dnnl_memory_create(&memory, &d[i], engine, values) == dnnl_success;
        if (done) {
            memset(values, A_NUMBER, bytes);
            out->args[i] = (dnnl_exec_arg_t){ names[i], memory };
        }
    }
    out->primitive = done ? primitive : NULL;
    return done;
}

__attribute__((visibility("default"))) bool bf16_products(const product *products, int count);

/* One call per product, on OpenMP's threads; false where oneDNN cannot. The first call prepares the
 * products, of which every call gets the same. */
bool bf16_products(const product *products, int count)
{
    if (engine == NULL) {
        if (dnnl_engine_create(&engine, dnnl_cpu, 0) != dnnl_success ||
            dnnl_stream_create(&stream, engine, dnnl_stream_default_flags) != dnnl_success) {
            return false;
        }
        for (int i = 0; i < count && prepare(&products[i], &all[i]); ++i) {
        }
    }
    bool done = true;
    for (int i = 0; i < count && done; ++i) {
        done = all[i].primitive != NULL &&
               dnnl_primitive_execute(all[i].primitive, stream, 3, all[i].args) == dnnl_success;
    }
    return done;
}
