/* adze-bits: prints a table of hashes that is the same on every processor with fused multiply-adds
 * (docs/reproducibility.md). Each row trains something small, and its hash is of all results and
 * weights.
 *
 * usage: adze-bits [--threads N] [--covered] [--compare FILE] [ROW...]
 *
 * --compare compares the rows with a table and fails if one differs. --covered prints which
 * operators, modules, optimizers and schedulers are part of a row. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bits.h"
#include "tensor/kernel/registers.h"

static char *const *wanted;
static int n_wanted;
static FILE *table;
static int compared, different;
static bool listing;

enum { MOST_NOTES = 1000 };
/* Copies, because the name of a parametrised module ends with the module. */
static char notes[MOST_NOTES][2][80];
static int n_notes;

static void fail(const char *what, const char *why)
{
    fprintf(stderr, "adze-bits: %s: %s\n", what, why);
    exit(EXIT_FAILURE);
}

void must(bool good, const char *what)
{
    if (!good) {
        fail(what, adz_error_message());
    }
}

void covered(const char *kind, const char *name)
{
    for (int i = 0; i < n_notes; ++i) {
        if (strcmp(notes[i][0], kind) == 0 && strcmp(notes[i][1], name) == 0) {
            return;
        }
    }
    if (n_notes == MOST_NOTES) {
        fail(name, "too many notes");
    }
    if (strlen(name) >= sizeof notes[0][1]) {
        fail(name, "a name is longer than a note");
    }
    strcpy(notes[n_notes][0], kind);
    strcpy(notes[n_notes++][1], name);
    if (listing) {
        printf("%s %s\n", kind, name);
    }
}

/* Compares a line with the table's line of that row. */
static void compare(const char *name, const char *line)
{
    char found[200], other[200];
    rewind(table);
    ++compared;
    while (fgets(found, sizeof found, table) != NULL) {
        found[strcspn(found, "\n")] = '\0';
        if (sscanf(found, "%*64s %199[^\n]", other) == 1 && strcmp(other, name) == 0) {
            if (strcmp(found, line) != 0) {
                printf("%s\n", line);
                ++different;
            }
            return;
        }
    }
    printf("%s (not in the table)\n", line);
    ++different;
}

static bool is_wanted(const char *name)
{
    for (int i = 0; i < n_wanted; ++i) {
        if (strstr(name, wanted[i]) != NULL) {
            return true;
        }
    }
    return n_wanted == 0;
}

void row(const char *group, const char *name, row_function run, const void *user)
{
    for (int i = 0; i < 2; ++i) {
        char text[65], full[120], line[200];
        snprintf(full, sizeof full, "%s %s %s", group, name, i == 0 ? "f32" : "f64");
        if (!is_wanted(full)) {
            continue;
        }
        hash h;
        hash_begin(&h);
        run(&h, i == 0 ? ADZ_F32 : ADZ_F64, user);
        must(adz_error_code() == ADZ_OK, full);
        hash_end(&h, text);
        snprintf(line, sizeof line, "%s %s", text, full);
        if (table != NULL) {
            compare(full, line);
        } else if (!listing) {
            puts(line);
        }
        fflush(stdout);
    }
}

/* Why the table cannot be compared with the kernels in use; NULL if it can. */
static const char *why_elsewhere(void)
{
    static const char *const names[ADZI_CPU_LEVELS] = { "baseline", "avx2", "avx512" };
    const char *level = getenv("ADZE_CPU");
    if (!adzi_has_fused()) {
        return "the table is that of processors with fused multiply-adds, and these kernels have none";
    }
    const bool other = level != NULL && strcmp(level, names[adzi_cpu_level]) != 0;
    return other ? "this processor or build has no kernels for the level that ADZE_CPU names"
                 : NULL;
}

static int usage(void)
{
    fputs("usage: adze-bits [--threads N] [--covered] [--compare FILE] [ROW...]\n", stderr);
    return EXIT_FAILURE;
}

int main(int argc, char **argv)
{
    int i = 1;
    for (; i < argc && strncmp(argv[i], "--", 2) == 0; ++i) {
        if (strcmp(argv[i], "--covered") == 0) {
            listing = true;
        } else if (strcmp(argv[i], "--threads") == 0 && i + 1 < argc) {
            must(adz_set_num_threads(atoi(argv[++i])) == ADZ_OK, "--threads");
        } else if (strcmp(argv[i], "--compare") == 0 && i + 1 < argc) {
            table = fopen(argv[++i], "r");
            if (table == NULL) {
                fail(argv[i], "cannot be read");
            }
            if (why_elsewhere() != NULL) {
                puts(why_elsewhere());
                return 77;
            }
        } else {
            return usage();
        }
    }
    wanted = argv + i;
    n_wanted = argc - i;
    operator_rows();
    module_rows();
    optimizer_rows();
    network_rows();
    arithmetic_rows();
    if (table != NULL) {
        fclose(table);
        printf("%d of %d rows differ from the table\n", different, compared);
    }
    return different == 0 && (table == NULL || compared > 0) ? EXIT_SUCCESS : EXIT_FAILURE;
}
