/* Reads a command line by a table of options, and suggests a name for a misspelt one. */
#define _GNU_SOURCE
#include "arguments.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "about.h"

static int64_t read_whole(const argument *a, const char *value)
{
    int64_t high = a->high < 0x1p63 ? (int64_t)a->high : INT64_MAX;
    return whole(a->name, value, (int64_t)a->low, high);
}

static int read_choice(const argument *a, const char *value)
{
    int count = 0;
    while (a->choices[count] != NULL) {
        ++count;
    }
    return choice(a->name, value, a->choices, count);
}

void set_argument(argument *a, char *value)
{
    switch (a->kind) {
    case ARGUMENT_FLAG:
        *(bool *)a->to = value == NULL || strcmp(value, "0") != 0;
        break;
    case ARGUMENT_WHOLE:
        *(int64_t *)a->to = read_whole(a, value);
        break;
    case ARGUMENT_NUMBER:
        *(double *)a->to = number(a->name, value, a->low, a->high);
        break;
    case ARGUMENT_TEXT:
        *(const char **)a->to = value;
        break;
    case ARGUMENT_CHOICE:
        *(int *)a->to = read_choice(a, value);
        break;
    default:
        a->read(a->to, value);
        break;
    }
}

const char *argument_text(const argument *a, char *buffer, size_t size)
{
    const char *text = a->kind == ARGUMENT_TEXT ? *(const char **)a->to : NULL;
    char digits[NUMBER_TEXT];
    switch (a->kind) {
    case ARGUMENT_FLAG:
        snprintf(buffer, size, "%d", *(bool *)a->to ? 1 : 0);
        break;
    case ARGUMENT_WHOLE:
        snprintf(buffer, size, "%lld", (long long)*(int64_t *)a->to);
        break;
    case ARGUMENT_NUMBER:
        snprintf(buffer, size, "%s", number_text(*(double *)a->to, digits));
        break;
    case ARGUMENT_CHOICE:
        snprintf(buffer, size, "%s", a->choices[*(int *)a->to]);
        break;
    default:
        snprintf(buffer, size, "%s", text != NULL ? text : "");
        break;
    }
    return buffer;
}

argument *find_argument(argument *table, size_t n, const char *name)
{
    for (size_t i = 0; i < n; ++i) {
        if (strcmp(table[i].name, name) == 0) {
            return &table[i];
        }
    }
    return NULL;
}

/* ---- the command line ----------------------------------------------------------------------- */

/* The number of letters that must be inserted, deleted or replaced to turn one word into the other
 * (Levenshtein). Words are cut after 63 letters. */
static size_t distance(const char *a, const char *b)
{
    enum { MOST = 64 };
    size_t row[MOST], n = strnlen(b, MOST - 1);
    for (size_t j = 0; j <= n; ++j) {
        row[j] = j;
    }
    for (size_t i = 0; i < MOST && a[i] != '\0'; ++i) {
        size_t diagonal = row[0];
        row[0] = i + 1;
        for (size_t j = 0; j < n; ++j) {
            size_t replaced = diagonal + (a[i] != b[j]);
            diagonal = row[j + 1];
            size_t other = (row[j] < diagonal ? row[j] : diagonal) + 1;
            row[j + 1] = replaced < other ? replaced : other;
        }
    }
    return row[n];
}

/* The name that was probably meant: a name that begins with the word, or that differs from it in at
 * most two letters. NULL if there is none. */
static const char *closest_name(const argument *table, size_t n, const char *typed)
{
    const char *best = NULL;
    size_t least = strlen(typed) > 3 ? 3 : 2;
    for (size_t i = 0; i < n; ++i) {
        size_t away =
            strncmp(table[i].name, typed, strlen(typed)) == 0 ? 0 : distance(typed, table[i].name);
        if (away < least) {
            least = away;
            best = table[i].name;
        }
    }
    return best;
}

static _Noreturn void unknown_option(const argument *table, size_t n, const char *typed)
{
    const char *meant = typed[0] != '\0' ? closest_name(table, n, typed) : NULL;
    if (meant != NULL) {
        usage_error("there is no option --%s; is --%s meant?", typed, meant);
    }
    usage_error("there is no option --%s", typed);
}

/* The value of an option: the text after "=", or the next word. */
static char *value_of(const argument *a, char *equals, int argc, char **argv, int *at)
{
    if (a->kind == ARGUMENT_FLAG && equals != NULL) {
        usage_error("--%s takes no value", a->name);
    }
    if (a->kind == ARGUMENT_FLAG || equals != NULL) {
        return equals != NULL ? equals + 1 : NULL;
    }
    if (*at + 1 >= argc) {
        usage_error("--%s needs a value", a->name);
    }
    return argv[++*at];
}

/* As find_argument. The column that a program predicts is --target or --column: a program's own
 * name for it stands in its --help, and the other one is taken as well. */
static argument *find_option(argument *table, size_t n, const char *name)
{
    argument *a = find_argument(table, n, name);
    if (a == NULL && strcmp(name, "column") == 0) {
        a = find_argument(table, n, "target");
    } else if (a == NULL && strcmp(name, "target") == 0) {
        a = find_argument(table, n, "column");
    }
    return a;
}

/* Reads the option at argv[*at], "--name", "--name=value" or "--name" and "value". Names are not
 * abbreviated: a shortened name would change its meaning when an option is added. */
static void read_option(int argc, char **argv, int *at, argument *table, size_t n)
{
    char *name = argv[*at] + 2, *equals = strchr(name, '=');
    if (equals != NULL) {
        *equals = '\0';
    }
    argument *a = find_option(table, n, name);
    if (a == NULL) {
        unknown_option(table, n, name);
    }
    char *value = value_of(a, equals, argc, argv, at);
    const char *next =
        equals == NULL && value != NULL && strncmp(value, "--", 2) == 0 ? value + 2 : "";
    if (find_argument(table, n, next) != NULL) {
        usage_error("--%s needs a value; %s is the next option (--%s=%s if it is meant)", name,
            value, name, value);
    }
    a->given = true;
    set_argument(a, value);
}

int read_arguments(int argc, char **argv, argument *table, size_t n, const char *help)
{
    char **rest = allocate((size_t)argc * sizeof *rest); /* the words that are no options */
    int count = 0;
    end_on_signals();
    for (int at = 1; at < argc; ++at) {
        char *word = argv[at];
        if (strcmp(word, "--") == 0) {
            while (++at < argc) {
                rest[count++] = argv[at];
            }
        } else if (answers(word, program_name, help)) {
            exit(finish_output());
        } else if (strncmp(word, "--", 2) == 0) {
            read_option(argc, argv, &at, table, n);
        } else if (word[0] == '-' && word[1] != '\0') {
            usage_error("there is no option %s; options begin with two dashes", word);
        } else {
            rest[count++] = word;
        }
    }
    memcpy(argv + argc - count, rest, (size_t)count * sizeof *rest);
    free(rest);
    return argc - count;
}
