/* ship's files of networks that no program saves: several inputs and results, whole numbers, and
 * derivatives that are the same for every input. */
#include <adze/adze.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../programs/ship/casadi.h"
#include "../../programs/ship/check.h"
#include "../../programs/ship/law.h"
#include "../../programs/ship/train.h"

enum { IN = 3, HIDDEN = 5, OUT = 2, WIDE = 40000 /* twice its square is no int */ };

const char program_name[] = "test_ship";

static void end(net *n)
{
    adz_module_release(&n->root);
}

static law law_of(net n, adz_module *root)
{
    law l = { .n = n };
    l.n.root = root;
    l.n.end = end;
    adz_module_to(root, ADZ_F64);
    adz_module_eval(root);
    make_inputs(&l);
    return l;
}

static void require(bool holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "test_ship: %s\n", what);
        exit(1);
    }
}

/* Writes all functions that are wanted, and compares them with the library. */
static void write_and_compare(law *l, law_function *functions, const char *name, bool casadi)
{
    char c_name[40], other[40];
    adz_c_options c = ADZ_C_OPTIONS;
    c.precision = ADZ_F64;
    c.state = ADZ_C_STATE_CALLER;
    snprintf(c_name, sizeof c_name, "%s.c", name);
    snprintf(other, sizeof other, "%s_casadi.c", name);
    write_law(l, functions, c_name, &c);
    if (casadi) {
        check_for_casadi(l);
        write_casadi(other, c_name, name, l, functions);
    }
    const check k = { ".", casadi ? other : c_name, name, "cc", true, casadi };
    compare_with_library(&k, l, functions);
    free_law(l);
}

static void all_functions(law_function *functions)
{
    list_functions(functions);
    for (size_t i = 0; i < LAW_STEP; ++i) {
        functions[i].wanted = true;
    }
}

/* ---- networks -------------------------------------------------------------------------------- */

static void call_plain(const net *n, adz_tensor *const *inputs, adz_tensor **outputs)
{
    outputs[0] = adz_module_forward(n->root, inputs[0]);
}

/* Two results, so that Jacobians have to be transposed for CasADi. */
static law two_results(adz_module *activation)
{
    const net n = { .inputs = { { "x", ADZ_SHAPE(1, IN), ADZ_F64 } },
        .outputs = { { "y", ADZ_SHAPE(1, OUT), ADZ_F64 } },
        .n_inputs = 1,
        .n_outputs = 1,
        .call = call_plain };
    return law_of(n, ADZ_SEQUENTIAL(adz_linear_new(IN, HIDDEN, NULL), activation,
                         adz_linear_new(HIDDEN, OUT, NULL)));
}

/* So many inputs that two matrices of their square have more elements than an int counts. */
static law wide(void)
{
    const net n = { .inputs = { { "x", ADZ_SHAPE(1, WIDE), ADZ_F64 } },
        .outputs = { { "y", ADZ_SHAPE(1, 1), ADZ_F64 } },
        .n_inputs = 1,
        .n_outputs = 1,
        .call = call_plain };
    return law_of(n, ADZ_SEQUENTIAL(adz_linear_new(WIDE, 1, NULL), adz_tanh_new()));
}

/* A state[2] and forces[1, 2] give a rate [2, 1] and an energy [1]; each depends on both. */
static void call_many(const net *n, adz_tensor *const *inputs, adz_tensor **outputs)
{
    adz_tensor *state = adz_reshape(inputs[0], ADZ_SHAPE(1, 2));
    adz_tensor *parts[] = { state, inputs[1] };
    adz_tensor *y = adz_module_forward(n->root, adz_cat(parts, 2, 1));
    outputs[0] = adz_reshape(adz_mul(y, inputs[1]), ADZ_SHAPE(2, 1));
    outputs[1] = adz_sum(adz_mul(y, state), ADZ_DIMS(1), false);
}

