/* The training step: the forward, the loss, the gradients and the optimizer's update. */
#include "export/c99/step.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "export/c99/lanes.h"
#include "export/c99/program.h"
#include "optim/adam_family.h"
#include "optim/sgd.h"

/* A type of the user's may have the name of one of these, and still be another one. */
static bool is_sgd(const adz_optimizer *o)
{
    return o->identity == &adzi_sgd_type;
}

/* True if a setting is not 0 in one of the groups. */
static bool is_set(const adz_optimizer *o, int setting)
{
    bool set = false;
    for (size_t g = 0; g < o->n_groups; ++g) {
        set = set || o->groups[g]->settings[setting] != 0;
    }
    return set;
}

/* True if the step counts how often it was called. */
static bool counts_steps(const adz_optimizer *o)
{
    return !is_sgd(o) || is_set(o, ADZI_SGD_DAMPENING);
}

/* ---- parameters -------------------------------------------------------------------------------
 */

static int memory_of(const adzi_c99 *c, const adz_tensor *parameter)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        if (c->memories[i].kind == ADZI_C99_PARAMETER && c->memories[i].tensor == parameter) {
            return (int)i;
        }
    }
    return -1;
}

bool adzi_c99_check_optimizer(adzi_c99 *c, const adz_optimizer *o)
{
    if (!is_sgd(o) && o->identity != &adzi_adam_type && o->identity != &adzi_adamw_type) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
            "the optimizer %s cannot be written in C; use adze's SGD, Adam or AdamW",
            o->type->name);
    } else if (!is_sgd(o) && is_set(o, ADZI_ADAM_AMSGRAD)) {
        adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED, "Adam with amsgrad cannot be written in C");
    }
    return !c->failed;
}

void adzi_c99_mark_parameters(adzi_c99 *c, const adz_optimizer *o)
{
    bool any = false;
    for (size_t g = 0; g < o->n_groups; ++g) {
        for (size_t i = 0; i < o->groups[g]->count; ++i) {
            const int memory = memory_of(c, o->groups[g]->parameters[i]);
            if (memory >= 0) {
                c->memories[memory].changes = c->memories[memory].wants = any = true;
            }
        }
    }
    if (!any) {
        adzi_c99_fail(c, ADZ_ERR_ARGUMENT,
            "none of the optimizer's parameters is a parameter of the plan's module that the "
            "function uses");
    }
    for (size_t i = 0; i < c->n_calls; ++i) {
        const adzi_c99_call *call = &c->calls[i];
        bool wants = false;
        for (int k = 0; k < call->n_in; ++k) {
            const adzi_c99_value *v = adzi_c99_in(c, call, k);
            wants = wants || (v != NULL && adzi_c99_wants(c, v));
        }
        for (int k = 0; k < call->n_out && wants; ++k) {
            adzi_c99_memory *m = &c->memories[adzi_c99_out(c, call, k)->memory];
            m->wants = adzi_is_float(m->dtype);
        }
        if (wants && call->inplace) {
            adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                "%s changes a tensor in place, which a training step in C cannot contain",
                call->op->name);
        }
    }
}

/* ---- losses -----------------------------------------------------------------------------------
 */

/* loss = mean((y - t)^2),  dy = 2 (y - t) / n. */
static void print_mse(adzi_c99 *c, const adzi_c99_value *y, const adzi_c99_value *target)
{
    const adzi_c99_value dy = adzi_c99_gradient(c, y);
    const char *n = adzi_c99_float((double)y->numel);
    adzi_c99_line(c, "/* the mean squared error */");
    adzi_c99_nest nest = adzi_c99_nest_of(y->rank, y->sizes);
    adzi_c99_nest_add(&nest, y);
    adzi_c99_nest_add(&nest, target);
    adzi_c99_nest_add(&nest, &dy);
    adzi_c99_nest_open(c, &nest);
    adzi_c99_line(c, "const float error = %s - %s;", nest.operand[0].text, nest.operand[1].text);
    adzi_c99_line(c, "loss += error * error;");
    adzi_c99_line(c, "%s += 2 * error / %s;", nest.operand[2].text, n);
    adzi_c99_nest_close(c, &nest);
    adzi_c99_line(c, "loss /= %s;", n);
}

/* loss = mean(log(sum e^y) - y[target]),  dy = (softmax(y) - one_hot(target)) / n. Rows with a
 * negative target do not count. */
