/* The numbers of optimizers' updates: rates, bias corrections and others that a type's `numbers`
 * computes from the settings and the count of steps. The file has that function as the type's text
 * (type_text.c), so no formula is written twice.
 *
 * Parameters of one group that have made equally many steps have equal numbers, which a function
 * computes once. The learning rates are an array that the program may change. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "export/c99/program.h"

/* ---- counts of steps ------------------------------------------------------------------------- */

static const adzi_kept *kept_of(const adzi_parameter_position *position)
{
    return &position->optimizer->groups[position->group]->kept[position->i];
}

static size_t find_stepped(const adzi_c99 *c, const adzi_parameter_position *position)
{
    for (size_t i = 0; i < c->n_stepped; ++i) {
        const adzi_parameter_position *at = &c->stepped[i].position;
        if (at->optimizer == position->optimizer && at->group == position->group &&
            at->i == position->i) {
            return i;
        }
    }
    return ADZI_NOWHERE;
}

static size_t add_stepped(adzi_c99 *c, const adzi_traced_value *v)
{
    const size_t known = find_stepped(c, &v->position), n = c->n_functions;
    if (known != ADZI_NOWHERE) {
        return known;
    }
    if (!adzi_grow(&c->stepped, &c->stepped_capacity, c->n_stepped + 1, sizeof *c->stepped) ||
        !adzi_grow(&c->steps, &c->steps_capacity, (c->n_stepped + 1) * n, sizeof *c->steps)) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the counts of steps");
        return ADZI_NOWHERE;
    }
    memset(c->steps + c->n_stepped * n, 0, n * sizeof *c->steps);
    c->stepped[c->n_stepped] = (adzi_c99_stepped){
        .position = v->position, .steps = kept_of(&v->position)->steps, .count = c->n_stepped
    };
    return c->n_stepped++;
}

bool adzi_c99_add_steps(adzi_c99 *c, const adzi_trace *trace)
{
    for (size_t i = 0; i < trace->n_values; ++i) {
        const adzi_traced_value *v = &trace->values[i];
        if (v->kind != ADZI_VALUE_NUMBER) {
            continue;
        }
        const size_t stepped = add_stepped(c, v);
        if (stepped == ADZI_NOWHERE) {
            return false;
        }
        int64_t *steps = &c->steps[stepped * c->n_functions + (size_t)c->function];
        *steps = v->ahead >= *steps ? v->ahead + 1 : *steps;
        if (v->ahead == 0) {
            c->stepped[stepped].fresh = v->fresh;
        }
    }
    return true;
}

/* Whether two parameters have made, and will make, equally many steps. */
static bool agree(const adzi_c99 *c, size_t i, size_t k)
{
    const size_t n = c->n_functions;
    return c->stepped[i].steps == c->stepped[k].steps &&
           c->stepped[i].fresh == c->stepped[k].fresh &&
           memcmp(c->steps + i * n, c->steps + k * n, n * sizeof *c->steps) == 0;
}

