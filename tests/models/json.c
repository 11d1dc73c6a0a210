/* The reader of JSON files: kinds, ranges, paths of entries in messages, and files that are
 * refused. */
#include "json.h"

#include "errors.h"
#include "models.h"
#include "temporary.h"

static const char op[] = "reader";

static json_t *parse(const char *text)
{
    json_t *root = adzi_models_json_parse(op, "a.json", text, strlen(text));
    assert_non_null(root);
    return root;
}

static void entries_are_read_by_kind(void **state)
{
    (void)state;
    json_t *json = parse("{\"a\": {\"n\": 7, \"x\": 0.5, \"on\": true, \"list\": [1, \"two\"]}}");
    const models_json root = adzi_models_json_root(op, "a.json", json);
    const models_json a = adzi_models_json_member(&root, "a");
    const models_json list = adzi_models_json_member(&a, "list");
    const models_json second = adzi_models_json_at(&list, 1);
    int64_t n = 0;
    double x = 0;
    bool on = false;
    size_t count = 0;
    assert_true(adzi_models_json_is_object(&a));
    assert_true(adzi_models_json_whole(&a, "n", 1, 7, &n) && n == 7);
    assert_true(adzi_models_json_number(&a, "x", &x) && x == 0.5);
    assert_true(adzi_models_json_number(&a, "n", &x) && x == 7);
    assert_true(adzi_models_json_flag(&a, "on", &on) && on);
    assert_true(adzi_models_json_count(&list, &count) && count == 2);
    assert_string_equal(adzi_models_json_text_of(&second), "two");
    const models_json first = adzi_models_json_at(&list, 0);
    assert_true(adzi_models_json_whole_of(&first, 1, 1, &n) && n == 1);
    assert_true(adzi_models_json_number_of(&first, &x) && x == 1);
    assert_false(adzi_models_json_flag_of(&first, &on));
    expect_error(ADZ_ERR_FORMAT, "a.json: a.list[0] is 1, but must be true or false");
    assert_null(adzi_models_json_member(&list, "n").value);
    assert_null(adzi_models_json_at(&a, 0).value);
    json_decref(json);
}

/* The check of texts without memory agrees with jansson. */
static void texts_are_judged_as_by_jansson(void **state)
{
    static const char *const texts[] = { "{}", "[]", " [ 1 , 2 ] ", "[1,]", "[,]", "{\"a\":1,}",
        "{\"a\" : [null, true, false]}", "{\"a\"}", "{a:1}", "{\"a\":1}x", "[1", "", " ", "1",
        "[0]", "[01]", "[-0.5e+10]", "[1.]", "[.5]", "[1e]", "[+1]", "[-]", "[nul]",
        "[\"a\\n\\u00e9\"]", "[\"\\x\"]", "[\"\\u12g4\"]", "[\"\\ud83d\\ude00\"]", "[\"\\ud83d\"]",
        "[\"\\ude00\"]", "[\"\\ud83d\\u0041\"]", "[\"\n\"]", "[\"a]", "[\"\\", "[\"\xff\"]",
        "[\"\xef\xbf\xbd\"]", "[\"\xed\xa0\x80\"]", "[[[{\"\": []}]]]", "[1 2]", "{\"a\":}",
        "[\t\r\n]", "]", "{]" };
    (void)state;
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        const size_t size = strlen(texts[i]);
        json_error_t error;
        json_t *json = json_loadb(texts[i], size, 0, &error);
        if ((json != NULL) != adzi_models_is_json(texts[i], size)) {
            fail_msg("%s", texts[i]);
        }
        json_decref(json);
    }
    assert_false(adzi_models_is_json("[\"a\0\"]", 6));
}

static void other_kinds_are_errors(void **state)
{
    (void)state;
    json_t *json = parse("{\"a\": [{\"n\": -3, \"x\": \"abc\", \"on\": 1}]}");
    const models_json root = adzi_models_json_root(op, "a.json", json);
    const models_json list = adzi_models_json_member(&root, "a");
    const models_json a = adzi_models_json_at(&list, 0);
    int64_t n = 99;
    double x = 99;
    bool on;
    size_t count;
    assert_false(adzi_models_json_whole(&a, "n", 1, 7, &n));
    expect_error(ADZ_ERR_FORMAT, "a.json: a[0].n is -3, but must be a whole number from 1 to 7");
    assert_false(adzi_models_json_whole(&a, "x", 1, 7, &n));
    expect_error(ADZ_ERR_FORMAT, "a.json: a[0].x is a text, but must be a whole number");
    assert_int_equal(n, 99);
    assert_false(adzi_models_json_number(&a, "x", &x));
    expect_error(ADZ_ERR_FORMAT, "a[0].x is a text, but must be a finite number");
    assert_false(adzi_models_json_flag(&a, "on", &on));
    expect_error(ADZ_ERR_FORMAT, "a[0].on is 1, but must be true or false");
    assert_null(adzi_models_json_text(&a, "gone"));
    expect_error(ADZ_ERR_FORMAT, "a[0].gone is missing, but must be a text");
    assert_false(adzi_models_json_is_object(&list));
    expect_error(ADZ_ERR_FORMAT, "a.json: a is a list, but must be an object");
    assert_false(adzi_models_json_count(&root, &count));
    expect_error(ADZ_ERR_FORMAT, "a.json: it is an object, but must be a list");
    assert_false(adzi_models_json_only(&a, (const char *const[]){ "n", "on", NULL }));
    expect_error(ADZ_ERR_UNSUPPORTED, "a.json: a[0].x is an entry that adze does not know");
    assert_true(adzi_models_json_only(&a, (const char *const[]){ "n", "on", "x", NULL }));
    json_decref(json);
}

