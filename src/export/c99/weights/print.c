/* The constants and the two functions of a file of weights. */
#include <stdio.h>
#include <string.h>

#include "export/c99/program.h"
#include "export/c99/state.h"
#include "export/c99/weights/weights.h"

#define REFUSE(code) " {\n        return " #code ";\n    }\n"

static const adzi_c99_memory *array_of(const adzi_weights *f, const adzi_weights_source *s)
{
    return &f->w->c.memories[s->memory];
}

static const char *prefix(const adzi_weights *f)
{
    return f->w->c.name;
}

/* The array of a tensor in C: its name, or the field of the caller's state. */
static const char *home_of_array(
    const adzi_weights *f, const adzi_c99_memory *m, char text[ADZI_C99_LABEL])
{
    snprintf(text, ADZI_C99_LABEL, "%s%s",
        adzi_c99_in_state(&f->w->c, m) ? adzi_c99_of_state(&f->w->c) : "", m->name);
    return text;
}

/* ---- constants ------------------------------------------------------------------------------- */

static void add_bytes(adzi_weights *f, const unsigned char *bytes, size_t n, size_t at)
{
    for (size_t i = 0; i < n; ++i) {
        adzi_text_format(f->to, "%s%d,", (at + i) % 16 == 0 ? "\n    " : " ", bytes[i]);
    }
}

/* The elements that have no array. Returns their bytes. */
static size_t print_home(adzi_weights *f, adzi_weights_home home, const char *begin)
{
    size_t bytes = 0;
    for (size_t i = 0; i < f->file->n_tensors; ++i) {
        const adzi_weights_source *s = &f->sources[i];
        if (s->home != home || s->bytes == 0) {
            continue;
        }
        if (bytes == 0) {
            adzi_text_format(f->to, begin, prefix(f), f->ending);
        }
        add_bytes(f, f->image + s->at, s->bytes, bytes);
        bytes += s->bytes;
    }
    adzi_text_add(f->to, bytes > 0 ? "\n};\n\n" : "");
    return bytes;
}

static bool may_be_missing(const adzi_weights_source *s)
{
    return s->absence != ADZI_WEIGHTS_REQUIRED;
}

static size_t groups_of(const adzi_weights *f)
{
    return f->optimizer != NULL ? f->optimizer->n_groups : 0;
}

static void print_tables(adzi_weights *f)
{
    const size_t n = f->file->n_tensors, pieces = 2 * groups_of(f) + 1;
    adzi_text_format(f->to,
        "/* For each tensor: its part of the header, as offset and length; its bytes; 1 if it may "
        "be "
        "missing. */\nstatic const uint32_t %s_weights_tensors%s[%zu][4] = {\n",
        prefix(f), f->ending, n);
    for (size_t i = 0; i < n; ++i) {
        const adzi_weights_source *s = &f->sources[i];
        adzi_text_format(f->to, "    { %zu, %zu, %zu, %d },\n", s->entry, s->length, s->bytes,
            may_be_missing(s) ? 1 : 0);
    }
    adzi_text_add(f->to, "};\n\n");
    f->w->weights += (int64_t)(n * 4 * sizeof(uint32_t));
    if (groups_of(f) == 0) {
        return;
    }
    adzi_text_format(f->to,
        "/* The parts of the header around the learning rates: begins and ends. */\n"
        "static const uint32_t %s_weights_pieces%s[%zu][2] = {\n",
        prefix(f), f->ending, pieces);
    for (size_t i = 0; i < pieces; ++i) {
        adzi_text_format(f->to, "    { %zu, %zu },\n", f->pieces[2 * i], f->pieces[2 * i + 1]);
    }
    adzi_text_add(f->to, "};\n\n");
    f->w->weights += (int64_t)(pieces * 2 * sizeof(uint32_t));
}

