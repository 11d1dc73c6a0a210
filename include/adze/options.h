/**
 * @file options.h
 * Structs of options, for a library of modules on top of adze. Each begins with its size, and grows
 * at its end. A program that was compiled with another version of a header may then pass a struct
 * that is shorter or longer than the one that the function knows.
 *
 *     typedef struct my_options {
 *         size_t size;  // sizeof(my_options)
 *         double slope; // 0 or more; 0.01
 *     } my_options;
 *     #define MY_OPTIONS { .size = sizeof(my_options), .slope = 0.01 }
 *
 * A table of fields says what the options are. From it come the defaults, the function
 * my_options_init(options, size), which fills them, and the checks.
 *
 *     static const adz_field fields[] = {
 *         ADZ_FIELD(my_options, slope, .value = 0.01, ADZ_AT_LEAST(0)),
 *     };
 *     ADZ_OPTIONS_TABLE(my_options, MY_OPTIONS, fields)
 *
 *     adz_module *my_layer_new(const my_options *options) // NULL: the defaults
 *     {
 *         my_options o;
 *         if (!adz_options_take("my_layer_new", &my_options_table, &o, options)) {
 *             return NULL; // slope is -1, but must be 0 or more
 *         }
 *
 * The table may also be that of a struct that begins with the options, such as a module's state.
 * Its further fields are the arguments of the call. They are filled before adz_options_take, which
 * checks them too. The module's type then prints the whole state (adz_module_type.fields).
 */
#ifndef ADZE_OPTIONS_H
#define ADZE_OPTIONS_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "adze/fields.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Copies the caller's struct over the defaults. Fields that the caller's struct does not have keep
 * their defaults.
 *
 * @param op       the function that has the options, for the message
 * @param start    the macro that fills such a struct, "ADZ_SGD_OPTIONS", for the message
 * @param all      the defaults, which are overwritten
 * @param size     sizeof *all
 * @param options  the caller's struct, which begins with its own size; NULL changes nothing
 * @return         false with ADZ_ERR_ARGUMENT recorded if the struct's size is smaller than the
 *                 field that holds it, as in a struct that was not filled; `all` is unchanged then
 */
static inline bool adz_options_read(
    const char *op, const char *start, void *all, size_t size, const void *options)
{
    size_t given = size;
    char text[256];
    if (options == NULL) {
        return true;
    }
    memcpy(&given, options, sizeof given);
    if (given < sizeof given) {
        snprintf(text, sizeof text,
            "the struct's size is %zu, so none of its fields would be read; begin with %s, which sets the size and the defaults, and change fields after that",
            given, start);
        adz_error_set(op, ADZ_ERR_ARGUMENT, text);
        return false;
    }
    memcpy(all, options, given < size ? given : size);
    return true;
}

/**
 * Fills the caller's struct with the defaults, and writes its size into its first field.
 *
 * @param op        the function that fills, for the message
 * @param options   the caller's struct, filled
 * @param size      its size as the caller knows it
 * @param all       the defaults
 * @param all_size  sizeof *all
 * @return          ADZ_OK, ADZ_ERR_NULL (no struct) or ADZ_ERR_ARGUMENT (it has no room for its
 *                  size)
 */
static inline adz_status adz_options_fill(
    const char *op, void *options, size_t size, const void *all, size_t all_size)
{
    char text[128];
    if (options == NULL) {
        return adz_error_set(op, ADZ_ERR_NULL, "the struct to fill is NULL");
    }
    if (size < sizeof size) {
        snprintf(text, sizeof text,
            "size is %zu; hand over sizeof of the struct that is to be filled", size);
        return adz_error_set(op, ADZ_ERR_ARGUMENT, text);
    }
    memset(options, 0, size);
    memcpy(options, all, size < all_size ? size : all_size);
    memcpy(options, &size, sizeof size);
    return ADZ_OK;
}

/** Defines the function that fills an option struct with its defaults. */
#define ADZ_OPTIONS_INIT(function, type, DEFAULTS)                              \
    void function(type *options, size_t size)                                   \
    {                                                                           \
        const type defaults = DEFAULTS;                                         \
        adz_options_fill(#function, options, size, &defaults, sizeof defaults); \
    }

/** Calls adz_options_read. `all` points to a struct that was initialised with DEFAULTS. */
#define ADZ_OPTIONS_READ(op, DEFAULTS, all, options) \
    adz_options_read((op), #DEFAULTS, (all), sizeof *(all), (options))

/** A struct of options, or a struct that begins with one. */
typedef struct adz_options_table {
    const char *start;       /**< the macro that fills the options, "MY_OPTIONS", for messages */
    size_t size;             /**< sizeof of the options alone; they begin with their size */
    const adz_field *fields; /**< what the options consist of. Fields without a row are zero by
                                  default. Rows behind the options describe arguments */
    size_t n_fields;         /**< rows of fields; a row without a name ends the table earlier */
} adz_options_table;

/**
 * Reads options: fills the defaults, copies the caller's struct over them, and checks all fields.
 * Fields that the caller's struct does not have keep their defaults.
 *
 * @param op       the function that has the options, for messages
 * @param table    describes the options, and arguments behind them
 * @param all      the first table->size bytes are written; arguments behind them are checked
 * @param options  the caller's struct, which begins with its own size; NULL: the defaults, which
 *                 are not checked
 * @return         false with an error recorded: ADZ_ERR_ARGUMENT for a struct that was not filled,
 *                 or the error of adz_fields_check
 */
ADZ_API bool adz_options_take(
    const char *op, const adz_options_table *table, void *all, const void *options);

/**
 * Fills the caller's struct with the defaults of a table, and writes its size into its first field.
 *
 * @param op       the function that fills, for messages
 * @param table    describes the options
 * @param options  the caller's struct, filled
 * @param size     its size as the caller knows it
 * @return         ADZ_OK, ADZ_ERR_NULL (no struct) or ADZ_ERR_ARGUMENT (it has no room for its
 *                 size, or a default is outside its own bounds)
 */
ADZ_API adz_status adz_options_defaults(
    const char *op, const adz_options_table *table, void *options, size_t size);

/**
 * Defines the table of a struct of options, TYPE_table, and the function TYPE_init(options,
 * size), which fills the struct with its defaults.
 *
 * @param type      the struct
 * @param DEFAULTS  the macro that fills it
 * @param rows      an array of adz_field
 */
#define ADZ_OPTIONS_TABLE(type, DEFAULTS, rows)                                      \
    static const adz_options_table type##_table = { #DEFAULTS, sizeof(type), (rows), \
        sizeof(rows) / sizeof *(rows) };                                             \
    void type##_init(type *options, size_t size)                                     \
    {                                                                                \
        adz_options_defaults(#type "_init", &type##_table, options, size);           \
    }

#ifdef __cplusplus
}
#endif

#endif