void adzi_c99_count_together(adzi_c99 *c)
{
    for (size_t i = 0; i < c->n_stepped; ++i) {
        size_t k = 0;
        while (!agree(c, i, k)) {
            ++k;
        }
        c->stepped[i].count = k;
    }
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* The groups of all optimizers before that of `stepped`, in the order in which they are first used.
 * A `stepped` behind the last one counts all groups. */
static size_t groups_before(const adzi_c99 *c, size_t stepped)
{
    const adz_optimizer *own =
        stepped < c->n_stepped ? c->stepped[stepped].position.optimizer : NULL;
    size_t groups = own != NULL ? c->stepped[stepped].position.group : 0;
    for (size_t i = 0; i < c->n_stepped && c->stepped[i].position.optimizer != own; ++i) {
        const adz_optimizer *o = c->stepped[i].position.optimizer;
        bool first = true;
        for (size_t k = 0; k < i && first; ++k) {
            first = c->stepped[k].position.optimizer != o;
        }
        groups += first ? o->n_groups : 0;
    }
    return groups;
}

size_t adzi_c99_groups(const adzi_c99 *c)
{
    return groups_before(c, c->n_stepped);
}

size_t adzi_c99_first_group(const adzi_c99 *c, const adz_optimizer *optimizer)
{
    size_t i = 0;
    while (c->stepped[i].position.optimizer != optimizer) {
        ++i;
    }
    return groups_before(c, i) - c->stepped[i].position.group;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static bool same_update(const adzi_c99 *c, const adzi_c99_update *u, size_t stepped, int64_t ahead)
{
    const adzi_c99_stepped *a = &c->stepped[u->stepped], *b = &c->stepped[stepped];
    return u->function == c->function && u->ahead == ahead && a->count == b->count &&
           a->position.optimizer == b->position.optimizer && a->position.group == b->position.group;
}

static int update_of(adzi_c99 *c, const adzi_traced_value *v)
{
    const size_t stepped = find_stepped(c, &v->position);
    for (size_t i = 0; i < c->n_updates; ++i) {
        if (same_update(c, &c->updates[i], stepped, v->ahead)) {
            return (int)i;
        }
    }
    if (!adzi_grow(&c->updates, &c->updates_capacity, c->n_updates + 1, sizeof *c->updates)) {
        adzi_c99_fail(c, ADZ_ERR_MEMORY, "no memory for the numbers of updates");
        return -1;
    }
    c->updates[c->n_updates] = (adzi_c99_update){ c->function, stepped, v->ahead };
    return (int)c->n_updates++;
}

int adzi_c99_number_memory(adzi_c99 *c, const adzi_traced_value *v)
{
    const int update = update_of(c, v);
    for (size_t i = 0; i < c->n_memories && update >= 0; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind == ADZI_C99_NUMBER && m->update == update && m->which == v->which &&
            m->stored == v->dtype) {
            return (int)i;
        }
    }
    const int memory = update >= 0 ? adzi_c99_memory_new(c, ADZI_C99_NUMBER, v->dtype, 1) : -1;
    if (memory >= 0) {
        c->memories[memory].update = update;
        c->memories[memory].which = v->which;
    }
    return memory;
}

static const adz_optimizer_type *type_of(const adzi_c99 *c, int update)
{
    return c->stepped[c->updates[update].stepped].position.optimizer->type;
}

static bool uses(const adzi_c99 *c, int update)
{
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind == ADZI_C99_NUMBER && m->update == update && m->first >= 0) {
            return true;
        }
    }
    return false;
}

/* Whether a state begins with the rate of the step that makes it. */
static bool begins_with_rate(const adz_optimizer_type *type)
{
    bool begins = false;
    for (int k = 0; k < ADZ_OPTIMIZER_STATES && type->states[k].name != NULL; ++k) {
        begins = begins || type->states[k].initial == ADZ_INITIAL_LR;
    }
    return begins;
}

/* Whether the numbers of the update, new states or a checkpoint depend on the count of steps. */
static bool counts(const adzi_c99 *c, int update)
{
    const adz_optimizer_type *type = type_of(c, update);
    const adzi_c99_stepped *s = &c->stepped[c->updates[update].stepped];
    return !type->uncounted || (s->fresh != 0 && (type->numbers != NULL || begins_with_rate(type)));
}

bool adzi_c99_has_count(const adzi_c99 *c, size_t stepped)
{
    for (size_t i = 0; i < c->n_updates; ++i) {
        if (c->stepped[c->updates[i].stepped].count == stepped && counts(c, (int)i)) {
            return true;
        }
    }
    return false;
}

bool adzi_c99_makes_steps(const adzi_c99 *c, const adzi_parameter_position *position)
{
    return find_stepped(c, position) != ADZI_NOWHERE;
}

size_t adzi_c99_count_of(const adzi_c99 *c, const adzi_parameter_position *position)
{
    const size_t stepped = find_stepped(c, position);
    const size_t count = stepped != ADZI_NOWHERE ? c->stepped[stepped].count : ADZI_NOWHERE;
    return count != ADZI_NOWHERE && adzi_c99_has_count(c, count) ? count : ADZI_NOWHERE;
}

const char *adzi_c99_rates(const adzi_c99 *c, char text[ADZI_C99_LABEL])
{
    snprintf(text, ADZI_C99_LABEL, "%s%slearning_rate", c->caller ? "state->" : c->name,
        c->caller ? "" : "_");
    return text;
}