static law many(void)
{
    const net n = { .inputs = { { "state", ADZ_SHAPE(2), ADZ_F64 },
                        { "2 forces__now", ADZ_SHAPE(1, 2), ADZ_F64 } },
        .outputs = { { "rate", ADZ_SHAPE(2, 1), ADZ_F64 }, { "energy", ADZ_SHAPE(1), ADZ_F64 } },
        .n_inputs = 2,
        .n_outputs = 2,
        .call = call_many };
    return law_of(n, ADZ_SEQUENTIAL(adz_linear_new(4, HIDDEN, NULL), adz_tanh_new(),
                         adz_linear_new(HIDDEN, 2, NULL)));
}

/* Which of two rows of a table is used is a whole number, and so is the larger result. */
static void call_whole(const net *n, adz_tensor *const *inputs, adz_tensor **outputs)
{
    adz_tensor *row = adz_module_forward(n->root, inputs[0]);
    outputs[1] = adz_tanh(adz_mul(row, inputs[1]));
    outputs[0] = adz_argmax(outputs[1], ADZ_DIMS(1), false);
}

static law whole(void)
{
    const net n = { .inputs = { { "which", ADZ_SHAPE(1), ADZ_I64 },
                        { "x", ADZ_SHAPE(1, IN), ADZ_F64 } },
        .outputs = { { "largest", ADZ_SHAPE(1), ADZ_I64 }, { "y", ADZ_SHAPE(1, IN), ADZ_F64 } },
        .n_inputs = 2,
        .n_outputs = 2,
        .call = call_whole };
    return law_of(n, adz_embedding_new(2, IN, NULL));
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* A Hessian of zeros is a result like others, and so is a Jacobian that does not change. */
static void constants(void)
{
    law_function functions[LAW_FUNCTIONS];
    all_functions(functions);
    law relu = two_results(adz_relu_new());
    write_and_compare(&relu, functions, "relu", true);
    require(relu.constant_hessian && !relu.constant_jacobian, "a network with ReLU bends");
    law linear = two_results(adz_identity_new());
    write_and_compare(&linear, functions, "linear", true);
    require(linear.constant_hessian && linear.constant_jacobian, "a linear network is not linear");
    functions[LAW_HESSIAN].wanted = false;
    linear = two_results(adz_identity_new());
    write_and_compare(&linear, functions, "linear", true);
    require(!linear.constant_hessian && linear.constant_jacobian, "a constant Jacobian alone");
}

/* Losses of probabilities and of classes; a step is the last function that is compared. */
static void trained(adz_module *last, const char *how, const char *name)
{
    law_function functions[LAW_FUNCTIONS];
    list_functions(functions);
    functions[LAW_STEP].wanted = true;
    law l = two_results(last);
    prepare_training(&l, how, 0.1);
    write_and_compare(&l, functions, name, false);
}

/* Numbers that are not finite differ from all others, whichever side has them. */
static void differences(void)
{
    static const double special[] = { NAN, INFINITY, -INFINITY, 1 };
    adz_scope *scope = adz_scope_open();
    for (int i = 0; i < 4; ++i) {
        for (int k = 0; k < 4; ++k) {
            adz_tensor *wanted = adz_full(ADZ_SHAPE(2), special[i], ADZ_F64);
            const double ours[] = { special[i], special[k] };
            require(difference(wanted, ours) == (i == k ? 0 : INFINITY), "a wrong difference");
        }
    }
    adz_scope_close(scope);
}

int main(void)
{
    law_function functions[LAW_FUNCTIONS];
    adz_on_error(adz_die, NULL);
    adz_manual_seed(3);
    differences();
    all_functions(functions);
    law l = two_results(adz_tanh_new());
    write_and_compare(&l, functions, "two", true);
    require(!l.constant_hessian, "a Hessian of tanh changes");
    l = many();
    write_and_compare(&l, functions, "many", true);
    l = whole();
    write_and_compare(&l, functions, "whole", false);
    functions[LAW_HESSIAN].wanted = false;
    l = wide();
    write_and_compare(&l, functions, "wide", true);
    constants();
    trained(adz_tanh_new(), "cross_entropy,adam", "classes");
    trained(adz_relu_new(), "huber,sgd", "robust");
    return 0;
}
