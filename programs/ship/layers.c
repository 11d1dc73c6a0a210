/* Reads the comments of a written file: "name: operator: [shapes] -> [shape]" before each loop. */
#include "layers.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../examples/shared/command_line.h"
#include "../../examples/shared/files.h"

enum { RANK = 8, OPERANDS = 3 };

typedef struct sizes {
    long long of[RANK];
    int rank;
} sizes;

/* Reads "[1, 3]" at `at`. NULL if nothing of that form is there, else what follows. */
static const char *read_sizes(const char *at, sizes *s)
{
    *s = (sizes){ .rank = 0 };
    if (*at++ != '[') {
        return NULL;
    }
    while (*at != ']') {
        char *after = NULL;
        if (s->rank == RANK) {
            return NULL;
        }
        s->of[s->rank++] = strtoll(at, &after, 10);
        if (after == at) {
            return NULL;
        }
        at = after + (*after == ',' ? 2 : 0);
    }
    return at + 1;
}

static long long elements(const sizes *s)
{
    long long n = 1;
    for (int d = 0; d < s->rank; ++d) {
        n *= s->of[d];
    }
    return n;
}

/* Whether the word before the shapes is `name`, perhaps with something after it as in conv2d. */
static bool is_operator(const char *word, const char *name)
{
    return strncmp(word, name, strlen(name)) == 0;
}

/* Products that are added up for one result: a row of a weight. */
static long long multiply_adds(const char *word, const sizes *in, int n_in, const sizes *out)
{
    if (n_in < 2) {
        return 0;
    }
    if (is_operator(word, "conv_transpose")) {
        return in[1].rank > 0 ? elements(&in[0]) * (elements(&in[1]) / in[1].of[0]) : 0;
    }
    if (is_operator(word, "conv")) {
        return in[1].rank > 0 ? elements(out) * (elements(&in[1]) / in[1].of[0]) : 0;
    }
    if (is_operator(word, "linear") || is_operator(word, "matmul") || is_operator(word, "bmm")) {
        return in[0].rank > 0 ? elements(out) * in[0].of[in[0].rank - 1] : 0;
    }
    return 0;
}

/* One comment. Returns its multiply-adds; operators without any are counted in *others. */
static long long print_layer(const char *text, const char *end, size_t *others)
{
    sizes in[OPERANDS], out;
    const char *arrow = strstr(text, " -> ["), *first = strstr(text, ": [");
    if (arrow == NULL || arrow > end || first == NULL || first > arrow) {
        return 0;
    }
    first += 2;
    int n = 0;
    for (const char *at = first; n < OPERANDS && at != NULL && at < arrow; ++n) {
        at = read_sizes(at, &in[n]);
        at = at != NULL && *at == ' ' ? at + 1 : NULL;
    }
    if (read_sizes(arrow + 4, &out) == NULL) {
        return 0;
    }
    const char *word = first; /* goes back over ": " to the operator's name */
    word -= word >= text + 2 ? 2 : 0;
    while (word > text && word[-1] != ' ') {
        --word;
    }
    const long long products = multiply_adds(word, in, n, &out);
    if (products > 0) {
        print_text("  %.*s: %lld multiply-adds", (int)(end - text), text, products);
    } else {
        ++*others;
    }
    return products;
}

void print_layers(const char *path, const char *name)
{
    char start[300];
    size_t size = 0, others = 0;
    long long products = 0;
    char *text = read_whole_file(path, &size);
    snprintf(start, sizeof start, " %s_run(", name);
    char *body = strstr(text, start);
    char *stop = body != NULL ? strstr(body, "\n}\n") : NULL;
    if (stop == NULL) {
        fail("%s has no function %s_run", path, name);
    }
    *stop = '\0';
    for (char *at = strstr(body, "\n    /* "); at != NULL; at = strstr(at + 1, "\n    /* ")) {
        char *end = strstr(at, " */");
        if (end != NULL) {
            products += print_layer(at + strlen("\n    /* "), end, &others);
        }
    }
    print_text("%lld multiply-adds a call, and %zu operators without products", products, others);
    free(text);
}
