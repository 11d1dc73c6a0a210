/* Files of JSON with errors that name file and entry. */
#include "json.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "models.h"

/* ---- the file ------------------------------------------------------------------------------- */

/* Whether the text nests deeper than MODELS_JSON_DEPTH. It is checked before jansson parses it,
 * because jansson recurses for each level. */
static bool nests_too_deep(const char *text, size_t size)
{
    int depth = 0;
    bool quoted = false;
    for (size_t i = 0; i < size; ++i) {
        const char c = text[i];
        if (quoted) {
            i += c == '\\' ? 1u : 0u;
            quoted = c != '"';
        } else if (c == '"') {
            quoted = true;
        } else if (c == '{' || c == '[') {
            if (++depth > MODELS_JSON_DEPTH) {
                return true;
            }
        } else if (c == '}' || c == ']') {
            --depth;
        }
    }
    return false;
}

/* A number that was read as a real, as an integer if it is one that int64 has. */
static json_t *whole_again(const json_t *value)
{
    const double x = json_real_value(value);
    return json_is_real(value) && fabs(x) <= 0x1p53 && x == floor(x) ? json_integer((json_int_t)x)
                                                                     : NULL;
}

/* Makes integers of all whole reals in a value, which nests at most MODELS_JSON_DEPTH deep. False
 * if memory was refused. */
static bool make_whole(json_t *value)
{
    const char *key;
    json_t *inner;
    size_t i;
    json_object_foreach(value, key, inner)
    {
        json_t *whole = whole_again(inner);
        if (whole != NULL ? json_object_set_new(value, key, whole) != 0 : !make_whole(inner)) {
            return false;
        }
    }
    json_array_foreach(value, i, inner)
    {
        json_t *whole = whole_again(inner);
        if (whole != NULL ? json_array_set_new(value, i, whole) != 0 : !make_whole(inner)) {
            return false;
        }
    }
    return true;
}

/* jansson refuses an integer beyond int64, such as the 10^30 by which transformers says that a
 * length has no limit. Such a file is read with reals, and all others of its numbers that are whole
 * become integers again. NULL if that fails, too; then `error` says why, or nothing if memory was
 * refused. */
static json_t *parse_large(const char *bytes, size_t size, json_error_t *error)
{
    *error = (json_error_t){ .text = "" };
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, error);
    if (root != NULL && !make_whole(root)) {
        json_decref(root);
        return NULL;
    }
    return root;
}

json_t *adzi_models_json_parse(const char *op, const char *file, const char *bytes, size_t size)
{
    bytes = size > 0 ? bytes : ""; /* an empty file may have no bytes */
    if (nests_too_deep(bytes, size)) {
        return models_fail(
            op, ADZ_ERR_FORMAT, "%s: it nests deeper than %d levels", file, (int)MODELS_JSON_DEPTH);
    }
    json_error_t error = { .text = "" }; /* jansson leaves it where it is refused memory */
    json_t *root = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, &error);
    if (root != NULL) {
        return root;
    }
    if (json_error_code(&error) == json_error_numeric_overflow &&
        (root = parse_large(bytes, size, &error)) != NULL) {
        return root;
    }
    const enum json_error_code code = json_error_code(&error);
    const bool wrong_text =
        code == json_error_invalid_syntax || code == json_error_premature_end_of_input;
    if (code == json_error_out_of_memory || code == json_error_unknown ||
        (wrong_text && adzi_models_is_json(bytes, size))) {
        return models_fail(op, ADZ_ERR_MEMORY, "%s: memory for its JSON was refused", file);
    }
    for (char *c = error.text; *c != '\0'; ++c) {
        *c = (unsigned char)*c < ' ' || (unsigned char)*c > '~' ? '?' : *c;
    }
    return models_fail(op, ADZ_ERR_FORMAT, "%s: it is not JSON, at line %d, column %d: %s", file,
        error.line, error.column, error.text);
}

/* Reads the whole file to memory of the innermost scope. */
static char *read_bytes(const char *op, const char *path, FILE *stream, size_t most, size_t *size)
{
    long end = -1;
    if (fseek(stream, 0, SEEK_END) == 0) {
        end = ftell(stream);
    }
    if (end < 0 || end == LONG_MAX || fseek(stream, 0, SEEK_SET) != 0) {
        return models_fail(op, ADZ_ERR_IO, "%s cannot be read", path);
    }
    if ((unsigned long)end > most) {
        return models_fail(
            op, ADZ_ERR_FORMAT, "%s has %ld bytes, but at most %zu are read", path, end, most);
    }
    char *bytes = adzi_models_scratch((size_t)end + 1);
    if (bytes == NULL) {
        return NULL;
    }
    *size = fread(bytes, 1, (size_t)end, stream);
    if (ferror(stream) || *size != (size_t)end) {
        return models_fail(op, ADZ_ERR_IO, "%s cannot be read to its end", path);
    }
    return bytes;
}

json_t *adzi_models_json_load(const char *op, const char *path, size_t most)
{
    FILE *stream = fopen(path, "rb");
    if (stream == NULL) {
        return models_fail(op, ADZ_ERR_IO, "%s cannot be opened: %s", path,
            errno == ENOENT ? "there is no such file" : "the system refuses");
    }
    adz_scope *scope = adz_scope_open();
    size_t size = 0;
    char *bytes = scope != NULL ? read_bytes(op, path, stream, most, &size) : NULL;
    json_t *root = bytes != NULL ? adzi_models_json_parse(op, path, bytes, size) : NULL;
    adz_scope_close(scope);
    fclose(stream);
    return root;
}

