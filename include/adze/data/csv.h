/**
 * @file csv.h
 * Tables of numbers from CSV files (RFC 4180).
 *
 * Fields may be quoted. Lines end in LF, CRLF or CR. A byte order mark and blank lines are skipped.
 * A first line such as "sep=;", as spreadsheets write it, chooses the delimiter. The locale does
 * not change how numbers are read. The error for a field that cannot be read names file, line and
 * column.
 *
 * @code
 * const char text[] = "width,height,price\n1,2,10\n2,3,NA\n3,4,30\n";
 * adz_csv_options options = ADZ_CSV_OPTIONS;
 * options.missing = ADZ_CSV_MISSING_DROP;
 * options.dtype = ADZ_F32;
 * adz_csv *csv = adz_csv_from_memory(text, sizeof text - 1, &options); // or adz_csv_read of a file
 * adz_dataset *data = adz_dataset_from_csv(csv, NULL, 0, "price"); // x[2, 2] and y[2, 1]
 * adz_csv_free(&csv);
 * adz_dataset_release(&data);
 * @endcode
 */
#ifndef ADZE_DATA_CSV_H
#define ADZE_DATA_CSV_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/** A table: named columns of numbers. */
typedef struct adz_csv adz_csv;

/** How a missing value is treated: an empty field, or NA, N/A, NaN, NaT, null, none, ?, 1.\#IND,
 * 1.\#QNAN, \#NA, \#N/A or \<NA\>, in upper or lower case. NaN, 1.\#IND and 1.\#QNAN may have a
 * minus. */
typedef enum adz_csv_missing {
    ADZ_CSV_MISSING_ERROR = 0, /**< it is an error */
    ADZ_CSV_MISSING_NAN = 1,   /**< it becomes NaN */
    ADZ_CSV_MISSING_DROP = 2   /**< its row is left out */
} adz_csv_missing;

/** Options of adz_csv_read and adz_csv_from_memory. Start from ADZ_CSV_OPTIONS. */
typedef struct adz_csv_options {
    size_t size;                /**< sizeof(adz_csv_options) */
    char delimiter;             /**< the character between two fields; ',' */
    bool header;                /**< whether the first line names the columns; true. Otherwise the
                                   columns are named "0", "1", ... */
    adz_csv_missing missing;    /**< how a missing value is treated; ADZ_CSV_MISSING_ERROR */
    adz_dtype dtype;            /**< dtype of the values, ADZ_F64 or ADZ_F32; ADZ_F64 */
    const char *const *columns; /**< names of the columns to read, in the order wanted; other
                                   columns may hold anything; NULL for all */
    size_t n_columns;           /**< number of names in `columns`; 0 for all */
    char decimal;               /**< between the whole number and its fraction, '.' or ','; '.' */
    char thousands;             /**< between groups of three digits: '.', ',', ' ', '\'' or '_'; 0,
                                   the default, for none. A space stands for U+00A0 and U+202F too.
                                   Groups of other lengths are no numbers */
    char comment; /**< what follows it on a line is left out, except in quotes, such as
                     '#' or '%'; 0, the default, for none */
} adz_csv_options;

/** The defaults. */
#define ADZ_CSV_OPTIONS                                                                      \
    {                                                                                        \
        ADZ_MEMBER(size, sizeof(adz_csv_options)), ADZ_MEMBER(delimiter, ','),               \
            ADZ_MEMBER(header, true), ADZ_MEMBER(missing, ADZ_CSV_MISSING_ERROR),            \
            ADZ_MEMBER(dtype, ADZ_F64), ADZ_MEMBER(columns, NULL), ADZ_MEMBER(n_columns, 0), \
            ADZ_MEMBER(decimal, '.'), ADZ_MEMBER(thousands, 0), ADZ_MEMBER(comment, 0)       \
    }

/**
 * Fills options with the defaults.
 *
 * @param options  filled
 * @param size     sizeof(adz_csv_options) as the caller knows it
 */
ADZ_API void adz_csv_options_init(adz_csv_options *options, size_t size);

/**
 * Reads a table from a file.
 *
 * @param path     the file
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_csv_free; or NULL
 * @errors         ADZ_ERR_IO; ADZ_ERR_FORMAT (a field that is no number, a missing value, a row of
 *                 another length, an open quote, no such column); ADZ_ERR_ARGUMENT (an option);
 *                 ADZ_ERR_MEMORY
 * @see            pandas.read_csv
 */
ADZ_API adz_csv *adz_csv_read(const char *path, const adz_csv_options *options);

/**
 * Reads a table from memory.
 *
 * @param text     the whole table
 * @param size     bytes of text
 * @param options  NULL for the defaults
 * @return         yours, end it with adz_csv_free; or NULL
 * @errors         ADZ_ERR_NULL; ADZ_ERR_FORMAT (a field that is no number, a missing value, a row
 *                 of another length, an open quote, no such column); ADZ_ERR_ARGUMENT (an option);
 *                 ADZ_ERR_MEMORY
 */
ADZ_API adz_csv *adz_csv_from_memory(const char *text, size_t size, const adz_csv_options *options);

/**
 * Ends a table. Its tensor lives on if somebody keeps it.
 *
 * @param csv  address of the pointer, which becomes NULL; a NULL inside is left alone
 */
ADZ_API void adz_csv_free(adz_csv **csv);

/**
 * The values of a table.
 *
 * @param csv  a table
 * @return     x[rows, columns] in the dtype that was asked for, borrowed from the table; NULL with
 *             ADZ_ERR_NULL
 */
ADZ_API adz_tensor *adz_csv_values(const adz_csv *csv);

/**
 * The number of rows that were read.
 *
 * @param csv  a table
 * @return     0 or more, without header, blank and dropped lines; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_csv_row_count(const adz_csv *csv);

/**
 * The number of columns that were read.
 *
 * @param csv  a table
 * @return     1 or more; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_csv_column_count(const adz_csv *csv);

/**
 * The number of rows that were left out because a value was missing.
 *
 * @param csv  a table
 * @return     0 or more; -1 with ADZ_ERR_NULL recorded
 */
ADZ_API int64_t adz_csv_dropped_count(const adz_csv *csv);

/**
 * The name of a column.
 *
 * @param csv     a table
 * @param column  0 .. columns-1
 * @return        owned by the table; NULL with ADZ_ERR_NULL or ADZ_ERR_INDEX
 */
ADZ_API const char *adz_csv_name_at(const adz_csv *csv, int64_t column);

/**
 * The index of a column.
 *
 * @param csv   a table
 * @param name  its name
 * @return      0 .. columns-1; -1 with ADZ_ERR_NULL or ADZ_ERR_ARGUMENT (several columns have the
 *              name, or none; the message then lists the columns)
 */
ADZ_API int64_t adz_csv_index(const adz_csv *csv, const char *name);

/**
 * Copies some columns of a table, in the order wanted. Use it for features, or for a target.
 *
 * @param csv    a table
 * @param names  n names
 * @param n      1 or more
 * @return       x[rows, n], borrowed from the scope; NULL with ADZ_ERR_NULL, ADZ_ERR_ARGUMENT (n is
 *               0, no such column, several of one name) or ADZ_ERR_MEMORY
 */
ADZ_API adz_tensor *adz_csv_select(const adz_csv *csv, const char *const *names, size_t n);

#ifdef __cplusplus
}
#endif

#endif
