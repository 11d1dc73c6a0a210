/* Arrays that grow before an element is appended, and texts that grow. */
#include "../nn.h"
#include "base/text.h"

/* ---- arrays --------------------------------------------------------------------------------- */

/* Elements stay when the array moves, and a full array does not move as long as nothing is added.
 */
static void elements_stay(void **state)
{
    (void)state;
    int *list = NULL;
    size_t capacity = 0;
    const int64_t live = adzi_live_bytes();
    for (int i = 0; i < 1000; ++i) {
        assert_true(adzi_grow(&list, &capacity, (size_t)i + 1, sizeof *list));
        assert_true(capacity > (size_t)i);
        list[i] = 7 * i;
    }
    for (int i = 0; i < 1000; ++i) {
        assert_int_equal(list[i], 7 * i);
    }
    const int *before = list;
    const size_t room = capacity;
    assert_true(adzi_grow(&list, &capacity, capacity, sizeof *list));
    assert_true(list == before && capacity == room);
    assert_true(adzi_grow(&list, &capacity, 3 * room, sizeof *list)); /* a jump */
    assert_true(capacity >= 3 * room && list[999] == 7 * 999);
    adzi_free(list, capacity * sizeof *list);
    assert_true(adzi_live_bytes() == live);
}

/* More bytes than a size_t can count are refused, and nothing changes. */
static void too_many_elements_are_refused(void **state)
{
    (void)state;
    int64_t *list = NULL;
    size_t capacity = 0;
    assert_true(adzi_grow(&list, &capacity, 3, sizeof *list));
    const int64_t *before = list;
    const size_t room = capacity;
    static const size_t wanted[] = { SIZE_MAX / 8 + 2, SIZE_MAX / 4, SIZE_MAX };
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; ++i) {
        assert_false(adzi_grow(&list, &capacity, wanted[i], sizeof *list));
        assert_true(list == before && capacity == room);
    }
    adzi_free(list, capacity * sizeof *list);
}

static void strings_are_copied(void **state)
{
    (void)state;
    const int64_t before = adzi_live_bytes();
    char *copy = adzi_string_copy("a name"), *empty = adzi_string_copy("");
    assert_string_equal(copy, "a name");
    assert_string_equal(empty, "");
    adzi_string_free(copy);
    adzi_string_free(empty);
    adzi_string_free(NULL);
    assert_true(adzi_live_bytes() == before);
}

/* ---- texts ---------------------------------------------------------------------------------- */

static void texts_are_built_up(void **state)
{
    (void)state;
    adzi_text text = { 0 };
    adzi_text_cut(&text, 0);
    assert_string_equal(adzi_text_get(&text), "");
    for (int round = 0; round < 2; ++round) { /* a freed text can be used again */
        adzi_text_add(&text, "layer");
        adzi_text_add_n(&text, ".weights", 7);
        adzi_text_format(&text, "[%d, %s]", 12, "x");
        adzi_text_format(&text, "%s", "");
        assert_string_equal(adzi_text_get(&text), "layer.weight[12, x]");
        assert_int_equal(text.length, 19);
        adzi_text_cut(&text, 40);
        assert_int_equal(text.length, 19);
        adzi_text_cut(&text, 5);
        assert_string_equal(adzi_text_get(&text), "layer");
        adzi_text_format(&text, "%0200d", 1);
        assert_int_equal(strlen(adzi_text_get(&text)), 205);
        adzi_text_free(&text);
        assert_true(text.length == 0 && text.capacity == 0 && !text.failed);
        assert_string_equal(adzi_text_get(&text), "");
    }
}

/* After memory was refused, the text stays as it was. */
static void refused_parts_leave_the_text(void **state)
{
    (void)state;
    adzi_text text = { 0 };
    adzi_text_add(&text, "short");
    char more[400];
    memset(more, 'm', sizeof more);
    adzi_alloc_fail_at(1);
    adzi_text_add_n(&text, more, sizeof more);
    adzi_alloc_fail_at(0);
    assert_true(text.failed);
    adzi_text_add(&text, "er");
    adzi_text_format(&text, "%d", 1);
    assert_string_equal(adzi_text_get(&text), "short");
    adzi_text_free(&text);
}

static void numbers_look_like_pythons(void **state)
{
    (void)state;
    assert_string_equal(adzi_text_float(0.5), "0.5");
    assert_string_equal(adzi_text_float(1), "1.0");
    assert_string_equal(adzi_text_float(-20), "-20.0");
    assert_string_equal(adzi_text_float(1e-5), "1e-05");
    assert_string_equal(adzi_text_float(NAN), "nan");
    assert_string_equal(adzi_text_float(-INFINITY), "-inf");
    assert_string_equal(adzi_text_bool(true), "True");
    assert_string_equal(adzi_text_bool(false), "False");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(elements_stay),
        TEST(too_many_elements_are_refused),
        TEST(strings_are_copied),
        TEST(texts_are_built_up),
        TEST(refused_parts_leave_the_text),
        TEST(numbers_look_like_pythons),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
