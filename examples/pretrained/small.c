/* Writes a folder with random weights, opens it, and takes it away again. */
#define _GNU_SOURCE
#include "small.h"

#include <adze/models.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../shared/command_line.h"
#include "../shared/files.h"
#include "../text/text.h"
#include "entry.h"
#include "folder.h"

enum { NAME = 128 };

/* ---- folders -------------------------------------------------------------------------------- */

/* Writes the files, and the folders in which they are. */
static void write_files(const char *folder, const small_file *files, size_t n)
{
    char path[FOLDER_PATH];
    for (size_t i = 0; i < n; ++i) {
        const char *slash = strrchr(files[i].path, '/');
        path_in(folder, files[i].path, path);
        if (slash != NULL) {
            char *end = strrchr(path, '/');
            *end = '\0';
            make_folder(path);
            *end = '/';
        }
        FILE *file = create_file(path);
        fputs(files[i].text, file);
        finish_file(path, file);
    }
}

static void remove_files(const char *folder, const small_file *files, size_t n)
{
    char path[FOLDER_PATH];
    for (size_t i = 0; i < n; ++i) {
        remove(path_in(folder, files[i].path, path));
        char *slash = strrchr(path, '/');
        *slash = '\0';
        if (strchr(files[i].path, '/') != NULL) {
            rmdir(path);
        }
    }
    remove(path_in(folder, "model.safetensors", path));
    rmdir(folder);
}

void save_small(adz_module *model, const char *folder, const small_file *files, size_t n)
{
    make_folder(folder);
    write_files(folder, files, n);
    adz_pretrained_save(model, folder);
    remark("the model is saved as the folder %s", folder);
}

/* ---- weights -------------------------------------------------------------------------------- */

static void add_weight(adz_safetensors *file, const small_weight *w, int layer, double scale)
{
    char name[NAME];
    const char *mark = strstr(w->name, "%d");
    const int before = mark != NULL ? (int)(mark - w->name) : 0;
    if (mark != NULL) {
        snprintf(name, sizeof name, "%.*s%d%s", before, w->name, layer, mark + 2);
    } else {
        snprintf(name, sizeof name, "%s", w->name);
    }
    adz_tensor *t =
        adz_zeros(w->columns > 0 ? ADZ_SHAPE(w->rows, w->columns) : ADZ_SHAPE(w->rows), ADZ_F32);
    if (w->columns > 0) {
        adz_init_normal_(t, 0, 0.02 * scale, NULL);
    } else if (ends_with(w->name, "orm.weight")) {
        adz_init_constant_(t, 1);
    }
    adz_safetensors_add(file, name, t);
}

adz_module *open_small(const small_file *files, size_t n_files, const small_weight *weights,
    size_t n_weights, int layers, double scale)
{
    const char *where = getenv("TMPDIR");
    char folder[FOLDER_PATH], path[FOLDER_PATH];
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_new();
    for (size_t i = 0; i < n_weights; ++i) {
        const int times = strstr(weights[i].name, "%d") != NULL ? layers : 1;
        for (int layer = 0; layer < times; ++layer) {
            add_weight(file, &weights[i], layer, scale);
        }
    }
    path_in(where != NULL && where[0] != '\0' ? where : P_tmpdir, "adze-XXXXXX", folder);
    if (mkdtemp(folder) == NULL) {
        fail("%s: cannot be made: %s", folder, strerror(errno));
    }
    write_files(folder, files, n_files);
    adz_safetensors_save(file, path_in(folder, "model.safetensors", path));
    adz_module *model = adz_pretrained_open(folder, NULL);
    remove_files(folder, files, n_files);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
    return model;
}

