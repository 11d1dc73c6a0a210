#define _GNU_SOURCE
#include "arguments.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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
    switch (a->kind) {
    case ARGUMENT_FLAG:
        snprintf(buffer, size, "%d", *(bool *)a->to ? 1 : 0);
        break;
    case ARGUMENT_WHOLE:
        snprintf(buffer, size, "%lld", (long long)*(int64_t *)a->to);
        break;
    case ARGUMENT_NUMBER:
        snprintf(buffer, size, "%.17g", *(double *)a->to);
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

int read_arguments(int argc, char **argv, argument *table, size_t n, const char *help)
{
    enum { FIRST = 256 }; /* beyond any letter */
    struct option *options = allocate((n + 2) * sizeof *options);
    for (size_t i = 0; i < n; ++i) {
        int has_value = table[i].kind == ARGUMENT_FLAG ? no_argument : required_argument;
        options[i] = (struct option){ table[i].name, has_value, NULL, FIRST + (int)i };
    }
    options[n] = (struct option){ "help", no_argument, NULL, 'h' };
    for (int which; (which = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (which == 'h') {
            fputs(help, stdout);
            exit(0);
        }
        if (which < FIRST) {
            fprintf(stderr, "%s --help lists the options\n", program_name);
            exit(2);
        }
        table[which - FIRST].given = true;
        set_argument(&table[which - FIRST], optarg);
    }
    free(options);
    return optind;
}
