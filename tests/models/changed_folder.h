/* Folders that tests make of the golden ones, with changes. */
#ifndef ADZE_TESTS_MODELS_CHANGED_FOLDER_H
#define ADZE_TESTS_MODELS_CHANGED_FOLDER_H

#include <sys/stat.h>
#include <unistd.h>

#include "published.h"

static char folder[300]; /* of the model */

static inline const char *in_folder(const char *name)
{
    static char paths[4][512];
    static unsigned next;
    char *path = paths[next++ % 4];
    snprintf(path, sizeof paths[0], "%s/%s", folder, name);
    return path;
}

/* The text of a file, which the next call overwrites. */
static inline const char *read_text(const char *path)
{
    static char text[20000];
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    text[fread(text, 1, sizeof text - 1, file)] = '\0';
    fclose(file);
    return text;
}

static inline void write_text(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    fputs(text, file);
    fclose(file);
}

/* Makes the folder from the golden one, with one text of config.json replaced. */
static inline void make_folder(const char *from, const char *text, const char *other)
{
    char config[20000];
    const char *whole = read_text(golden(from, "config.json")), *at = strstr(whole, text);
    assert_non_null(at);
    snprintf(config, sizeof config, "%.*s%s%s", (int)(at - whole), whole, other, at + strlen(text));
    snprintf(folder, sizeof folder, "%s/model", temporary_folder);
    mkdir(folder, 0777);
    write_text(in_folder("config.json"), config);
    remove(in_folder("model.safetensors.index.json"));
    adz_safetensors *weights = adz_safetensors_load(golden(from, "model.safetensors"), NULL);
    assert_int_equal(adz_safetensors_save(weights, in_folder("model.safetensors")), ADZ_OK);
    adz_safetensors_free(&weights);
}

/* Opening the folder fails with this message. */
static inline void expect_refused(adz_status status, const char *says)
{
    adz_memory_info before, after;
    adz_get_memory_info(&before, sizeof before);
    assert_null(adz_pretrained_open(folder, NULL));
    expect_error(status, says);
    adz_get_memory_info(&after, sizeof after);
    assert_int_equal(before.live_bytes, after.live_bytes);
}

static inline void end_folder(void)
{
    remove(in_folder("config.json"));
    remove(in_folder("model.safetensors"));
    remove(in_folder("model.safetensors.index.json"));
    remove(in_folder("a.safetensors"));
    remove(in_folder("b.safetensors"));
    rmdir(folder);
}

#endif
