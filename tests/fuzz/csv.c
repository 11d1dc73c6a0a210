#include "adze/data/csv.h"

#include "check.h"

/* The first byte chooses the options, the rest is the table. */
static adz_csv *read_as(uint8_t how, const uint8_t *text, size_t size)
{
    static const char delimiters[] = { ',', ';', '\t', ' ' };
    static const char *const columns[] = { "b", "a" };
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.delimiter = delimiters[how % 4];
    o.header = how / 4 % 2 == 0;
    o.missing = (adz_csv_missing)(how / 8 % 3);
    o.dtype = how / 24 % 2 == 0 ? ADZ_F64 : ADZ_F32;
    o.columns = how / 48 % 2 == 0 ? NULL : columns;
    o.n_columns = 2;
    if (how / 96 % 2 != 0) {
        o.decimal = ',';
        o.thousands = '.';
        o.comment = '#';
    }
    return adz_csv_from_memory((const char *)text, size, &o);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    int64_t tensors = adzi_live_tensors();
    if (size == 0) {
        return 0;
    }
    adz_csv *csv = read_as(bytes[0], bytes + 1, size - 1);
    if (csv == NULL) {
        must_have_failed();
    } else {
        adz_tensor *values = adz_csv_values(csv);
        MUST(adz_tensor_numel(values) == adz_csv_row_count(csv) * adz_csv_column_count(csv));
        for (int64_t i = 0; i < adz_csv_column_count(csv); ++i) {
            MUST(adz_csv_name_at(csv, i) != NULL);
        }
        adz_csv_free(&csv);
    }
    MUST(adzi_live_tensors() == tensors);
    return 0;
}
