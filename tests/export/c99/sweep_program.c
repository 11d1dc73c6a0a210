/* Cases of the sweep as one translation unit. Each case is a whole file in C. Its public names
 * begin with k<number>_; its static names are given this prefix by macros. */
#include "export/c99/sweep.h"

#include <ctype.h>
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

enum { ATTEMPTS = 6, PATH = 200 };

typedef struct {
    char *text;       /* owned; NULL if the case was refused */
    char *diagnostic; /* owned; what the compiler says against it */
} entry;

struct sweep_program {
    char source[PATH], log[PATH], library[PATH];
    entry *entries;
    int n, at, capacity;
    void *loaded;
    sweep_function const *functions; /* of the entries that compile, in their order */
};

/* ---- texts ----------------------------------------------------------------------------------- */

static void write_text(FILE *to, const char *text)
{
    assert_true(fputs(text, to) >= 0);
}

/* The contents of a file, which the caller frees. */
static char *text_of(const char *path)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = 0, room = 1 << 14;
    char *text = malloc(room);
    for (size_t got = 1; text != NULL && got > 0; n += got) {
        if (room - n < 2) {
            room *= 2;
            text = realloc(text, room);
            assert_non_null(text);
        }
        got = fread(text + n, 1, room - n - 1, file);
    }
    assert_non_null(text);
    text[n] = '\0';
    fclose(file);
    return text;
}

/* The name that a line declares, such as "floats" in "static float floats[12];". False if it
 * declares none at file scope. */
static bool declared_static(const char *line, char *name, size_t size)
{
    if (strncmp(line, "static ", 7) != 0) {
        return false;
    }
    const char *end = line + strcspn(line, "[(=;\n"), *begin;
    while (end > line && end[-1] == ' ') {
        --end;
    }
    for (begin = end; begin > line && (isalnum((unsigned char)begin[-1]) || begin[-1] == '_');) {
        --begin;
    }
    snprintf(name, size, "%.*s", (int)(end - begin), begin);
    return name[0] != '\0';
}

/* Writes "#define floats k12_floats" for each static name of a source, or "#undef floats". */
static void write_macros(FILE *to, const char *source, int number, bool define)
{
    char name[200], prefix[24];
    snprintf(prefix, sizeof prefix, "k%d_", number);
    for (const char *line = source; line != NULL; line = strchr(line, '\n')) {
        line += *line == '\n';
        if (declared_static(line, name, sizeof name) &&
            strncmp(name, prefix, strlen(prefix)) != 0) {
            fprintf(to, define ? "#define %s %s%s\n" : "#undef %s\n", name, prefix, name);
        }
    }
}

/* The number of arguments of k<number>_run, the result aside: its commas. */
static int inputs_of(const char *header)
{
    int n = 0;
    const char *at = strstr(header, "_run(");
    assert_non_null(at);
    for (; *at != ')'; ++at) {
        n += *at == ',';
    }
    return n;
}

/* Writes header and source of a case, and k<number>_call, which takes its inputs as an array. */
static void write_case(FILE *to, const char *source, const char *header, int number)
{
    const char *include = strstr(source, "#include \"k.h\"\n");
    assert_non_null(include);
    write_text(to, header);
    write_macros(to, source, number, true);
    write_text(to, include + strlen("#include \"k.h\"\n"));
    write_macros(to, source, number, false);
    fprintf(to, "static void k%d_call(const void *const *in, void *y)\n{\n    k%d_run(", number,
        number);
    for (int i = 0, n = inputs_of(header); i < n; ++i) {
        fprintf(to, "in[%d], ", i);
    }
    write_text(to, "y);\n}\n\n");
}

/* ---- cases ----------------------------------------------------------------------------------- */

sweep_program *program_new(const char *folder)
{
    sweep_program *p = calloc(1, sizeof *p);
    assert_non_null(p);
    snprintf(p->source, PATH, "%s/sweep.c", folder);
    snprintf(p->log, PATH, "%s/sweep.log", folder);
    return p;
}

int program_next(const sweep_program *p)
{
    return p->n;
}

static entry *new_entry(sweep_program *p)
{
    if (p->n == p->capacity) {
        p->capacity = 2 * p->capacity + 64;
        p->entries = realloc(p->entries, (size_t)p->capacity * sizeof *p->entries);
        assert_non_null(p->entries);
    }
    p->entries[p->n] = (entry){ NULL, NULL };
    return &p->entries[p->n++];
}

