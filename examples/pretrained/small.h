/* Small models of the published families with random weights, for programs that were given no
 * folder: they are trained on the embedded text and can be saved as a folder. */
#ifndef EXAMPLES_PRETRAINED_SMALL_H
#define EXAMPLES_PRETRAINED_SMALL_H

#include <adze/adze.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A parameter of a model. A name with "%d" stands for one in each layer. */
typedef struct small_weight {
    const char *name;
    int64_t rows, columns; /* columns 0: a vector of `rows` elements */
} small_weight;

/* A file of a folder: its path in the folder, and its text. */
typedef struct small_file {
    const char *path, *text;
} small_file;

/* Opens a model that no file holds. The files must have its config.json. Vectors whose name ends
 * with "orm.weight" are 1, other vectors 0, and matrices are drawn from the default generator with
 * the deviation 0.02 * scale. */
adz_module *open_small(const small_file *files, size_t n_files, const small_weight *weights,
    size_t n_weights, int layers, double scale);

/* Saves a model with its files as a folder that adz_pretrained_open reads, and tells so. */
void save_small(adz_module *model, const char *folder, const small_file *files, size_t n);

/* The most frequent words of a text that occur at least twice, at most `most` of them, the most
 * frequent first. A word is a run of ASCII letters; with `spaced` it includes a space before it,
 * else its capitals become small letters. */
typedef struct word_list {
    char **words;
    size_t count;
} word_list;
word_list frequent_words(const char *text, size_t most, bool spaced);
void free_words(word_list *list);

/* The embedded text as sentences, each in one line. */
word_list embedded_sentences(void);

/* Tells on standard error which files to fetch, because no folder was given, and where from. */
void tell_what_to_fetch(const char *what, const char *from, const char *files, const char *usage);

#endif