/* ---- words ---------------------------------------------------------------------------------- */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static void append(word_list *list, const char *from, size_t size)
{
    if ((list->count & (list->count + 1)) == 0) { /* 1, 3, 7, ... are full */
        list->words = reallocate(list->words, 2 * list->count + 2, sizeof *list->words);
    }
    char *word = allocate(size + 1);
    memcpy(word, from, size);
    list->words[list->count++] = word;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static word_list all_words(const char *text, bool spaced)
{
    word_list list = { NULL, 0 };
    for (const char *at = text; *at != '\0';) {
        const char *end = at;
        while (is_letter(*end)) {
            ++end;
        }
        if (end > at) {
            const bool space = spaced && at > text && (at[-1] == ' ');
            append(&list, at - space, (size_t)(end - at) + space);
            for (char *c = list.words[list.count - 1]; *c != '\0' && !spaced; ++c) {
                *c = (char)(*c >= 'A' && *c <= 'Z' ? *c + 'a' - 'A' : *c);
            }
        }
        at = end > at ? end : at + 1;
    }
    return list;
}

typedef struct counted {
    char *word;
    size_t times;
} counted;

static int most_frequent_first(const void *a, const void *b)
{
    const counted *x = a, *y = b;
    if (x->times != y->times) {
        return x->times > y->times ? -1 : 1;
    }
    return strcmp(x->word, y->word);
}

word_list frequent_words(const char *text, size_t most, bool spaced)
{
    word_list all = all_words(text, spaced), list = { NULL, 0 };
    counted *counts = allocate((all.count + 1) * sizeof *counts);
    size_t n = 0;
    qsort(all.words, all.count, sizeof *all.words, by_text);
    for (size_t i = 0; i < all.count; ++i) {
        if (i == 0 || strcmp(all.words[i], all.words[i - 1]) != 0) {
            counts[n++].word = all.words[i];
        }
        ++counts[n - 1].times;
    }
    qsort(counts, n, sizeof *counts, most_frequent_first);
    for (size_t i = 0; i < n && i < most && counts[i].times > 1; ++i) {
        append(&list, counts[i].word, strlen(counts[i].word));
    }
    free(counts);
    free_words(&all);
    return list;
}

void free_words(word_list *list)
{
    for (size_t i = 0; i < list->count; ++i) {
        free(list->words[i]);
    }
    free(list->words);
    *list = (word_list){ NULL, 0 };
}

/* ---- sentences ------------------------------------------------------------------------------ */

/* True at the end of a sentence: a sign that ends one, perhaps with a quote, before a space. The
 * points of Mr. and Mrs. end none. */
static bool sentence_ends(const char *from, const char *at)
{
    const char *sign = *at == '"' && at > from ? at - 1 : at;
    const bool title = sign - from >= 2 && sign[-1] == 'r' && sign[-2] == 'M';
    const bool titles = sign - from >= 3 && strncmp(sign - 3, "Mrs", 3) == 0;
    return strchr(".!?", *sign) != NULL && !title && !titles && (at[1] == ' ' || at[1] == '\0');
}

word_list embedded_sentences(void)
{
    size_t size;
    char *text = embedded_text(&size);
    word_list list = { NULL, 0 };
    for (char *paragraph = text, *next; *paragraph != '\0'; paragraph = next) {
        char *end = strstr(paragraph, "\n\n");
        next = end != NULL ? end + 2 : text + size;
        *(end != NULL ? end : text + size - 1) = '\0';
        for (char *c = paragraph; *c != '\0'; ++c) {
            *c = (char)(*c == '\n' ? ' ' : *c);
        }
        for (const char *from = paragraph, *at = from; *at != '\0'; ++at) {
            if (sentence_ends(from, at) || at[1] == '\0') {
                append(&list, from, (size_t)(at + 1 - from));
                from = at[1] == ' ' ? at + 2 : at + 1;
            }
        }
    }
    free(text);
    return list;
}

/* ---- what to fetch -------------------------------------------------------------------------- */

void tell_what_to_fetch(const char *what, const char *from, const char *files, const char *usage)
{
    remark("no folder is given. For %s fetch %s from %s into a folder, and call: %s", what, files,
        from, usage);
    remark("now a small model is trained on %s", embedded_name);
}
