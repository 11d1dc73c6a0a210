/* Arguments of the sweep that are texts, shapes, lists or arrays; some are valid and some wrong. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sweep.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- texts ----------------------------------------------------------------------------------- */

#define LONG_TEXT "<5000 letters>"

static const char *const strings[] = { "weight", "a", "0", "lr", "x", "0.weight", "ij,jk->ik",
    "SwiGLU", "awd_lstm_lm_config", "running_mean", NULL, "", ".", "a..b", "%s%n%s%n", "\xff\xfe",
    "new\nline", LONG_TEXT };
static const char *const paths[] = { "file.safetensors", "file.npy", "file.csv", "file.tokens",
    "module.safetensors", "file.checkpoint", "file.onnx", "file.pb", "tokenizer.json", "new",
    "new.c", "published", NULL, "", ".", "missing/x", "%s%n%s%n", "\xff\xfe", "new\nline",
    LONG_TEXT };
static const char *const encoded[] = { "file.npy", "file.safetensors", "file.csv", "file.tokens",
    "tokenizer.json", NULL, "noise" };

static const char *text_of(const char *name)
{
    if (name == NULL || strcmp(name, LONG_TEXT) != 0) {
        return name;
    }
    char *text = call_memory(5001);
    memset(text, 'x', 5000);
    return text;
}

static void make_encoded(size_t choice, uint64_t random, arg *a)
{
    const char *name = encoded[choice];
    if (name == NULL) {
        return;
    }
    size_t size = 100;
    const void *bytes = strcmp(name, "noise") != 0 ? file_bytes(name, &size) : NULL;
    unsigned char *copy = call_memory(size);
    for (size_t i = 0; i < size; ++i) {
        copy[i] =
            bytes != NULL ? ((const unsigned char *)bytes)[i] : (unsigned char)random_from(&random);
    }
    a->v.p = copy;
    a->length = a->room = size;
}

static const char *const text_names[] = { "abc", "empty", "NULL of 0", "NULL of 3", "NULL of all",
    "\\xff" };

static adz_text make_text(size_t choice)
{
    const adz_text texts[] = { { "abc", 3 }, { "", 0 }, { NULL, 0 }, { NULL, 3 },
        { NULL, SIZE_MAX }, { "\xff", 1 } };
    return texts[choice];
}

/* ---- shapes, dimensions, lists --------------------------------------------------------------- */

static const char *const shape_names[] = { "[3]", "[3, 3]", "[]", "[9]", "[1, 3, 3]", "[1, 3, 1]",
    "[1, 3]", "[-1]", "[0, 3]", "[-1, -1]", "[INT64_MAX]", "[INT64_MAX, 2]", "[INT64_MIN]",
    "[2^40, 2^40]", "[0, INT64_MAX, INT64_MAX]", "[2^62, 4]", "rank 8", "rank -1", "rank 9",
    "rank INT_MAX", "rank INT_MIN", "[3, 1, 2, 2]", "drawn" };

static adz_shape make_shape(size_t choice, uint64_t random)
{
    const int64_t huge = (int64_t)1 << 40;
    const adz_shape shapes[] = { { 1, { 3 } }, { 2, { 3, 3 } }, { 0, { 0 } }, { 1, { 9 } },
        { 3, { 1, 3, 3 } }, { 3, { 1, 3, 1 } }, { 2, { 1, 3 } }, { 1, { -1 } }, { 2, { 0, 3 } },
        { 2, { -1, -1 } }, { 1, { INT64_MAX } }, { 2, { INT64_MAX, 2 } }, { 1, { INT64_MIN } },
        { 2, { huge, huge } }, { 3, { 0, INT64_MAX, INT64_MAX } }, { 2, { (int64_t)1 << 62, 4 } },
        { 8, { 1, 1, 1, 1, 1, 1, 1, 3 } }, { -1, { 0 } }, { 9, { 1, 1, 1, 1, 1, 1, 1, -1 } },
        { INT_MAX, { 1, 1, 1, 1, 1, 1, 1, -1 } }, { INT_MIN, { 1 } }, { 4, { 3, 1, 2, 2 } } };
    if (choice < COUNT_OF(shapes)) {
        return shapes[choice];
    }
    adz_shape drawn = { (int)(random_from(&random) % 9), { 0 } };
    for (int i = 0; i < drawn.rank; ++i) {
        drawn.sizes[i] = (int64_t)(random_from(&random) % 4);
    }
    return drawn;
}

