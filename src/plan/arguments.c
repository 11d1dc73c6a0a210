/* The arguments of operators, which are compared from call to call. */
#include "plan/plan.h"
#include "tensor/tensor.h"

static uint64_t mixed(uint64_t hash, uint64_t word)
{
    return (hash ^ word) * 0x9e3779b97f4a7c15u;
}

/* A number that follows from the dtype, the sizes and the strides of a tensor. */
static uint64_t layout_of(const adz_tensor *t, uint64_t offset)
{
    uint64_t hash = mixed(mixed(mixed(offset, t->dtype), t->rank), 0);
    for (int i = 0; i < t->rank; ++i) {
        hash = mixed(mixed(hash, (uint64_t)t->sizes[i]), (uint64_t)t->strides[i]);
    }
    return hash;
}

/* What an argument of an operator is: the number of a block that the call has made, or an address
 * outside. Numbers are odd, and addresses of elements even. */
static adzi_plan_argument argument_of(
    const adzi_captured_call *c, const char *op, const adz_tensor *t)
{
    const size_t i = adzi_plan_blocks_find(&c->blocks, t->storage->data);
    if (i == SIZE_MAX) {
        return (adzi_plan_argument){ (uintptr_t)t->data & ~(uintptr_t)1, layout_of(t, 0), op };
    }
    const adzi_plan_block *block = &c->blocks.all[i];
    return (adzi_plan_argument){ (uintptr_t)block->number * 2 + 1,
        layout_of(t, (uint64_t)(t->data - block->begin)), op };
}

void adzi_plan_entered(adzi_capture *capture, const char *op, adz_tensor *const *in, int n)
{
    adzi_captured_call *c = adzi_plan_of(capture)->current;
    capture->op = op;
    for (int i = 0; i < n; ++i) {
        if (!adzi_is_none(in[i]) && ADZI_GROW_CALL(capture, c, arguments)) {
            c->arguments[c->n_arguments++] = argument_of(c, op, in[i]);
        }
    }
}

void adzi_captured_call_reads(
    const adzi_captured_call *c, adz_tensor *const *tensors, bool *reads, size_t n)
{
    const size_t end = c->n_results > 0 ? c->results_at : c->n_arguments;
    for (size_t i = 0; i < end; ++i) {
        for (size_t k = 0; k < n; ++k) {
            reads[k] = reads[k] || c->arguments[i].what == (uintptr_t)tensors[k]->data;
        }
    }
}
