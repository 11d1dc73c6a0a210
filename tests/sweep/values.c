/* Arguments of the sweep: numbers, structs, and the choice among all kinds. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

size_t loop_inputs, loop_results;
bool loop_goes_on;

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

uint64_t random_from(uint64_t *seed)
{
    uint64_t z = *seed += 0x9e3779b97f4a7c15u; /* splitmix64 */
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/* ---- memory for one call --------------------------------------------------------------------- */

static void **blocks;
static size_t n_blocks, blocks_room;

void *call_memory(size_t bytes)
{
    if (n_blocks == blocks_room) {
        blocks_room = 2 * blocks_room + 16;
        blocks = realloc(blocks, blocks_room * sizeof *blocks);
    }
    void *block = calloc(1, bytes > 0 ? bytes : 1);
    if (blocks == NULL || block == NULL) {
        abort();
    }
    return blocks[n_blocks++] = block;
}

void call_memory_end(void)
{
    while (n_blocks > 0) {
        free(blocks[--n_blocks]);
    }
    free(blocks);
    blocks = NULL;
    blocks_room = 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

/* Each list begins with ordinary numbers. The last number stands for one that is drawn. */
static const int ints[] = { 0, 1, -1, 2, 3, -2, 8, 9, 64, INT_MAX, INT_MAX - 1, INT_MIN, 0 };
static const int64_t int64s[] = { 3, 1, 2, 0, 4, 6, 12, -1, -2, -4, 65536, INT_MAX,
    (int64_t)INT_MAX + 1, INT_MIN, (int64_t)1 << 40, (int64_t)1 << 62, ((int64_t)1 << 62) + 1,
    INT64_MAX - 1, INT64_MAX, INT64_MIN, 0 };
static const size_t sizes[] = { 0, 1, 2, 3, 36, 64, INT_MAX, (size_t)1 << 40, SIZE_MAX / 8 + 1,
    SIZE_MAX - 1, SIZE_MAX, 0 };
static const size_t counts[] = { SIZE_MAX, 0, 1, 2, 3, 5, 64, INT_MAX, (size_t)1 << 40,
    SIZE_MAX / 8 + 1, SIZE_MAX, 0 };
static const uint64_t u64s[] = { 0, 1, UINT64_MAX, (uint64_t)1 << 63, 0 };
static const double doubles[] = { 0.5, 1, 0, 2, 0.1, 3, -1, NAN, INFINITY, -INFINITY, 1e308, -1e308,
    DBL_MIN, 5e-324, -5e-324, 1e-300, 9007199254740993.0, 9.3e18, 1e40, 2.5, 0 };

static const struct {
    size_t n, valid;
} numbers[] = {
    [KIND_BOOL] = { 2, 2 },
    [KIND_INT] = { COUNT_OF(ints), 5 },
    [KIND_INT64] = { COUNT_OF(int64s), 7 },
    [KIND_SIZE] = { COUNT_OF(sizes), 5 },
    [KIND_COUNT] = { COUNT_OF(counts), 5 },
    [KIND_U64] = { COUNT_OF(u64s), 2 },
    [KIND_DOUBLE] = { COUNT_OF(doubles), 6 },
    [KIND_CHAR] = { 6, 2 },
};

double drawn_double(uint64_t random)
{
    double x;
    if (random % 2 != 0) {
        return (double)(int64_t)random / 9.3e18 * 4;
    }
    memcpy(&x, &random, sizeof x); /* a double of any magnitude, sometimes NaN */
    return x;
}

int64_t drawn_int64(uint64_t random)
{
    return random % 2 != 0 ? (int64_t)(random / 2 % 41) - 20 : (int64_t)random;
}

static void make_number(const param *p, size_t choice, uint64_t random, arg *a)
{
    bool drawn = p->kind != KIND_BOOL && p->kind != KIND_CHAR && choice == numbers[p->kind].n - 1;
    switch (p->kind) {
    case KIND_BOOL:
        a->v.b = choice != 0;
        break;
    case KIND_INT:
        a->v.n = drawn ? (int)drawn_int64(random) : ints[choice];
        break;
    case KIND_INT64:
        a->v.i = drawn ? drawn_int64(random) : int64s[choice];
        break;
    case KIND_SIZE:
        a->v.z = drawn ? (size_t)drawn_int64(random) : sizes[choice];
        break;
    case KIND_COUNT:
        a->v.z = drawn ? (size_t)drawn_int64(random) : counts[choice];
        break;
    case KIND_U64:
        a->v.u = drawn ? random : u64s[choice];
        break;
    case KIND_CHAR:
        a->v.c = ",;\0\"\n\xff"[choice];
        break;
    default:
        a->v.d = drawn ? drawn_double(random) : doubles[choice];
        break;
    }
}

/* ---- structs --------------------------------------------------------------------------------- */

enum { FILLED, NULL_STRUCT, NEWER, OLDEST, UNSIZED, CUT, WAYS };
static const char *const struct_names[] = { "filled", "NULL", "of a newer caller", "size 8",
    "size 0", "size 7" };

static const structure *structure_of(const param *p)
{
    return &structures[p->extra];
}

/* The field that a choice makes wrong, and how. False for the last choice: several wrong fields. */
static bool field_of(const structure *s, size_t choice, size_t *field, size_t *how)
{
    for (*field = 0; *field < s->n_fields; ++*field) {
        size_t valid, n = choices_of(&s->fields[*field], &valid);
        if (choice < n) {
            *how = choice;
            return true;
        }
        choice -= n;
    }
    return false;
}

static void put_fields(const structure *s, char *object, const arg *inner)
{
    for (size_t i = 0; i < s->n_fields; ++i) {
        if (inner[i].room != SIZE_MAX) {
            memcpy(object + s->fields[i].offset, &inner[i].v, s->fields[i].size);
        }
    }
}

static void make_fields(const structure *s, size_t choice, uint64_t random, char *object, arg *a)
{
    arg *inner = call_memory((s->n_fields + 1) * sizeof *inner);
    size_t field, how, valid;
    for (size_t i = 0; i < s->n_fields; ++i) {
        inner[i].room = SIZE_MAX; /* keeps the value that the init function gave it */
    }
    a->held = inner;
    if (field_of(s, choice, &field, &how)) {
        make(&s->fields[field], how, random, &inner[field]);
    } else {
        for (size_t n = 0; n < 4 && s->n_fields > 0; ++n) {
            field = random_from(&random) % s->n_fields;
            how = random_from(&random) % choices_of(&s->fields[field], &valid);
            if (inner[field].room == SIZE_MAX) {
                make(&s->fields[field], how, random_from(&random), &inner[field]);
            }
        }
    }
    bound_counts(s->fields, s->n_fields, inner);
    put_fields(s, object, inner);
}

static void make_struct(const param *p, size_t choice, uint64_t random, arg *a)
{
    const structure *s = structure_of(p);
    size_t size = choice == OLDEST ? sizeof(size_t) : choice == CUT ? 7 : 0;
    if (choice == NULL_STRUCT) {
        return;
    }
    char *object = call_memory(s->size + ROOM);
    a->v.p = object;
    s->fill(object);
    if (!s->sized && choice > NULL_STRUCT) {
        make_fields(s, choice - NEWER, random, object, a);
    } else if (choice >= WAYS) {
        make_fields(s, choice - WAYS, random, object, a);
    } else if (choice == NEWER) {
        *(size_t *)(void *)object = s->size + ROOM;
    } else if (choice > NEWER) {
        *(size_t *)(void *)object = size;
    }
}

static size_t struct_choices(const param *p)
{
    const structure *s = structure_of(p);
    size_t n = s->sized ? WAYS : NEWER, valid;
    for (size_t i = 0; i < s->n_fields; ++i) {
        n += choices_of(&s->fields[i], &valid);
    }
    return n + (s->n_fields > 1);
}

static const char *struct_choice_name(const param *p, size_t choice)
{
    static char text[200];
    const structure *s = structure_of(p);
    size_t ways = s->sized ? WAYS : NEWER, field, how;
    if (choice < ways) {
        return struct_names[choice];
    }
    if (!field_of(s, choice - ways, &field, &how)) {
        return "several fields";
    }
    const char *name = choice_name(&s->fields[field], how);
    snprintf(
        text, sizeof text, ".%s = %.100s", s->fields[field].name, name != NULL ? name : "NULL");
    return text;
}

/* ---- memory to write to ---------------------------------------------------------------------- */

static void make_room(const param *p, size_t choice, arg *a)
{
    if (choice == 0) {
        size_t bytes = p->extra > 0 ? p->extra : ROOM * sizeof(double);
        /* The results of a scan lie behind its carries, and each count may be as large as ROOM. */
        const bool of_loop = p->gives == KIND_TENSOR && strcmp(p->name, "results") == 0;
        a->v.p = call_memory(of_loop ? 2 * bytes : bytes);
        a->length = a->room = p->extra > 0 ? bytes : ROOM;
    }
}

static void end_room(const param *p, arg *a)
{
    void **given = a->v.p;
    for (size_t i = 0; given != NULL && p->gives != KIND_NONE && i < ROOM; ++i) {
        if (given[i] != NULL) {
            object_end(p->gives, given[i]);
        }
    }
}

/* ---- all kinds ------------------------------------------------------------------------------- */

size_t choices_of(const param *p, size_t *valid)
{
    size_t n;
    if (list_choices(p, &n, valid)) {
        return n;
    }
    if (p->kind <= KIND_CHAR && p->kind != KIND_ENUM) {
        *valid = numbers[p->kind].valid;
        return numbers[p->kind].n;
    }
    switch (p->kind) {
    case KIND_ENUM:
        *valid = p->extra;
        return p->extra + 4;
    case KIND_GENERATOR_STATE:
        *valid = 1;
        return 3;
    case KIND_ROOM:
    case KIND_FUNCTION:
        *valid = 2;
        return 2;
    case KIND_STRUCT:
        *valid = 2;
        return struct_choices(p);
    default:
        n = object_choices(p->kind, valid);
        return n + 1 + p->address;
    }
}

const char *choice_name(const param *p, size_t choice)
{
    static char text[32];
    arg a = { 0 };
    size_t n, valid;
    if (list_choices(p, &n, &valid)) {
        return list_name(p, choice);
    }
    if (p->kind == KIND_COUNT && choice == 0) {
        return "length";
    }
    if (p->kind == KIND_DOUBLE) {
        snprintf(text, sizeof text, "%g", doubles[choice]);
        return choice < COUNT_OF(doubles) - 1 ? text : "drawn";
    }
    if (p->kind <= KIND_CHAR && p->kind != KIND_ENUM) {
        make_number(p, choice, 0, &a);
        snprintf(
            text, sizeof text, "%lld", p->kind == KIND_INT ? (long long)a.v.n : (long long)a.v.i);
        return choice < numbers[p->kind].n - 1 || p->kind == KIND_BOOL ? text : "drawn";
    }
    switch (p->kind) {
    case KIND_STRUCT:
        return struct_choice_name(p, choice);
    case KIND_ENUM:
    case KIND_GENERATOR_STATE:
        snprintf(text, sizeof text, "choice %zu", choice);
        return text;
    case KIND_ROOM:
    case KIND_FUNCTION:
        return choice == 0 ? "valid" : "NULL";
    default:
        return choice < object_choices(p->kind, &valid) ? object_name(p->kind, choice) : "NULL";
    }
}

static void make_object(const param *p, size_t choice, arg *a)
{
    size_t valid, n = object_choices(p->kind, &valid);
    a->held = choice < n ? object_make(p->kind, choice) : NULL;
    if (p->address && p->kind == KIND_TENSOR && a->held != NULL) {
        adz_keep(a->held);
    }
    a->v.p = !p->address ? a->held : choice <= n ? (void *)&a->held : NULL;
}

void make(const param *p, size_t choice, uint64_t random, arg *a)
{
    size_t n, valid;
    memset(a, 0, sizeof *a);
    a->choice = choice;
    a->random = random;
    if (list_choices(p, &n, &valid)) {
        make_list(p, choice, random, a);
        return;
    }
    const int beyond[] = { -1, (int)p->extra, INT_MAX, INT_MIN };
    switch (p->kind) {
    case KIND_ENUM:
        a->v.n = choice < p->extra ? (int)choice : beyond[choice - p->extra];
        break;
    case KIND_GENERATOR_STATE:
        a->v.state = (adz_generator_state){ choice, choice < 2 ? 0 : UINT64_MAX };
        break;
    case KIND_ROOM:
        make_room(p, choice, a);
        break;
    case KIND_STRUCT:
        make_struct(p, choice, random, a);
        break;
    case KIND_FUNCTION:
        a->v.f = choice == 0 ? functions_of_ours[p->extra] : NULL;
        break;
    default:
        if (p->kind <= KIND_CHAR) {
            make_number(p, choice, random, a);
        } else {
            make_object(p, choice, a);
        }
    }
}

static bool is_array(const param *p)
{
    return p->kind >= KIND_ENCODED && p->kind <= KIND_ROOM;
}

/* Looks at the arrays among params[begin .. end-1] that are not NULL. *least becomes the memory of
 * the smallest one in elements, *length the length of the first one. */
static void look_at_arrays(
    const param *params, const arg *args, size_t begin, size_t end, size_t *least, size_t *length)
{
    bool first = true;
    for (size_t j = begin; j < end; ++j) {
        if (is_array(&params[j]) && args[j].v.p != NULL && args[j].room != SIZE_MAX) {
            *least = args[j].room < *least ? args[j].room : *least;
            *length = first ? args[j].length : *length;
            first = false;
        }
    }
}

/* What callbacks of loops must know about the present call. */
static void look_at_loop(const param *params, size_t n, const arg *args)
{
    loop_inputs = loop_results = 0;
    for (size_t i = 0; i < n; ++i) {
        const char *name = params[i].name;
        const bool carries = strcmp(name, "n_carries") == 0;
        loop_inputs += carries || strcmp(name, "n_inputs") == 0 ? args[i].v.z : 0;
        loop_results += carries || strcmp(name, "n_results") == 0 ? args[i].v.z : 0;
        if (strcmp(name, "max_iterations") == 0) {
            loop_goes_on = args[i].v.i <= 100;
        }
    }
}

void bound_counts(const param *params, size_t n, arg *args)
{
    for (size_t i = 0; i < n; ++i) {
        if (params[i].kind != KIND_COUNT || args[i].room == SIZE_MAX) {
            continue;
        }
        size_t begin = i, end = i, least = SIZE_MAX, length = 3;
        while (begin > 0 && params[begin - 1].kind != KIND_COUNT) {
            begin -= 1;
        }
        while (end < n && (end == i || params[end].kind != KIND_COUNT)) {
            end += 1;
        }
        look_at_arrays(params, args, i + 1, end, &least,
            &length); /* The arrays after a count are usually written to. */
        look_at_arrays(params, args, begin, i, &least, &length);
        size_t wanted = args[i].choice == 0 ? length : args[i].v.z;
        args[i].v.z = wanted > least ? wanted % (least + 1) : wanted;
    }
    look_at_loop(params, n, args);
}

/* Frees the objects of an array, except the first `count` if the function has taken them over. */
static void end_objects(const param *p, arg *a, size_t count)
{
    kind of = kind_in_array(p->kind);
    for (size_t i = 0; i < COUNT_OF(a->objects) && of != KIND_TENSOR; ++i) {
        if (a->objects[i] != NULL && !(p->taken && i < count)) {
            object_end(of, a->objects[i]);
        }
    }
}

void end(const param *p, arg *a, size_t count)
{
    if (p->kind == KIND_STRUCT && a->held != NULL) {
        arg *inner = a->held;
        for (size_t i = 0; i < structure_of(p)->n_fields; ++i) {
            if (inner[i].room != SIZE_MAX) {
                end(&structure_of(p)->fields[i], &inner[i], 0);
            }
        }
    } else if (p->kind == KIND_MODULES || p->kind == KIND_SCHEDULERS ||
               p->kind == KIND_GENERATORS || p->kind == KIND_PLANS) {
        end_objects(p, a, count);
    } else if (p->kind == KIND_ROOM) {
        end_room(p, a);
    } else if (p->kind >= KIND_FILE && a->held != NULL && !p->taken) {
        object_end(p->address && p->kind == KIND_TENSOR ? KIND_KEPT : p->kind, a->held);
    }
}
