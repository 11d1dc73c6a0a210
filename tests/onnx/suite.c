/* adze-onnx-suite FOLDER [OPTION...] [NAME...]: runs the cases that generate.py wrote, or those
 * that are named.
 *
 *     --f64          floats are computed as f64
 *     --gradients    gradients are compared with finite differences, in f64
 *     --page FILE    writes the page of operators
 *     --quiet        prints wrong results alone
 *
 * The exit status is 1 if a result was wrong, or if gradients were asked for and none was compared.
 */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "page.h"
#include "suite.h"

typedef struct arguments {
    suite_options options;
    const char *folder, *page, **names;
    int n_names;
    bool quiet;
} arguments;

static bool chosen(const arguments *a, const suite_case *c)
{
    for (int i = 0; i < a->n_names; i++) {
        if (strcmp(a->names[i], c->name) == 0) {
            return true;
        }
    }
    return a->n_names == 0;
}

static bool read_arguments(arguments *a, int argc, char **argv)
{
    *a = (arguments){ .names = calloc((size_t)argc, sizeof(char *)) };
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--f64") == 0) {
            a->options.f64 = true;
        } else if (strcmp(argv[i], "--gradients") == 0) {
            a->options.f64 = a->options.gradients = true;
        } else if (strcmp(argv[i], "--quiet") == 0) {
            a->quiet = true;
        } else if (strcmp(argv[i], "--page") == 0 && i + 1 < argc) {
            a->page = argv[++i];
        } else if (a->folder == NULL) {
            a->folder = argv[i];
        } else {
            a->names[a->n_names++] = argv[i];
        }
    }
    return a->folder != NULL && a->names != NULL;
}

static void report(const arguments *a, const suite_case *c, outcome result, const char *text)
{
    static const char *const words[] = { "passed", "refused", "WRONG" };
    if (!a->quiet || result == WRONG) {
        printf("%-8s %s %s %s\n", words[result], c->kind, c->name, text);
        fflush(stdout);
    }
}

/** Runs the cases of the list; -1 if it cannot be read. */
static int run_list(const arguments *a, suite_page *page)
{
    char path[1024], line[1024], text[CASE_TEXT];
    snprintf(path, sizeof(path), "%s/cases.txt", a->folder);
    FILE *list = fopen(path, "r");
    if (list == NULL) {
        return -1;
    }
    int lines = 0;
    while (fgets(line, sizeof(line), list) != NULL) {
        suite_case c;
        int held;
        if (sscanf(line, "%31s %127s %d %lf %lf %d %127s %63s", c.kind, c.name, &held, &c.rtol,
                &c.atol, &c.opset, c.types, c.operator_name) != 8) {
            lines = -1;
            break;
        }
        c.held = held == 1;
        c.f64 = a->options.f64;
        if (chosen(a, &c)) {
            outcome result = suite_run(a->folder, &c, &a->options, text);
            report(a, &c, result, text);
            lines += page_add(page, &c, result, text) ? 1 : 0;
        }
    }
    fclose(list);
    return lines;
}

int main(int argc, char **argv)
{
    setlocale(LC_ALL, "C"); /* the numbers of cases.txt have points */
    arguments a;
    if (!read_arguments(&a, argc, argv)) {
        fprintf(stderr,
            "usage: adze-onnx-suite FOLDER [--f64] [--gradients] [--page FILE] [--quiet] [NAME...]\n");
        return 2;
    }
    suite_page *page = page_new();
    int lines = page != NULL ? run_list(&a, page) : -1;
    if (lines <= 0) {
        fprintf(stderr, "adze-onnx-suite: no cases in %s/cases.txt\n", a.folder);
        page_free(page);
        free(a.names);
        return 2;
    }
    page_print(page, stdout);
    if (a.options.gradients) {
        printf("%ld elements of gradients compared\n", suite_compared);
    }
    bool written = a.page == NULL || page_write(page, a.page);
    bool compared = !a.options.gradients || suite_compared > 0;
    bool good = page_wrong(page) == 0 && compared && written;
    page_free(page);
    free(a.names);
    return good ? 0 : 1;
}