/* ---- entries -------------------------------------------------------------------------------- */

models_json adzi_models_json_root(const char *op, const char *file, const json_t *root)
{
    return (models_json){ .op = op, .file = file, .value = root };
}

/* Writes the path of an entry, in which bytes that a terminal would obey become "?". */
static void write_entry(models_json *to, const char *parent, const char *between, const char *name)
{
    const int length = snprintf(to->entry, sizeof to->entry, "%s%s%s", parent, between, name);
    if (length >= (int)sizeof to->entry) {
        memcpy(to->entry + sizeof to->entry - 4, "...", 4);
    }
    for (char *c = to->entry; *c != '\0'; ++c) {
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
    }
}

models_json adzi_models_json_member(const models_json *object, const char *name)
{
    models_json member = { object->op, object->file, json_object_get(object->value, name), "" };
    write_entry(&member, object->entry, object->entry[0] != '\0' ? "." : "", name);
    return member;
}

models_json adzi_models_json_at(const models_json *list, size_t index)
{
    models_json element = { list->op, list->file, json_array_get(list->value, index), "" };
    char name[32];
    snprintf(name, sizeof name, "[%zu]", index);
    write_entry(&element, list->entry, "", name);
    return element;
}

adz_status adzi_models_json_fail(const models_json *at, adz_status status, const char *format, ...)
{
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return adz_error_format(
        at->op, status, "%s: %s %s", at->file, at->entry[0] != '\0' ? at->entry : "it", text);
}

/* What a value is, for messages: "a text", "null", or the number itself. */
static const char *shown(const models_json *at)
{
    if (at->value == NULL) {
        return "missing";
    }
    switch (json_typeof(at->value)) {
    case JSON_OBJECT:
        return "an object";
    case JSON_ARRAY:
        return "a list";
    case JSON_STRING:
        return "a text";
    case JSON_TRUE:
        return "true";
    case JSON_FALSE:
        return "false";
    case JSON_NULL:
        return "null";
    default:
        return adz_text_number(json_number_value(at->value));
    }
}

static bool wrong(const models_json *at, const char *what)
{
    adzi_models_json_fail(at, ADZ_ERR_FORMAT, "is %s, but must be %s", shown(at), what);
    return false;
}

bool adzi_models_json_is_object(const models_json *at)
{
    return json_is_object(at->value) || wrong(at, "an object");
}

bool adzi_models_json_count(const models_json *at, size_t *count)
{
    *count = json_array_size(at->value);
    return json_is_array(at->value) || wrong(at, "a list");
}

const char *adzi_models_json_text_of(const models_json *at)
{
    return json_is_string(at->value) || wrong(at, "a text") ? json_string_value(at->value) : NULL;
}

bool adzi_models_json_whole_of(const models_json *at, int64_t least, int64_t most, int64_t *value)
{
    const int64_t n = json_integer_value(at->value);
    if (!json_is_integer(at->value) || n < least || n > most) {
        char what[96];
        snprintf(what, sizeof what, "a whole number from %lld to %lld", (long long)least,
            (long long)most);
        return wrong(at, what);
    }
    *value = n;
    return true;
}

bool adzi_models_json_number_of(const models_json *at, double *value)
{
    const double x = json_number_value(at->value);
    if (!json_is_number(at->value) || !isfinite(x)) {
        return wrong(at, "a finite number");
    }
    *value = x;
    return true;
}

bool adzi_models_json_flag_of(const models_json *at, bool *value)
{
    *value = json_is_true(at->value);
    return json_is_boolean(at->value) || wrong(at, "true or false");
}

/* ---- members -------------------------------------------------------------------------------- */

const char *adzi_models_json_text(const models_json *object, const char *name)
{
    const models_json member = adzi_models_json_member(object, name);
    return adzi_models_json_text_of(&member);
}

bool adzi_models_json_whole(
    const models_json *object, const char *name, int64_t least, int64_t most, int64_t *value)
{
    const models_json member = adzi_models_json_member(object, name);
    return adzi_models_json_whole_of(&member, least, most, value);
}

bool adzi_models_json_number(const models_json *object, const char *name, double *value)
{
    const models_json member = adzi_models_json_member(object, name);
    return adzi_models_json_number_of(&member, value);
}

bool adzi_models_json_flag(const models_json *object, const char *name, bool *value)
{
    const models_json member = adzi_models_json_member(object, name);
    return adzi_models_json_flag_of(&member, value);
}

static bool listed(const char *const *names, const char *name)
{
    for (; *names != NULL; ++names) {
        if (strcmp(*names, name) == 0) {
            return true;
        }
    }
    return false;
}

bool adzi_models_json_only(const models_json *object, const char *const *names)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object->value, key, value)
    {
        if (!listed(names, key)) {
            const models_json member = adzi_models_json_member(object, key);
            adzi_models_json_fail(
                &member, ADZ_ERR_UNSUPPORTED, "is an entry that adze does not know");
            return false;
        }
    }
    return true;
}