/* The field of the caller's state for integers that no function changes. */
static void add_kept_field(adzi_weights *f, size_t bytes)
{
    char field[40], from[ADZI_C99_NAME + 40];
    snprintf(field, sizeof field, "weights_kept%s", f->ending);
    snprintf(from, sizeof from, "%s_weights_kept%s", prefix(f), f->ending);
    adzi_c99_add_field(f->w, "unsigned char", field, (int64_t)bytes, "integers of files");
    adzi_c99_add_start(f->w, field, from, (int64_t)bytes);
}

static void print_constants(adzi_weights *f)
{
    adzi_text_format(f->to,
        "/* The header of the file. */\nstatic const unsigned char "
        "%s_weights_header%s[%zu] = {",
        prefix(f), f->ending, f->header);
    add_bytes(f, f->image, f->header, 0);
    adzi_text_add(f->to, "\n};\n\n");
    print_tables(f);
    const size_t constant = print_home(f, ADZI_WEIGHTS_CONSTANT,
        "/* What is in the file and no function uses. */\n"
        "static const unsigned char %s_weights_constants%s[] = {");
    const size_t kept = print_home(f, ADZI_WEIGHTS_KEPT,
        f->w->c.caller ? "/* Integers that no function changes, but a file may, at the start. */\n"
                         "static const unsigned char %s_weights_kept%s[] = {"
                       : "/* Integers that no function changes, but a file may. */\n"
                         "static unsigned char %s_weights_kept%s[] = {");
    if (kept > 0 && f->w->c.caller) {
        add_kept_field(f, kept);
    }
    f->w->weights += (int64_t)(f->header + constant);
    f->w->state += (int64_t)kept;
}

/* ---- the elements of a tensor ---------------------------------------------------------------- */

/* What is printed for a tensor: its elements go into the file, or come from it, or are compared
 * before anything changes. */
typedef enum { PUT, TAKE, CHECK } verb;

/* Prints what a verb does with the elements of an array. Those of the library's parameters, buffers
 * and states are contiguous. */
static void print_array(adzi_weights *f, verb v, const adzi_weights_source *s, const char *from)
{
    const adzi_c99_memory *m = array_of(f, s);
    const bool whole = m->dtype == ADZ_I64;
    const int size = (int)adzi_c99_bytes(m->dtype);
    const long long n = (long long)m->count;
    char text[ADZI_C99_LABEL];
    const char *name = prefix(f), *array = home_of_array(f, m, text);
    adzi_text *to = f->to;
    if (v == PUT && whole) {
        adzi_text_format(to, "    %s_weights_put_whole(%s, %s, %lld);\n", name, from, array, n);
    } else if (v == PUT) {
        adzi_text_format(to, "    %s_weights_move(%s, (const unsigned char *)%s, %lld, %d);\n",
            name, from, array, n, size);
    } else if (v == CHECK && whole) {
        adzi_text_format(
            to, "    if (!%s_weights_take_whole(0, %s, %lld))" REFUSE(2), name, from, n);
    } else if (v == TAKE && whole) {
        adzi_text_format(
            to, "    (void)%s_weights_take_whole(%s, %s, %lld);\n", name, array, from, n);
    } else if (v == TAKE && m->changes) {
        adzi_text_format(to, "    %s_weights_move((unsigned char *)%s, %s, %lld, %d);\n", name,
            array, from, n, size);
    } else if (v == CHECK && !m->changes) {
        adzi_text_format(to,
            "    if (!%s_weights_equal(%s, (const unsigned char *)%s, %lld, %d))" REFUSE(2), name,
            from, array, n, size);
    }
}