static const char *const dims_names[] = { "[0]", "all", "[-1]", "[0, 1]", "none", "[0, 0]", "[7]",
    "[INT_MIN]", "[INT_MAX]", "count -2", "count 9", "count INT_MAX", "count INT_MIN", "drawn" };

static adz_dims make_dims(size_t choice, uint64_t random)
{
    const adz_dims lists[] = { { 1, { 0 } }, { -1, { 0 } }, { 1, { -1 } }, { 2, { 0, 1 } },
        { 0, { 0 } }, { 2, { 0, 0 } }, { 1, { 7 } }, { 1, { INT_MIN } }, { 1, { INT_MAX } },
        { -2, { 0 } }, { 9, { 0, 1, 2, 3, 4, 5, 6, 7 } }, { INT_MAX, { 0 } }, { INT_MIN, { 0 } } };
    if (choice < COUNT_OF(lists)) {
        return lists[choice];
    }
    adz_dims drawn = { (int)(random_from(&random) % 4), { 0 } };
    for (int i = 0; i < drawn.count; ++i) {
        drawn.dims[i] = (int)(random_from(&random) % 9) - 4;
    }
    return drawn;
}

/* ---- arrays ---------------------------------------------------------------------------------- */

static const char *const array_names[] = { "0, 1, 2", "ones", "threes", "halves", "NULL",
    "minus ones", "largest", "smallest", "drawn" };

static double array_double(size_t choice, size_t i, uint64_t *random)
{
    const double each[] = { (double)i, 1, 3, 0.5, 0, -1, 1e308, NAN };
    return choice < COUNT_OF(each) ? each[choice] : drawn_double(random_from(random));
}

static int64_t array_int64(size_t choice, size_t i, uint64_t *random)
{
    const int64_t each[] = { (int64_t)i, 1, 3, 2, 0, -1, INT64_MAX, INT64_MIN };
    return choice < COUNT_OF(each) ? each[choice] : drawn_int64(random_from(random));
}

static void make_array(const param *p, size_t choice, uint64_t random, arg *a)
{
    if (strcmp(array_names[choice], "NULL") == 0) {
        return;
    }
    a->v.p = call_memory(ROOM * sizeof(double));
    a->length = 3;
    a->room = ROOM;
    for (size_t i = 0; i < ROOM; ++i) {
        if (p->kind == KIND_DOUBLES) {
            ((double *)a->v.p)[i] = array_double(choice, i, &random);
        } else if (p->kind == KIND_INT64S) {
            ((int64_t *)a->v.p)[i] = array_int64(choice, i, &random);
        } else {
            ((int *)a->v.p)[i] = (int)array_int64(choice, i, &random);
        }
    }
    if (p->kind == KIND_DOUBLES && strcmp(array_names[choice], "halves") == 0) {
        a->length = 2;
    }
}

static const char *const strings_names[] = { "a, b, c", "a", "weight", "NULL", "with NULL", "NULLs",
    "long" };