void program_skip(sweep_program *p)
{
    new_entry(p);
}

void program_add(sweep_program *p, const char *source_path, const char *header_path)
{
    char *source = text_of(source_path), *header = text_of(header_path);
    size_t size;
    char *text;
    FILE *memory = open_memstream(&text, &size);
    assert_non_null(memory);
    write_case(memory, source, header, p->n);
    fclose(memory);
    new_entry(p)->text = text;
    free(source);
    free(header);
}

/* ---- compiling ------------------------------------------------------------------------------- */

static bool is_compiled(const entry *e)
{
    return e->text != NULL && e->diagnostic == NULL;
}

static void write_program(sweep_program *p)
{
    FILE *to = fopen(p->source, "w");
    assert_non_null(to);
    write_text(to, "#include <math.h>\n#include <stdint.h>\n\n");
    for (int i = 0; i < p->n; ++i) {
        if (is_compiled(&p->entries[i])) {
            write_text(to, p->entries[i].text);
        }
    }
    write_text(to, "extern void (*const sweep_calls[])(const void *const *, void *);\n"
                   "void (*const sweep_calls[])(const void *const *, void *) = {\n");
    for (int i = 0; i < p->n; ++i) {
        if (is_compiled(&p->entries[i])) {
            fprintf(to, "    k%d_call,\n", i);
        }
    }
    write_text(to, "    0,\n};\n");
    assert_int_equal(fclose(to), 0);
}

/* Without optimisation an overflow of int aborts. With it, gcc would abort where unsigned integers
 * wrap, too. */
static bool run_compiler(sweep_program *p)
{
    static int number;
    char command[2000];
    const char *level = getenv("ADZE_SWEEP_O");
    snprintf(p->library, PATH, "%.*s.%d.so", (int)strlen(p->source) - 2, p->source, number++);
    snprintf(command, sizeof command,
        "LC_ALL=C %s -std=c99 -pedantic -Wall -Wextra -Wdouble-promotion -Werror %s%s -ffp-contract=off -fPIC -shared -o %s %s -lm > %s 2>&1",
        C_COMPILER, level != NULL ? "-O" : "-O0 -ftrapv", level != NULL ? level : "", p->library,
        p->source, p->log);
    return system(command) == 0;
}

/* Gives each case of which the compiler complains its first complaint: the line after the name of
 * the function, or the line that has the name. False if no case is named. */
static bool read_complaints(sweep_program *p)
{
    char *log = text_of(p->log);
    bool any = false;
    int last = -1;
    for (char *line = strtok(log, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const char *error = strstr(line, "error: ");
        for (const char *at = line; (at = strchr(at, 'k')) != NULL; ++at) {
            char *end;
            const long number = strtol(at + 1, &end, 10);
            if (end > at + 1 && *end == '_' && number < p->n) {
                last = (int)number;
                break;
            }
        }
        if (error != NULL && last >= 0 && is_compiled(&p->entries[last])) {
            p->entries[last].diagnostic = strdup(error);
            any = true;
        }
    }
    if (!any) {
        free(log);
        log = text_of(p->log);
        fprintf(stderr, "%.3000s\n", log);
    }
    free(log);
    return any;
}

void program_compile(sweep_program *p)
{
    bool good = false;
    for (int i = 0; i < ATTEMPTS && !good; ++i) {
        write_program(p);
        good = run_compiler(p);
        if (!good && !read_complaints(p)) {
            break;
        }
    }
    if (!good) {
        return;
    }
    char path[PATH + 2];
    snprintf(path, sizeof path, "./%s", p->library);
    p->loaded = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (p->loaded == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return;
    }
    p->functions = dlsym(p->loaded, "sweep_calls");
}

sweep_function program_function(sweep_program *p, const char **diagnostic)
{
    const entry *e = &p->entries[p->at++];
    *diagnostic = e->text != NULL && p->functions == NULL && e->diagnostic == NULL
                      ? "the program did not compile"
                      : e->diagnostic;
    if (!is_compiled(e) || p->functions == NULL) {
        return NULL;
    }
    return *p->functions++;
}

void program_free(sweep_program *p)
{
    if (p->loaded != NULL) {
        dlclose(p->loaded);
    }
    for (int i = 0; i < p->n; ++i) {
        free(p->entries[i].text);
        free(p->entries[i].diagnostic);
    }
    if (getenv("ADZE_SWEEP_KEEP") == NULL) {
        remove(p->library);
        remove(p->source);
    }
    free(p->entries);
    free(p);
}
