/* Error and warning callbacks, seeds, and small helpers of programs that use adze. */
#define _GNU_SOURCE
#include "program.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command_line.h"
#include "files.h"
#include "plain_text.h"

static void on_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    fail("%s", message);
}

/* ---- warnings ------------------------------------------------------------------------------- */

enum { WARNINGS = 100 };

/* Prints a warning, but only the first time, because many warnings come with every step. */
static void on_warning(adz_status status, const char *message, void *user)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static char *printed[WARNINGS]; /* freed when the program ends */
    static size_t count;
    (void)status;
    (void)user;
    pthread_mutex_lock(&lock);
    size_t i = 0;
    while (i < count && strcmp(printed[i], message) != 0) {
        ++i;
    }
    bool first = i == count && count < WARNINGS;
    if (first) {
        printed[count++] = copy_text(message);
    }
    pthread_mutex_unlock(&lock);
    if (first) {
        remark("warning: %s%s", message,
            i + 1 == WARNINGS ? " (and this is the last warning that is shown)" : "");
    }
}

/* ---- the library ---------------------------------------------------------------------------- */

void report_errors(void)
{
    adz_on_error(on_error, NULL);
    adz_on_warning(on_warning, NULL);
}

void seed_and_threads(int64_t seed, int64_t threads)
{
    adz_manual_seed((uint64_t)seed);
    if (threads > 0) {
        adz_set_num_threads((int)threads);
    }
}

/* Prints the tree of a network in lines of 80 characters. */
static void print_tree(adz_module *network)
{
    char *text = NULL, *rest = NULL;
    size_t size = 0;
    FILE *memory = open_memstream(&text, &size);
    if (memory == NULL) {
        fail("out of memory");
    }
    adz_module_print(network, memory);
    finish_file("memory", memory);
    for (char *line = strtok_r(text, "\n", &rest); line != NULL;
         line = strtok_r(NULL, "\n", &rest)) {
        print_wrapped(stdout, line);
    }
    free(text);
}

void print_network(adz_module *network)
{
    print_tree(network);
    print_text("%lld parameters; %s", (long long)adz_module_numel(network), adz_build_info());
}

char *read_bytes(adz_safetensors *file, const char *name, size_t *size)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *bytes = adz_to(adz_safetensors_get(file, name), ADZ_U8);
    *size = (size_t)adz_tensor_numel(bytes);
    char *text = allocate(*size + 1);
    adz_tensor_read(bytes, text, *size);
    adz_scope_close(scope);
    return text;
}