static void print_cross_entropy(adzi_c99 *c, const adzi_c99_value *y, const adzi_c99_value *target)
{
    const adzi_c99_value dy = adzi_c99_gradient(c, y);
    const int axis = y->rank > 1 ? 1 : 0;
    adzi_c99_line(c, "/* cross-entropy */");
    adzi_c99_line(c, "int rows = 0;");
    adzi_c99_nest nest = adzi_c99_nest_of(target->rank, target->sizes);
    adzi_c99_nest_add(&nest, target);
    adzi_c99_nest_open(c, &nest);
    adzi_c99_line(c, "rows += %s >= 0;", nest.operand[0].text);
    adzi_c99_nest_close(c, &nest);
    adzi_c99_lanes lanes = adzi_c99_lanes_of(y, 1u << axis);
    const int from = adzi_c99_lanes_add(&lanes, y), to = adzi_c99_lanes_add(&lanes, &dy);
    const int at = adzi_c99_lanes_add_reduced(&lanes, target);
    adzi_c99_lanes_open(c, &lanes);
    adzi_c99_line(c, "const int32_t label = %s;", adzi_c99_lane_element(c, &lanes, at));
    adzi_c99_line(c, "float most = (-1.0f / 0.0f), total = 0, right = 0;");
    adzi_c99_line(c, "int32_t at = 0;");
    adzi_c99_nest pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(
        c, "most = %s > most ? %s : most;", pass.operand[from].text, pass.operand[from].text);
    adzi_c99_line(c, "right = at++ == label ? %s : right;", pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c, "total += @exp(%s - most);", pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    adzi_c99_line(c, "if (label >= 0) {");
    ++c->depth;
    adzi_c99_line(c, "loss += (most - right) + @log(total);");
    adzi_c99_line(c, "at = 0;");
    pass = adzi_c99_pass(c, &lanes);
    adzi_c99_line(c,
        "%s += (@exp(%s - most) / total - (at++ == label ? 1.0f : 0.0f)) / (float)rows;",
        pass.operand[to].text, pass.operand[from].text);
    adzi_c99_nest_close(c, &pass);
    --c->depth;
    adzi_c99_line(c, "}");
    adzi_c99_lanes_close(c, &lanes);
    adzi_c99_line(c, "loss /= (float)rows;");
}

/* The target: the prediction's shape for the mean squared error, and that without the classes for
 * cross-entropy. */
static adzi_c99_value target_of(adzi_c99 *c, const adzi_c99_value *y, adz_c_loss loss)
{
    const bool classes = loss == ADZ_C_CROSS_ENTROPY;
    const int axis = y->rank > 1 ? 1 : 0;
    adzi_c99_value t = { .rank = 0, .numel = 1, .dtype = classes ? ADZ_I64 : ADZ_F32 };
    for (int d = 0; d < y->rank; ++d) {
        if (!classes || d != axis) {
            t.sizes[t.rank++] = y->sizes[d];
        }
    }
    for (int d = t.rank - 1; d >= 0; --d) {
        t.strides[d] = t.numel;
        t.numel *= t.sizes[d];
    }
    t.memory = adzi_c99_memory_new(c, ADZI_C99_INPUT, t.dtype, t.numel);
    if (t.memory >= 0) {
        snprintf(c->memories[t.memory].name, ADZI_C99_NAME, "target");
    }
    return t;
}

/* ---- updates ----------------------------------------------------------------------------------
 */

/* The names of a parameter's states; "m_<parameter>" and "v_<parameter>". */
static void print_sgd(adzi_c99 *c, const double *s, const char *w, const char *dw, size_t group)
{
    const char *sign = s[ADZI_SGD_MAXIMIZE] != 0 ? "-" : "";
    adzi_c99_line(c, "float g = %s%s[i];", sign, dw);
    if (s[ADZI_SGD_WEIGHT_DECAY] != 0) {
        adzi_c99_line(c, "g += %s * %s[i];", adzi_c99_float(s[ADZI_SGD_WEIGHT_DECAY]), w);
    }
    if (s[ADZI_SGD_MOMENTUM] != 0) {
        const char *momentum = adzi_c99_float(s[ADZI_SGD_MOMENTUM]);
        if (s[ADZI_SGD_DAMPENING] != 0) {
            adzi_c99_line(c, "m_%s[i] = %s * m_%s[i] + (steps == 1 ? 1 : %s) * g;", w, momentum, w,
                adzi_c99_float(1 - s[ADZI_SGD_DAMPENING]));
        } else {
            adzi_c99_line(c, "m_%s[i] = %s * m_%s[i] + g;", w, momentum, w);
        }
        if (s[ADZI_SGD_NESTEROV] != 0) {
            adzi_c99_line(c, "g += %s * m_%s[i];", momentum, w);
        } else {
            adzi_c99_line(c, "g = m_%s[i];", w);
        }
    }
    adzi_c99_line(c, "%s[i] -= %s_learning_rate[%d] * g;", w, c->name, (int)group);
}

static void print_adam(adzi_c99 *c, const adz_optimizer *o, const double *s, const char *w,
    const char *dw, size_t group)
{
    const bool decoupled = o->identity == &adzi_adamw_type;
    const double decay = s[ADZI_ADAM_WEIGHT_DECAY];
    adzi_c99_line(c, "%sfloat g = %s%s[i];", decay != 0 && !decoupled ? "" : "const ",
        s[ADZI_ADAM_MAXIMIZE] != 0 ? "-" : "", dw);
    if (decay != 0 && !decoupled) {
        adzi_c99_line(c, "g += %s * %s[i];", adzi_c99_float(decay), w);
    }
    adzi_c99_line(c, "m_%s[i] = %s * m_%s[i] + %s * g;", w, adzi_c99_float(s[ADZI_ADAM_BETA1]), w,
        adzi_c99_float(1 - s[ADZI_ADAM_BETA1]));
    adzi_c99_line(c, "v_%s[i] = %s * v_%s[i] + %s * g * g;", w, adzi_c99_float(s[ADZI_ADAM_BETA2]),
        w, adzi_c99_float(1 - s[ADZI_ADAM_BETA2]));
    if (decay != 0 && decoupled) {
        adzi_c99_line(c, "%s[i] -= %s_learning_rate[%d] * %s * %s[i];", w, c->name, (int)group,
            adzi_c99_float(decay), w);
    }
    adzi_c99_line(c, "%s[i] -= step * m_%s[i] / (@sqrt(v_%s[i]) * root + %s);", w, w, w,
        adzi_c99_float(s[ADZI_ADAM_EPS]));
}

/* The steps that a parameter has made; those of all parameters must be equal. */
static int64_t steps_of(adzi_c99 *c, const adz_optimizer *o)
{
    int64_t steps = -1;
    for (size_t g = 0; g < o->n_groups; ++g) {
        for (size_t i = 0; i < o->groups[g]->count; ++i) {
            const int64_t own = o->groups[g]->kept[i].steps;
            if (memory_of(c, o->groups[g]->parameters[i]) >= 0 && steps >= 0 && own != steps) {
                adzi_c99_fail(c, ADZ_ERR_ARGUMENT,
                    "the optimizer's parameters have made %lld and %lld steps; a step in C needs "
                    "one number for all",
                    (long long)steps, (long long)own);
            }
            steps = memory_of(c, o->groups[g]->parameters[i]) >= 0 ? own : steps;
        }
    }
    return steps < 0 ? 0 : steps;
}

/* 1 - beta^steps, which is -(e^(steps log beta) - 1). A power of beta near 1 would lose most of its
 * digits in the difference. */
static const char *bias_of(const adzi_group *group, int beta, char text[80])
{
    snprintf(text, 80, "-@expm1((float)steps * %s)", adzi_c99_float(log(group->settings[beta])));
    return text;
}

static void print_group(adzi_c99 *c, const adz_optimizer *o, size_t g)
{
    const adzi_group *group = o->groups[g];
    char text[80];
    if (!is_sgd(o)) {
        adzi_c99_line(c, "root = 1 / @sqrt(%s);", bias_of(group, ADZI_ADAM_BETA2, text));
        adzi_c99_line(c, "step = %s_learning_rate[%d] / %s;", c->name, (int)g,
            bias_of(group, ADZI_ADAM_BETA1, text));
    }
    for (size_t i = 0; i < group->count; ++i) {
        const int memory = memory_of(c, group->parameters[i]);
        if (memory < 0 || c->memories[memory].gradient < 0) {
            continue;
        }
        char w[ADZI_C99_NAME], dw[ADZI_C99_NAME];
        snprintf(w, sizeof w, "%s", adzi_c99_use(c, memory));
        snprintf(dw, sizeof dw, "%s", adzi_c99_use(c, c->memories[memory].gradient));
        adzi_c99_line(c, "for (int i = 0; i < %lld; ++i) {", (long long)c->memories[memory].count);
        ++c->depth;
        if (is_sgd(o)) {
            print_sgd(c, group->settings, w, dw, g);
        } else {
            print_adam(c, o, group->settings, w, dw, g);
        }
        --c->depth;
        adzi_c99_line(c, "}");
    }
}

/* ---- the step ---------------------------------------------------------------------------------
 */

void adzi_c99_print_step(adzi_c99 *c, const adz_optimizer *o, adz_c_loss loss)
{
    const adzi_c99_value y = c->values[c->outputs[0]];
    if (y.dtype != ADZ_F32 || !adzi_c99_wants(c, &y)) {
        adzi_c99_fail(c, ADZ_ERR_ARGUMENT,
            "the function's result, or the first one of several, is no float32 or does not depend "
            "on a "
            "parameter of the optimizer; the training step compares this result with the target");
        return;
    }
    for (size_t i = 0; i < c->n_calls && !c->failed; ++i) {
        adzi_c99_forward(c, &c->calls[i]);
    }
    ++c->step;
    c->current = "loss";
    const adzi_c99_value target = target_of(c, &y, loss);
    if (c->failed) {
        return;
    }
    adzi_c99_line(c, "%s", "");
    if (loss == ADZ_C_CROSS_ENTROPY) {
        print_cross_entropy(c, &y, &target);
    } else {
        print_mse(c, &y, &target);
    }
    for (size_t i = c->n_calls; i-- > 0 && !c->failed;) {
        adzi_c99_backward(c, &c->calls[i]);
    }
    ++c->step;
    c->current = o->type->name;
    adzi_c99_line(c, "%s", "");
    adzi_c99_line(c, "/* %s */", o->type->name);
    if (!is_sgd(o)) {
        adzi_c99_line(c, "float root, step;");
    }
    if (counts_steps(o)) { /* up to 2^24, from where on nothing depends on the number */
        adzi_c99_line(c, "steps += steps < 16777216;");
    }
    for (size_t g = 0; g < o->n_groups && !c->failed; ++g) {
        print_group(c, o, g);
    }
    adzi_c99_line(c, "return loss;");
}

/* ---- the optimizer's state --------------------------------------------------------------------
 */

/* A state's array, with its present contents if the optimizer has made steps. */
static int64_t print_state(
    adzi_c99 *c, adzi_text *file, const char *prefix, int memory, const adz_tensor *state)
{
    const adzi_c99_memory *m = &c->memories[memory];
    const int64_t count = m->count > 0 ? m->count : 1; /* C has no empty arrays */
    adzi_text_format(file, "static float %s_%s[%lld]", prefix, m->name, (long long)count);
    if (state != NULL && m->count > 0) {
        adzi_text_add(file, " = {");
        for (int64_t i = 0; i < m->count; ++i) {
            adzi_text_format(file, "%s%s,", i % 8 == 0 ? "\n    " : " ",
                adzi_c99_float((double)((const float *)(const void *)state->data)[i]));
        }
        adzi_text_add(file, "\n}");
    }
    adzi_text_add(file, ";\n");
    return count * (int64_t)sizeof(float);
}

int64_t adzi_c99_print_states(adzi_c99 *c, adzi_text *file, const adz_optimizer *o)
{
    const int64_t steps = steps_of(c, o);
    int64_t bytes = 0;
    adzi_text_format(file, "float %s_learning_rate[%d] = {", c->name, (int)o->n_groups);
    for (size_t g = 0; g < o->n_groups; ++g) {
        adzi_text_format(file, " %s%s", adzi_c99_float(o->groups[g]->settings[0]),
            g + 1 < o->n_groups ? "," : " };\n");
        bytes += (int64_t)sizeof(float);
    }
    if (counts_steps(o)) {
        adzi_text_format(file, "static int32_t steps = %lld;\n", (long long)steps);
        bytes += (int64_t)sizeof(int32_t);
    }
    for (size_t g = 0; g < o->n_groups; ++g) {
        for (size_t i = 0; i < o->groups[g]->count; ++i) {
            const int memory = memory_of(c, o->groups[g]->parameters[i]);
            const adzi_kept *kept = &o->groups[g]->kept[i];
            const bool updated = memory >= 0 && c->memories[memory].gradient >= 0;
            if (updated && (!is_sgd(o) || o->groups[g]->settings[ADZI_SGD_MOMENTUM] != 0)) {
                bytes += print_state(c, file, "m", memory, kept->state[0]);
            }
            if (updated && !is_sgd(o)) {
                bytes += print_state(c, file, "v", memory, kept->state[1]);
            }
        }
    }
    return bytes;
}