static void other_texts_are_refused(void **state)
{
    (void)state;
    char deep[2 * MODELS_JSON_DEPTH + 4];
    memset(deep, '[', sizeof deep);
    memset(deep + MODELS_JSON_DEPTH, ']', MODELS_JSON_DEPTH);
    json_t *json = adzi_models_json_parse(op, "a.json", deep, 2 * (size_t)MODELS_JSON_DEPTH);
    assert_non_null(json);
    json_decref(json);
    memset(deep, '[', sizeof deep);
    assert_null(adzi_models_json_parse(op, "a.json", deep, sizeof deep));
    expect_error(ADZ_ERR_FORMAT, "a.json: it nests deeper than 64 levels");
    const char *const refused[] = { "", "{", "{\"a\": 1, \"a\": 2}", "{\"a\": \"\xff\"}", "{} {}",
        "7e999" };
    for (size_t i = 0; i < sizeof refused / sizeof *refused; ++i) {
        assert_null(adzi_models_json_parse(op, "a.json", refused[i], strlen(refused[i])));
        expect_error(ADZ_ERR_FORMAT, "a.json: it is not JSON, at line 1, column");
    }
}

/* An integer beyond int64 is a real, and the other numbers of its file stay what they are. */
static void large_integers_are_reals(void **state)
{
    static const char text[] =
        "{\"a\": 1000000000000000019884624838656, \"b\": [3, {\"c\": -7, \"d\": 2.5}, -9e30]}";
    (void)state;
    json_t *root = adzi_models_json_parse(op, "a.json", text, strlen(text));
    assert_non_null(root);
    const models_json all = adzi_models_json_root(op, "a.json", root);
    const models_json list = adzi_models_json_member(&all, "b");
    const models_json three = adzi_models_json_at(&list, 0), inner = adzi_models_json_at(&list, 1);
    double number;
    int64_t whole;
    assert_true(adzi_models_json_number(&all, "a", &number) && number == 1e30);
    assert_false(adzi_models_json_whole(&all, "a", INT64_MIN, INT64_MAX, &whole));
    expect_error(ADZ_ERR_FORMAT, "a.json: a is 1e+30, but must be a whole number");
    assert_true(adzi_models_json_whole_of(&three, 3, 3, &whole));
    assert_true(adzi_models_json_whole(&inner, "c", -7, -7, &whole));
    assert_true(adzi_models_json_number(&inner, "d", &number) && number == 2.5);
    json_decref(root);
}

static void files_are_bounded(void **state)
{
    (void)state;
    char path[128];
    snprintf(path, sizeof path, "%s/file.json", temporary_folder);
    assert_null(adzi_models_json_load(op, path, 100));
    expect_error(ADZ_ERR_IO, "file.json cannot be opened: there is no such file");
    assert_null(adzi_models_json_load(op, temporary_folder, 100));
    assert_int_equal(adz_error_code(), ADZ_ERR_IO);
    adz_error_clear();
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("{\"a\": [1, 2]}", file);
    fclose(file);
    assert_null(adzi_models_json_load(op, path, 12));
    expect_error(ADZ_ERR_FORMAT, "file.json has 13 bytes, but at most 12 are read");
    json_t *json = adzi_models_json_load(op, path, 13);
    assert_non_null(json);
    json_decref(json);
}

static void memory_is_given_back(void **state)
{
    (void)state;
    char *memory = adzi_models_alloc(100);
    assert_non_null(memory);
    for (int i = 0; i < 100; ++i) {
        assert_int_equal(memory[i], 0);
    }
    adzi_models_free(memory);
    adzi_models_free(NULL);
    assert_null(adzi_models_alloc(SIZE_MAX / 2));
    expect_error(ADZ_ERR_MEMORY, "more than there can be");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(entries_are_read_by_kind),
        cmocka_unit_test(texts_are_judged_as_by_jansson),
        cmocka_unit_test(other_kinds_are_errors),
        cmocka_unit_test(other_texts_are_refused),
        cmocka_unit_test(large_integers_are_reals),
        cmocka_unit_test(files_are_bounded),
        cmocka_unit_test(memory_is_given_back),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
