/* adze-operators: one line per operator for the table in docs/operators.md, in tabs:
 *     NAME  registered|composed  fused|-  INPUTS
 * INPUTS has one word per input of the operator's samples, in the order of the call: its name in
 * the reference vectors (or -), and "=grad" if some sample's result, recorded with that input alone
 * wanting a gradient, wants one. tests/checks/operators.py makes the table of it. */
#include <stdio.h>

#include "ops/op.h"
#include "ops/sweep.h"

static const adzi_op *registered(const char *name)
{
    for (int i = 0; i < adzi_n_ops; ++i) {
        if (strcmp(adzi_ops[i]->name, name) == 0) {
            return adzi_ops[i];
        }
    }
    return NULL;
}

/* True if a result of the sample wants a gradient when input i alone wants one. */
static bool differentiable_in(const op_case *c, const op_sample *sample, int i)
{
    adz_scope *scope = adz_scope_open();
    built b;
    build_inputs(&b, sample->in, sample->p, sample->text, LAYOUT_PLAIN, ADZ_F64, 1);
    bool found = false;
    if (i < b.args.n && !sample->in[i].none && adz_tensor_requires_grad(b.leaves[i])) {
        for (int j = 0; j < b.args.n; ++j) {
            if (j != i && !sample->in[j].none && adz_tensor_requires_grad(b.leaves[j])) {
                adz_requires_grad_(b.leaves[j], false);
            }
        }
        adz_tensor *out[CASE_RESULTS];
        int n = call_built(c, &b, out);
        for (int k = 0; k < n; ++k) {
            found = found || adz_tensor_requires_grad(out[k]);
        }
    }
    adz_scope_close(scope);
    return found;
}

int main(void)
{
    for (int o = 0; o < n_op_cases; ++o) {
        const op_case *c = op_cases[o];
        const adzi_op *op = registered(c->name);
        printf("%s\t%s\t%s\t", c->name, op != NULL ? "registered" : "composed",
            op != NULL && op->fused != NULL ? "fused" : "-");
        const char *space = "";
        for (int i = 0; i < CASE_INPUTS; ++i) {
            bool given = false, grad = false;
            size_t n_samples = sizeof c->samples / sizeof *c->samples;
            for (size_t s = 0; s < n_samples && c->samples[s].in[0].given; ++s) {
                given = given || c->samples[s].in[i].given;
                grad = grad || differentiable_in(c, &c->samples[s], i);
            }
            if (given) {
                const char *name = c->inputs[i] != NULL ? c->inputs[i] : "-";
                printf("%s%s%s", space, name, grad ? "=grad" : "");
                space = " ";
            }
        }
        printf("\n");
    }
    return adz_error_code() == ADZ_OK ? 0 : 1;
}