/* "const double settings_3[2] = { (double)NAME_learning_rate[0], 0.9 };" The number is that of the
 * update, of which a group has several. */
static void print_settings(const adzi_c99 *c, adzi_text *to, int update)
{
    const size_t stepped = c->updates[update].stepped;
    const adzi_parameter_position *position = &c->stepped[stepped].position;
    const adz_optimizer *o = position->optimizer;
    char rates[ADZI_C99_LABEL];
    adzi_text_format(to, "    /* %s */\n    const double settings_%d[%d] = { (double)%s[%d]",
        o->type->name, update, o->n_settings, adzi_c99_rates(c, rates),
        (int)groups_before(c, stepped));
    for (int k = 1; k < o->n_settings; ++k) {
        adzi_text_format(to, ", %s", adzi_c99_double(o->groups[position->group]->settings[k]));
    }
    adzi_text_add(to, " };\n");
}

/* "moment.settings = settings_3; numbers(numbers, &moment);" */
static void print_update(adzi_c99 *c, adzi_text *to, int update)
{
    const adzi_c99_update *u = &c->updates[update];
    const adzi_c99_stepped *s = &c->stepped[u->stepped];
    const adz_optimizer_type *type = s->position.optimizer->type;
    print_settings(c, to, update);
    if (type->numbers == NULL) {
        return;
    }
    char name[ADZI_C99_NAME], step[64] = "0", fresh[96] = "0";
    const char *state = adzi_c99_of_state(c);
    adzi_c99_type_text(c, NULL, type, name);
    if (!type->uncounted) {
        snprintf(
            step, sizeof step, "%ssteps_%d + %lld", state, (int)s->count, (long long)u->ahead + 1);
    }
    if (s->fresh != 0 && u->ahead == 0) {
        snprintf(fresh, sizeof fresh, "%ssteps_%d == %lld ? %uu : 0u", state, (int)s->count,
            (long long)s->steps, (unsigned)s->fresh);
    }
    adzi_text_format(
        to, "    moment.settings = settings_%d;\n    moment.step = %s;\n", update, step);
    adzi_text_format(to, "    moment.fresh = %s;\n    %s(numbers, &moment);\n", fresh, name);
}

/* The numbers of an update as arrays of one element, from which a compiler makes registers. */
static void print_elements(const adzi_c99 *c, adzi_text *to, int update)
{
    const bool computed = type_of(c, update)->numbers != NULL;
    for (size_t i = 0; i < c->n_memories; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (m->kind != ADZI_C99_NUMBER || m->update != update || m->first < 0) {
            continue;
        }
        const char *type = adzi_c99_type(m->dtype);
        adzi_text_format(to, "    const %s %s[1] = { (%s)", type, m->name, type);
        if (computed) {
            adzi_text_format(to, "numbers[%d] };\n", m->which);
        } else {
            adzi_text_format(to, "settings_%d[%d] };\n", update, m->which);
        }
    }
}

/* Whether a memory is a state that begins with the rate, of one of the parameters of an update. */
static bool is_rate_state(const adzi_c99 *c, const adzi_c99_update *u, const adzi_c99_memory *m)
{
    const adzi_c99_stepped *s = &c->stepped[u->stepped];
    const adz_optimizer *o = s->position.optimizer;
    bool found = false;
    if (m->optimizer != o || !m->changes || o->type->states[m->which].initial != ADZ_INITIAL_LR) {
        return false;
    }
    for (size_t i = 0; i < c->n_stepped && !found; ++i) {
        const adzi_parameter_position *at = &c->stepped[i].position;
        found = c->stepped[i].count == s->count && at->optimizer == o &&
                at->group == s->position.group &&
                o->groups[at->group]->parameters[at->i] == m->leaf;
    }
    return found;
}

/* "if (steps_0 == 0) { for (...) { s_eta[i] = NAME_learning_rate[0]; } }". Without steps such a
 * state is new, too, in a file that was written after steps: a file of weights has replaced it. */
