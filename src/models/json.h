/* Files of JSON whose entries are read by kind and range, with errors that name file and entry.
 *
 *     json_t *root = adzi_models_json_load("adz_pretrained_open", path, 1 << 20);
 *     models_json file = adzi_models_json_root("adz_pretrained_open", path, root);
 *     models_json model = adzi_models_json_member(&file, "model");
 *     const char *type = adzi_models_json_text(&model, "type");
 *     int64_t width;
 *     bool good = adzi_models_json_whole(&model, "width", 1, 100, &width);
 *     // tokenizer.json: model.width is -3, but must be a whole number from 1 to 100
 *     json_decref(root);
 */
#ifndef ADZI_MODELS_JSON_H
#define ADZI_MODELS_JSON_H

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "adze/base.h"

enum { MODELS_JSON_DEPTH = 64, MODELS_JSON_PATH = 120 };

/** A value in a file of JSON, and what messages say of it. It stays valid as long as the root. */
typedef struct models_json {
    const char *op;               /* the public function that reads, for messages */
    const char *file;             /* the file's path, for messages */
    const json_t *value;          /* NULL: the file has no such entry */
    char entry[MODELS_JSON_PATH]; /* "model.layers[2]"; "" for the root; its end is "..." if it is
                                     longer */
} models_json;

/** Reads a file of at most `most` bytes, nested at most MODELS_JSON_DEPTH deep and without a key
 * twice in an object. Returns a reference for json_decref; NULL with the error recorded:
 * ADZ_ERR_IO, ADZ_ERR_FORMAT or ADZ_ERR_MEMORY. */
json_t *adzi_models_json_load(const char *op, const char *path, size_t most);

/** Parses bytes by the same rules; `file` is what messages call them. */
json_t *adzi_models_json_parse(const char *op, const char *file, const char *bytes, size_t size);

/** Whether a text is UTF-8. If jansson refuses one that is, memory was refused. */
bool adzi_models_is_utf8(const char *bytes, size_t size);

/** Whether bytes are JSON, an object or a list. If jansson calls such bytes wrong, memory was
 * refused. */
bool adzi_models_is_json(const char *bytes, size_t size);

/** The root of a file. */
models_json adzi_models_json_root(const char *op, const char *file, const json_t *root);

/** A member of an object. The value is NULL, without an error, where `object` is no object or has
 * no such member. A null of JSON counts as a member. */
models_json adzi_models_json_member(const models_json *object, const char *name);

/** An element of a list; the value is NULL, without an error, where there is none. */
models_json adzi_models_json_at(const models_json *list, size_t index);

/** Records an error that begins with file and entry: "FILE: ENTRY MESSAGE". Returns the status. */
#ifdef __GNUC__
__attribute__((format(printf, 3, 4)))
#endif
adz_status
adzi_models_json_fail(const models_json *at, adz_status status, const char *format, ...);

/** Whether the value is there and an object. False with ADZ_ERR_FORMAT recorded. */
bool adzi_models_json_is_object(const models_json *at);

/** The number of elements of a list. False with ADZ_ERR_FORMAT recorded if it is no list. */
bool adzi_models_json_count(const models_json *at, size_t *count);

/* What a value holds, or what a member of an object holds. Each records ADZ_ERR_FORMAT if it is
 * missing, has another kind or lies outside the range. */

/** A text, borrowed from the root; NULL with the error recorded. */
const char *adzi_models_json_text_of(const models_json *at);
const char *adzi_models_json_text(const models_json *object, const char *name);

bool adzi_models_json_whole_of(const models_json *at, int64_t least, int64_t most, int64_t *value);
bool adzi_models_json_whole(
    const models_json *object, const char *name, int64_t least, int64_t most, int64_t *value);

/** A finite number, whole or not. */
bool adzi_models_json_number_of(const models_json *at, double *value);
bool adzi_models_json_number(const models_json *object, const char *name, double *value);

bool adzi_models_json_flag_of(const models_json *at, bool *value);
bool adzi_models_json_flag(const models_json *object, const char *name, bool *value);

/** Whether the object has only members of a list, which NULL ends. False with ADZ_ERR_UNSUPPORTED
 * recorded, which names the first other one. */
bool adzi_models_json_only(const models_json *object, const char *const *names);

#endif