/* Prints bytes of `constants` or `kept`. */
static void print_bytes(adzi_weights *f, verb v, const adzi_weights_source *s, const char *from)
{
    const bool kept = s->home == ADZI_WEIGHTS_KEPT;
    const bool field = kept && f->w->c.caller;
    char bytes[ADZI_C99_NAME + 80];
    snprintf(bytes, sizeof bytes, "%s%sweights_%s%s + %zu", field ? "state->" : prefix(f),
        field ? "" : "_", kept ? "kept" : "constants", f->ending, s->offset);
    if (v == PUT) {
        adzi_text_format(
            f->to, "    %s_weights_move(%s, %s, %zu, 1);\n", prefix(f), from, bytes, s->bytes);
    } else if (v == TAKE && kept) {
        adzi_text_format(
            f->to, "    %s_weights_move(%s, %s, %zu, 1);\n", prefix(f), bytes, from, s->bytes);
    } else if (v == CHECK && !kept) {
        adzi_text_format(f->to, "    if (!%s_weights_same(%s, %s, %zu))" REFUSE(2), prefix(f), from,
            bytes, s->bytes);
    }
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* The condition in C by which a tensor is absent, of the count `steps`. */
static void absence(
    const adzi_weights *f, const adzi_weights_source *s, const char *steps, char *text, size_t size)
{
    const int64_t none = s->absence == ADZI_WEIGHTS_COUNTED ? 0 : f->w->c.stepped[s->count].steps;
    snprintf(text, size, "%s_%zu == %lld", steps, s->count, (long long)none);
}

/* Prints the checks of a tensor that may be absent: all parameters of a count have made as many
 * steps. */
static void print_agreement(adzi_weights *f, const adzi_weights_source *s, size_t i)
{
    const char *name = prefix(f);
    char absent[120];
    absence(f, s, "new_steps", absent, sizeof absent);
    if (s->home == ADZI_WEIGHTS_STEPS) {
        adzi_text_format(f->to,
            "    if (!%s_weights_agree(%s_weights_steps(at[%zu]), &new_steps_%zu))" REFUSE(2), name,
            name, i, s->count);
    } else if (s->absence == ADZI_WEIGHTS_FRESH) {
        const long long none = f->w->c.stepped[s->count].steps;
        adzi_text_format(f->to,
            "    if (!%s_weights_agree(at[%zu] != 0 ? %lld : %lld, &new_steps_%zu))" REFUSE(2),
            name, i, none + 1, none, s->count);
    } else {
        adzi_text_format(f->to, "    if ((at[%zu] == 0) != (%s))" REFUSE(2), i, absent);
    }
}

/* Prints a state that may be absent: it begins as the first step would make it. */
static void print_state(adzi_weights *f, const adzi_weights_source *s, size_t i, const char *from)
{
    const adzi_c99_memory *m = array_of(f, s);
    char initial[80], array[ADZI_C99_LABEL];
    snprintf(initial, sizeof initial, "%s", adzi_c99_number(&f->w->c, m->dtype, s->initial));
    adzi_text_format(
        f->to, "    for (long i = 0; i < %lld && at[%zu] == 0; ++i) {\n", (long long)m->count, i);
    adzi_text_format(f->to, "        %s[i] = %s;\n    }\n    if (at[%zu] != 0) {\n    ",
        home_of_array(f, m, array), initial, i);
    print_array(f, TAKE, s, from);
    adzi_text_add(f->to, "    }\n");
}

/* Whether tensor i is the first of its count of steps among the tensors that may be absent. */
static bool begins_count(const adzi_weights *f, size_t i)
{
    bool first = may_be_missing(&f->sources[i]);
    for (size_t k = 0; k < i && first; ++k) {
        first = !may_be_missing(&f->sources[k]) || f->sources[k].count != f->sources[i].count;
    }
    return first;
}

/* ---- the functions --------------------------------------------------------------------------- */

/* "int NAME_weights_set(const unsigned char *file, unsigned long bytes)" */
static void print_signature(
    const adzi_weights *f, const char *function, const char *parameters, char *text, size_t size)
{
    const bool caller = f->w->c.caller, status = caller || strcmp(function, "set") == 0;
    snprintf(text, size, "%s %s_weights_%s%s(%s%s%s)", status ? "int" : "void", prefix(f), function,
        f->ending, caller ? prefix(f) : "", caller ? "_state *state, " : "", parameters);
}

static void print_tensor(adzi_weights *f, verb v, size_t i)
{
    const adzi_weights_source *s = &f->sources[i];
    char from[80], absent[120], steps[20];
    const char *state = adzi_c99_of_state(&f->w->c);
    snprintf(steps, sizeof steps, "%ssteps", state);
    snprintf(from, sizeof from, v == PUT ? "file + %zu" : "at[%zu]", v == PUT ? s->at : i);
    if (v == CHECK && may_be_missing(s)) {
        print_agreement(f, s, i);
    }
    if (s->home == ADZI_WEIGHTS_STEPS && v == PUT) {
        adzi_text_format(f->to,
            "    %s_weights_move(%s, (const unsigned char *)&%ssteps_%zu, 1, 8);\n", prefix(f),
            from, state, s->count);
    } else if (s->home == ADZI_WEIGHTS_ARRAY && v == TAKE && may_be_missing(s) &&
               array_of(f, s)->changes) {
        print_state(f, s, i, from);
    } else if (s->bytes > 0 && s->home == ADZI_WEIGHTS_ARRAY) {
        print_array(f, v, s, from);
    } else if (s->bytes > 0 && s->home != ADZI_WEIGHTS_STEPS) {
        print_bytes(f, v, s, from);
    }
    if (v == PUT && may_be_missing(s)) {
        absence(f, s, steps, absent, sizeof absent);
        adzi_text_format(
            f->to, "    %s_weights_absent(file + %zu, %s);\n", prefix(f), s->entry + 1, absent);
    }
    if (v == TAKE && begins_count(f, i)) {
        adzi_text_format(f->to, "    %ssteps_%zu = new_steps_%zu;\n", state, s->count, s->count);
    }
}

/* Prints what a function does for every tensor. */
static void print_tensors(adzi_weights *f, verb v)
{
    for (size_t i = 0; i < f->file->n_tensors; ++i) {
        char label[ADZI_C99_LABEL];
        adzi_c99_comment(label, sizeof label, f->file->tensors[i].name);
        if (v == PUT) {
            adzi_text_format(f->to, "    /* %s */\n", label);
        }
        print_tensor(f, v, i);
    }
}

/* The public function of a file whose caller holds the state, around the one that does the work. */
static void print_wrapper(adzi_weights *f, const char *name, const char *inner,
    const char *parameters, const char *arguments)
{
    char signature[3 * ADZI_C99_NAME], call[2 * ADZI_C99_NAME];
    if (f->w->c.caller) {
        print_signature(f, name, parameters, signature, sizeof signature);
        snprintf(call, sizeof call, "%s_weights_%s%s(state, %s)", prefix(f), inner, f->ending,
            arguments);
        adzi_c99_define_call(&f->w->c, f->to, signature, call);
    }
}

static void print_get(adzi_weights *f)
{
    const char *name = prefix(f);
    char rates[ADZI_C99_LABEL];
    adzi_text_format(f->to,
        f->w->c.caller ? "static int %s_weights_fill%s(%s_state *state, "
                       : "void %s_weights_get%s(",
        name, f->ending, name);
    adzi_text_format(f->to,
        "unsigned char *file)\n{\n"
        "    %s_weights_move(file, %s_weights_header%s, %zu, 1);\n",
        name, name, f->ending, f->header);
    const size_t first = f->optimizer != NULL ? adzi_c99_first_group(&f->w->c, f->optimizer) : 0;
    for (size_t g = 0; g < groups_of(f); ++g) {
        adzi_text_format(f->to, "    %s_weights_put_rate(file + %zu, %s[%zu], %zu);\n", name,
            f->pieces[4 * g + 1], adzi_c99_rates(&f->w->c, rates), first + g,
            strlen(adzi_weights_rate(&f->w->c)));
    }
    print_tensors(f, PUT);
    adzi_text_add(f->to, f->w->c.caller ? "    return 0;\n}\n\n" : "}\n\n");
    print_wrapper(f, "get", "fill", "unsigned char *file", "file");
}

/* Prints what finds the tensors of the file and reads its learning rates. */
static void print_search(adzi_weights *f)
{
    const char *name = prefix(f), *end = f->ending;
    const size_t groups = groups_of(f), n = f->file->n_tensors;
    adzi_text_format(f->to,
        "    const unsigned char *at[%zu];\n"
        "    const long n = %s_weights_data(file, bytes);\n"
        "    const long metadata = n > 0 ? %s_weights_member(file, 9, n, %s_weights_header%s + 9, 16) : -1;\n"
        "    if (%s_weights_member(file, metadata, n, %s_weights_header%s + %zu, %zu) < 0 ||\n"
        "        !%s_weights_find(file, bytes, n, %s_weights_header%s, %s_weights_tensors%s, %zu, at))" REFUSE(
            1),
        n, name, name, name, end, name, name, end, f->mark, f->mark_length, name, name, end, name,
        end, n);
    if (groups > 0) {
        adzi_text_format(f->to,
            "    %s rates[%zu];\n"
            "    const int other = %s_weights_read_rates(file, metadata, n, %s_weights_header%s,\n"
            "        %s_weights_pieces%s, %zu, rates);\n"
            "    if (other != 0) {\n        return other;\n    }\n",
            adzi_c99_real_type(&f->w->c), groups, name, name, end, name, end, groups);
    }
}

static void print_set(adzi_weights *f)
{
    const char *name = prefix(f);
    char rates[ADZI_C99_LABEL];
    adzi_text_format(f->to,
        f->w->c.caller ? "static int %s_weights_read%s(%s_state *state, " : "int %s_weights_set%s(",
        name, f->ending, name);
    adzi_text_add(f->to, "const unsigned char *file, unsigned long bytes)\n{\n");
    print_search(f);
    for (size_t i = 0; i < f->file->n_tensors; ++i) {
        if (begins_count(f, i)) {
            adzi_text_format(f->to, "    int64_t new_steps_%zu = -1;\n", f->sources[i].count);
        }
    }
    print_tensors(f, CHECK);
    print_tensors(f, TAKE);
    const size_t first = f->optimizer != NULL ? adzi_c99_first_group(&f->w->c, f->optimizer) : 0;
    for (size_t g = 0; g < groups_of(f); ++g) {
        adzi_text_format(
            f->to, "    %s[%zu] = rates[%zu];\n", adzi_c99_rates(&f->w->c, rates), first + g, g);
    }
    adzi_text_add(f->to, "    return 0;\n}\n\n");
    print_wrapper(
        f, "set", "read", "const unsigned char *file, unsigned long bytes", "file, bytes");
}

/* ---- the header of C ------------------------------------------------------------------------- */

static void print_declarations(adzi_weights *f)
{
    const char *end = f->ending;
    char get[3 * ADZI_C99_NAME], set[3 * ADZI_C99_NAME];
    adzi_text *to = &f->w->learnt_header;
    print_signature(f, "get", "unsigned char *file", get, sizeof get);
    print_signature(f, "set", "const unsigned char *file, unsigned long bytes", set, sizeof set);
    adzi_text_format(to,
        "\n/* %s,\n * as a file in safetensors form. adze reads it by adz_checkpoint_load. */\n"
        "#define %s_WEIGHTS_FILE%s_BYTES %zu\n\n"
        "/* Fills %s_WEIGHTS_FILE%s_BYTES bytes with the file. */\n"
        "%s;\n\n",
        f->module == NULL      ? "What another optimizer keeps"
        : f->optimizer != NULL ? "What the functions have learnt, with the state of the optimizer"
                               : "What the functions have learnt",
        f->w->upper, end, f->size, f->w->upper, end, get);
    adzi_text_format(to,
        "/* Goes on from such a file, or from one that adz_checkpoint_save has written. 0; 1: it "
        "is "
        "cut off, or of\n * another network or optimizer; 2: it changes what no function changes. "
        "After 1 and 2 all is as it was. */\n"
        "%s;\n",
        set);
}

void adzi_weights_print(adzi_weights *f)
{
    print_constants(f);
    print_get(f);
    print_set(f);
    print_declarations(f);
}