static void make_strings(const param *p, size_t choice, arg *a)
{
    static const char *const lists[][3] = { { "a", "b", "c" }, { "a", NULL, NULL },
        { "weight", NULL, NULL }, { NULL, NULL, NULL }, { "a", NULL, "c" }, { NULL, NULL, NULL },
        { LONG_TEXT, "\xff", "" } };
    if (choice == 3) {
        return;
    }
    const char **list = call_memory(ROOM * sizeof(adz_text));
    adz_text *texts = (adz_text *)(void *)list;
    a->v.p = list;
    a->room = ROOM;
    a->length = choice == 1 || choice == 2 ? 1 : 3;
    for (size_t i = 0; i < 3; ++i) {
        const char *text = text_of(lists[choice][i]);
        if (p->kind == KIND_TEXTS) {
            texts[i] = (adz_text){ text, text != NULL ? strlen(text) : 4 * (choice == 4) };
        } else {
            list[i] = text;
        }
    }
}

static const char *const named_names[] = { "x", "x by position", "misspelt", "NULL", "NULLs",
    "none", "twice", "long" };

static void make_named(size_t choice, arg *a)
{
    static const char *const names[] = { "x", NULL, "y", NULL, NULL, "x", "x", LONG_TEXT };
    if (choice == 3) {
        return;
    }
    adz_named_tensor *list = call_memory(ROOM * sizeof *list);
    adz_tensor *t = choice == 4 ? NULL : object_make(KIND_TENSOR, choice == 5 ? 18 : 0);
    a->v.p = list;
    a->room = ROOM;
    a->length = choice == 6 ? 2 : 1;
    for (size_t i = 0; i < 2; ++i) {
        list[i] = (adz_named_tensor){ text_of(names[choice]), t };
    }
}

/* The choices of the objects in an array; -1 stands for NULL. */
typedef struct object_list {
    const char *name;
    size_t length;
    int choices[4];
} object_list;

static const object_list tensor_lists[] = { { "matrices", 3, { 0, 0, 0 } }, { "loss", 1, { 17 } },
    { "leaf", 1, { 1 } }, { "lstm", 4, { 20, 20, 21, 21 } }, { "gru", 4, { 29, 29, 30, 30 } },
    { "rnn", 4, { 0, 0, 4, 4 } }, { "matrix and ids", 2, { 0, 3 } }, { "ids", 1, { 3 } },
    { "vectors", 2, { 4, 4 } }, { "NULL", 0, { 0 } }, { "first NULL", 2, { -1, 0 } },
    { "last NULL", 3, { 0, 0, -1 } }, { "none", 2, { 18, 18 } },
    { "of all kinds", 4, { 0, 3, 5, 9 } } };
static const object_list other_lists[] = { { "three", 3, { 0, 0, 0 } }, { "one", 1, { 0 } },
    { "NULL", 0, { 0 } }, { "first NULL", 2, { -1, 0 } }, { "last NULL", 3, { 0, 0, -1 } } };

kind kind_in_array(kind k)
{
    return k == KIND_MODULES      ? KIND_MODULE
           : k == KIND_SCHEDULERS ? KIND_SCHEDULER
           : k == KIND_GENERATORS ? KIND_GENERATOR
           : k == KIND_PLANS      ? KIND_PLAN
           : k == KIND_TENSORS    ? KIND_TENSOR
                                  : KIND_NONE;
}

static const object_list *object_lists(kind k, size_t *n)
{
    *n = k == KIND_TENSORS ? COUNT_OF(tensor_lists) : COUNT_OF(other_lists);
    return k == KIND_TENSORS ? tensor_lists : other_lists;
}

static void make_objects(const param *p, size_t choice, arg *a)
{
    size_t n;
    kind of = kind_in_array(p->kind);
    const object_list *list = &object_lists(p->kind, &n)[choice];
    if (strcmp(list->name, "NULL") == 0) {
        return;
    }
    void **array = call_memory(ROOM * sizeof *array);
    a->v.p = array;
    a->length = list->length;
    a->room = ROOM;
    for (size_t i = 0; i < list->length; ++i) {
        array[i] = list->choices[i] >= 0 ? object_make(of, (size_t)list->choices[i]) : NULL;
        a->objects[i] = array[i];
    }
}

