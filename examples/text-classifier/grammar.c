/* Draws reviews from the grammar in grammar.h. */
#include "grammar.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/command_line.h"

enum { NEGATIVE = 1, MIXED = 0, POSITIVE = 2 }; /* the labels in the order of strcmp */
static const char *const labels[] = { "mixed", "negative", "positive" };

static const char *const things[] = { "food", "soup", "bread", "coffee", "service", "waiter",
    "room", "view", "music", "garden", "price", "breakfast" };
static const char *const verbs[] = { "was", "seemed", "is", "remained" };
static const char *const nots[] = { "not", "never", "hardly" };
static const char *const good[] = { "good", "great", "lovely", "excellent", "pleasant", "fine",
    "delightful", "nice" };
static const char *const bad[] = { "bad", "awful", "poor", "terrible", "dull", "horrible",
    "unpleasant", "dreadful" };
static const char *const openings[] = { "We came on a Monday.", "My sister chose the place.",
    "There were four of us.", "It was our second visit.", "I had read about it in the paper." };
static const char *const closings[] = { "We left at ten.", "It took two hours.", "My brother paid.",
    "The bus stops outside.", "We took some pictures." };

#define COUNT(array) (sizeof(array) / sizeof *(array))

/* The generator splitmix64. It is part of the program, so that a seed gives equal texts on every
 * machine. */
static uint64_t draw(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

static size_t below(uint64_t *state, size_t n)
{
    return (size_t)((draw(state) >> 11) % n);
}

static bool happens(uint64_t *state, double p)
{
    return (double)(draw(state) >> 11) * 0x1p-53 < p;
}

typedef struct text_buffer {
    char text[512];
    size_t used;
} text_buffer;

static void put(text_buffer *b, const char *text)
{
    size_t n = strlen(text);
    if (b->used + n + 1 > sizeof b->text) {
        fail("a review is longer than %zu bytes", sizeof b->text);
    }
    memcpy(b->text + b->used, text, n + 1);
    b->used += n;
}

/* Appends a clause and returns 1 for a good one, -1 for a bad one. */
static int put_clause(text_buffer *b, uint64_t *state)
{
    bool pleased = happens(state, 0.5), negated = happens(state, 0.4);
    put(b, "the ");
    put(b, things[below(state, COUNT(things))]);
    put(b, " ");
    put(b, verbs[negated ? 0 : below(state, COUNT(verbs))]);
    if (negated) {
        put(b, " ");
        put(b, nots[below(state, COUNT(nots))]);
    }
    put(b, happens(state, 0.3) ? " very " : " ");
    put(b, pleased ? good[below(state, COUNT(good))] : bad[below(state, COUNT(bad))]);
    return pleased != negated ? 1 : -1;
}

static int put_part(text_buffer *b, uint64_t *state)
{
    int sum = put_clause(b, state);
    if (happens(state, 0.5)) {
        put(b, " and ");
        sum += put_clause(b, state);
    }
    return sum;
}

/* Appends a review and returns its class. */
static int put_review(text_buffer *b, uint64_t *state)
{
    if (happens(state, 0.5)) {
        put(b, openings[below(state, COUNT(openings))]);
        put(b, " ");
    }
    size_t form = below(state, 3), start = b->used;
    put(b, form == 2 ? "Although " : "");
    int sum = put_part(b, state);
    if (form > 0) {
        put(b, form == 1 ? ", but " : ", ");
        sum = put_part(b, state); /* only the part after "but" decides */
    }
    b->text[start] = form == 2 ? 'A' : 'T';
    put(b, ".");
    if (happens(state, 0.5)) {
        put(b, " ");
        put(b, closings[below(state, COUNT(closings))]);
    }
    return sum == 0 ? MIXED : sum > 0 ? POSITIVE : NEGATIVE;
}

text_table draw_reviews(int64_t count, uint64_t seed, int64_t *by_rule)
{
    text_table table = { allocate((size_t)count * sizeof(text_row)), (size_t)count };
    uint64_t state = seed;
    for (size_t i = 0; i < table.count; ++i) {
        int wanted = (int)below(&state, 3), class;
        text_buffer b;
        do {
            b.used = 0;
            class = put_review(&b, &state);
        } while (class != wanted);
        by_rule[i] = class;
        if (happens(&state, 1 - GRAMMAR_BEST)) {
            class = (class + 1 + (int)below(&state, 2)) % 3;
        }
        table.rows[i] = (text_row){ copy_text(b.text), copy_text(labels[class]), i + 2 };
    }
    return table;
}