static void print_rate_states(const adzi_c99 *c, adzi_text *to, int update)
{
    const adzi_c99_update *u = &c->updates[update];
    const adzi_c99_stepped *s = &c->stepped[u->stepped];
    char rates[ADZI_C99_LABEL];
    for (size_t i = 0; i < c->n_memories && u->ahead == 0; ++i) {
        const adzi_c99_memory *m = &c->memories[i];
        if (!m->array || !is_rate_state(c, u, m)) {
            continue;
        }
        const bool fresh = (s->fresh >> m->which & 1u) != 0;
        if (!fresh && s->steps == 0) {
            continue;
        }
        adzi_text_format(to, "    if (%ssteps_%d == %lld) {\n", adzi_c99_of_state(c), (int)s->count,
            fresh ? (long long)s->steps : 0LL);
        adzi_text_format(to,
            "        for (int i = 0; i < %lld; ++i) {\n            %s%s[i] = %s[%d];\n        }\n"
            "    }\n",
            (long long)m->count, adzi_c99_of_state(c), m->name, adzi_c99_rates(c, rates),
            (int)groups_before(c, u->stepped));
    }
}

void adzi_c99_print_numbers(adzi_c99 *c, adzi_text *to)
{
    bool computed = false;
    for (int i = 0; i < (int)c->n_updates; ++i) {
        if (c->updates[i].function != c->function || !uses(c, i)) {
            continue;
        }
        if (!computed && type_of(c, i)->numbers != NULL) {
            adzi_text_format(to, "    double numbers[%d];\n    adz_step_context moment;\n",
                (int)ADZ_OPTIMIZER_NUMBERS);
            computed = true;
        }
        print_rate_states(c, to, i);
        print_update(c, to, i);
        print_elements(c, to, i);
    }
}

void adzi_c99_print_counts(const adzi_c99 *c, adzi_text *to)
{
    for (size_t i = 0; i < c->n_stepped; ++i) {
        const int64_t steps = c->steps[i * c->n_functions + (size_t)c->function];
        if (c->stepped[i].count == i && steps > 0 && adzi_c99_has_count(c, i)) {
            adzi_text_format(
                to, "    %ssteps_%d += %lld;\n", adzi_c99_of_state(c), (int)i, (long long)steps);
        }
    }
}

/* ---- the file -------------------------------------------------------------------------------- */

/* The rates of the groups of all optimizers. Returns their bytes. */
static int64_t print_rates(const adzi_c99 *c, adzi_text *file)
{
    const size_t groups = adzi_c99_groups(c);
    adzi_text_format(file, "%s%s %s_learning_rate[%d] = {", c->caller ? "static const " : "",
        adzi_c99_real_type(c), c->caller ? "initial" : c->name, (int)groups);
    for (size_t i = 0, g = 0; i < c->n_stepped; ++i) {
        const adz_optimizer *o = c->stepped[i].position.optimizer;
        const bool written = groups_before(c, i) - c->stepped[i].position.group < g;
        for (size_t k = 0; k < o->n_groups && !written; ++k, ++g) {
            adzi_text_format(
                file, "%s %s", g > 0 ? "," : "", adzi_c99_real(c, o->groups[k]->settings[0]));
        }
    }
    adzi_text_add(file, " };\n");
    return (int64_t)groups * adzi_c99_bytes(adzi_c99_dtype(c, ADZ_F32));
}

int64_t adzi_c99_print_updates(adzi_c99 *c, adzi_text *file)
{
    if (c->n_updates == 0) {
        return 0;
    }
    int64_t bytes = print_rates(c, file);
    for (size_t i = 0; i < c->n_stepped; ++i) {
        if (c->stepped[i].count == i && !c->caller && adzi_c99_has_count(c, i)) {
            adzi_text_format(
                file, "static int64_t steps_%d = %lld;\n", (int)i, (long long)c->stepped[i].steps);
            bytes += (int64_t)sizeof(int64_t);
        }
    }
    adzi_text_add(file, "\n");
    char name[ADZI_C99_NAME];
    for (int i = 0; i < (int)c->n_updates; ++i) {
        const adz_optimizer_type *type = type_of(c, i);
        bool first = type->numbers != NULL;
        for (int k = 0; k < i && first; ++k) {
            first = type_of(c, k)->numbers != type->numbers;
        }
        if (first) {
            adzi_c99_type_text(c, file, type, name);
        }
    }
    return bytes;
}