static adz_tensor_list make_tensor_list(size_t choice)
{
    static const int first[] = { 1, 16, 0, 0, 0, -1, 18, 0, 3 };
    adz_tensor_list list = { NULL, choice == 3 ? 3 : choice == 4 ? SIZE_MAX : 0 };
    if (choice >= 2 && choice <= 4) {
        return list;
    }
    adz_tensor **items = call_memory(ROOM * sizeof *items);
    items[0] = first[choice] >= 0 ? object_make(KIND_TENSOR, (size_t)first[choice]) : NULL;
    items[1] = choice == 0 ? object_make(KIND_TENSOR, 1) : items[0];
    list.items = items;
    list.count = choice == 1 ? 1 : 2;
    return list;
}

static const char *const list_names[] = { "leaves", "one leaf", "NULL of 0", "NULL of 3",
    "NULL of all", "NULLs", "nones", "no leaves", "ids" };

static const struct {
    const char *const *names;
    size_t n, valid;
} named[] = {
    [KIND_STRING] = { strings, COUNT_OF(strings), 10 },
    [KIND_PATH] = { paths, COUNT_OF(paths), 7 },
    [KIND_ENCODED] = { encoded, COUNT_OF(encoded), 5 },
    [KIND_TEXT] = { text_names, COUNT_OF(text_names), 1 },
    [KIND_SHAPE] = { shape_names, COUNT_OF(shape_names), 8 },
    [KIND_DIMS] = { dims_names, COUNT_OF(dims_names), 4 },
    [KIND_LIST] = { list_names, COUNT_OF(list_names), 2 },
    [KIND_INTS] = { array_names, COUNT_OF(array_names), 5 },
    [KIND_INT64S] = { array_names, COUNT_OF(array_names), 5 },
    [KIND_DOUBLES] = { array_names, COUNT_OF(array_names), 5 },
    [KIND_STRINGS] = { strings_names, COUNT_OF(strings_names), 4 },
    [KIND_TEXTS] = { strings_names, COUNT_OF(strings_names), 4 },
    [KIND_NAMED] = { named_names, COUNT_OF(named_names), 2 },
};

bool list_choices(const param *p, size_t *n, size_t *valid)
{
    if (kind_in_array(p->kind) != KIND_NONE) {
        object_lists(p->kind, n);
        *valid = *n - 3;
        return true;
    }
    if (p->kind >= COUNT_OF(named) || named[p->kind].n == 0) {
        return false;
    }
    *n = named[p->kind].n;
    *valid = named[p->kind].valid;
    return true;
}

const char *list_name(const param *p, size_t choice)
{
    size_t n;
    return kind_in_array(p->kind) != KIND_NONE ? object_lists(p->kind, &n)[choice].name
                                               : named[p->kind].names[choice];
}

void make_list(const param *p, size_t choice, uint64_t random, arg *a)
{
    switch (p->kind) {
    case KIND_SHAPE:
        a->v.shape = make_shape(choice, random);
        break;
    case KIND_DIMS:
        a->v.dims = make_dims(choice, random);
        break;
    case KIND_LIST:
        a->v.list = make_tensor_list(choice);
        break;
    case KIND_TEXT:
        a->v.text = make_text(choice);
        break;
    case KIND_STRING:
        a->v.p = (void *)(uintptr_t)text_of(strings[choice]);
        break;
    case KIND_PATH:
        a->v.p = (void *)(uintptr_t)text_of(paths[choice]);
        break;
    case KIND_ENCODED:
        make_encoded(choice, random, a);
        break;
    case KIND_STRINGS:
    case KIND_TEXTS:
        make_strings(p, choice, a);
        break;
    case KIND_NAMED:
        make_named(choice, a);
        break;
    case KIND_INTS:
    case KIND_INT64S:
    case KIND_DOUBLES:
        make_array(p, choice, random, a);
        break;
    default:
        make_objects(p, choice, a);
        break;
    }
}
