/* What savers and loaders share: sinks, sources, and texts from outside in messages. */
#include <errno.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "base/sink.h"
#include "base/source.h"
#include "calls.h"
#include "savers.h"
#include "tests.h"

/* ---- sinks ---------------------------------------------------------------------------------- */

static void memory_has_its_size(void **state)
{
    (void)state;
    adzi_sink sink;
    char memory[8] = "-------";
    adzi_sink_memory(&sink, "test", memory, 5);
    assert_int_equal(adzi_sink_write(&sink, "abc", 3), ADZ_OK);
    assert_int_equal(adzi_sink_write(&sink, "xyz", 3), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "test: more bytes than were announced");
    assert_int_equal(adzi_sink_write(&sink, "de", 2), ADZ_OK);
    assert_int_equal(adzi_sink_write(&sink, "x", 1), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "more bytes");
    assert_string_equal(memory, "abcde--");
}

static void items_get_the_order_that_is_asked_for(void **state)
{
    (void)state;
    enum { ITEMS = 1000 };
    static uint32_t items[ITEMS], swapped[ITEMS], written[ITEMS];
    for (uint32_t i = 0; i < ITEMS; ++i) {
        items[i] = swapped[i] = 0x01020304u * (i % 60 + 1) + (i << 26);
    }
    adzi_swap_bytes(swapped, ITEMS, sizeof *swapped);
    for (int big = 0; big < 2; ++big) {
        adzi_sink sink;
        adzi_sink_memory(&sink, "test", written, sizeof written);
        assert_int_equal(
            adzi_sink_items(&sink, (const char *)items, sizeof items, sizeof *items, big), ADZ_OK);
        assert_int_equal(sink.left, 0);
        assert_memory_equal(
            written, big == adzi_host_is_big_endian() ? items : swapped, sizeof written);
    }
}

static void small_parts_are_written_together(void **state)
{
    (void)state;
    adz_safetensors *file = adz_safetensors_new();
    for (char name[2] = "a"; name[0] < 'k'; ++name[0]) {
        assert_int_equal(adz_safetensors_add(file, name, adz_ones(ADZ_SHAPE(3), ADZ_F64)), ADZ_OK);
    }
    trace();
    assert_int_equal(adz_safetensors_save(file, temporary_path("kept")), ADZ_OK);
    assert_true(n_noted == 4 && noted[0].call == WRITE && noted[1].call == SYNC);
    adz_safetensors_free(&file);
    temporary_files(true);
}

/* A device may get descriptor 0 as well. */
static void a_device_may_be_the_first_file(void **state)
{
    (void)state;
    const char *device = device_path("null");
    if (device == NULL) {
        skip();
    }
    int input = dup(0);
    close(0);
    adz_status status = save_npy(device);
    dup2(input, 0);
    close(input);
    assert_int_equal(status, ADZ_OK);
    temporary_files(true);
}

/* ---- sources -------------------------------------------------------------------------------- */

/* The lowest descriptor that is free. */
static int free_descriptor(void)
{
    int fd = open(".", O_RDONLY | O_DIRECTORY);
    assert_true(fd >= 0);
    close(fd);
    return fd;
}

/* An errno that another call left behind does not make the library open a file twice. */
static void files_are_opened_once_and_closed(void **state)
{
    (void)state;
    assert_int_equal(save_npy(temporary_path("kept")), ADZ_OK);
    int input = dup(0);
    close(0);
    errno = EINTR;
    adz_tensor *back = adz_npy_load(temporary_path("kept"));
    int free_now = free_descriptor();
    dup2(input, 0);
    close(input);
    assert_non_null(back);
    assert_int_equal(free_now, 0);
    temporary_files(true);
}

static void what_cannot_be_read_is_closed(void **state)
{
    (void)state;
    int before = free_descriptor();
    assert_null(adz_npy_load(temporary_path(".")));
    expect_error(ADZ_ERR_IO, "/.: cannot be read: Is a directory");
    assert_int_equal(free_descriptor(), before);
}

/* The files of /proc have contents although their size is 0. */
static void the_size_may_be_unknown(void **state)
{
    (void)state;
    adzi_source source;
    assert_int_equal(adzi_source_open("test", "/proc/filesystems", &source), ADZ_OK);
    assert_true(source.bytes != NULL && source.size > 10);
    adzi_source_close(&source);
}

/* Writes a pipe in two parts, so that a read may take only some of the bytes that it asks for. */
static void write_in_parts(const char *path, const char *bytes, size_t n)
{
    int fd = open(path, O_WRONLY);
    bool good = write(fd, bytes, 5) == 5;
    usleep(10000);
    for (size_t done = 5; done < n && good;) {
        ssize_t part = write(fd, bytes + done, n - done);
        good = part > 0;
        done += good ? (size_t)part : 0;
    }
    _exit(good ? 0 : 1);
}

static void a_pipe_is_read_once(void **state)
{
    (void)state;
    enum { SIZE = 300000 };
    static char written[SIZE];
    for (size_t i = 0; i < SIZE; ++i) {
        written[i] = (char)(i * i % 251);
    }
    adzi_source source;
    int64_t live = adzi_live_bytes();
    assert_int_equal(mkfifo(temporary_path("pipe"), 0600), 0);
    pid_t child = fork();
    if (child == 0) {
        write_in_parts(temporary_path("pipe"), written, SIZE);
    }
    assert_int_equal(adzi_source_open("test", temporary_path("pipe"), &source), ADZ_OK);
    const unsigned char *bytes = source.bytes;
    assert_int_equal(adzi_source_fill("test", &source), ADZ_OK);
    assert_true(source.bytes == bytes && source.size == SIZE);
    assert_memory_equal(bytes, written, SIZE);
    adzi_source_close(&source);
    assert_true(source.bytes == NULL && source.size == 0 && source.fd == -1);
    adzi_source_close(&source); /* Nothing is left to close. */
    int result = 1;
    assert_int_equal(waitpid(child, &result, 0), child);
    assert_int_equal(result, 0);
    assert_true(adzi_live_bytes() == live);
    temporary_files(true);
}

static void a_file_that_becomes_shorter_is_said(void **state)
{
    (void)state;
    adzi_source source;
    int64_t live = adzi_live_bytes();
    const char *path = temporary_path("kept");
    for (int left = 0; left < 5; ++left) {
        write_file(path, "abcde", 5);
        assert_int_equal(adzi_source_open("test", path, &source), ADZ_OK);
        assert_int_equal(truncate(path, left), 0);
        assert_int_equal(adzi_source_fill("test", &source), ADZ_ERR_IO);
        expect_error(ADZ_ERR_IO, "kept: it became shorter while it was read");
        assert_null(source.bytes);
        adzi_source_close(&source);
    }
    assert_true(adzi_live_bytes() == live);
    temporary_files(true);
}

static adz_status open_stream(void *user)
{
    (void)user;
    adzi_source source;
    adz_status status = adzi_source_open("test", "/proc/filesystems", &source);
    adzi_source_close(&source);
    return status;
}

static void streams_are_refused_memory(void **state)
{
    (void)state;
    assert_true(refuse_each(open_stream, NULL, NULL) >= 1);
}

static void a_read_that_fails_is_said(void **state)
{
    (void)state;
    char to[5];
    adzi_source source = { .name = "gone", .size = 5, .fd = -1 };
    assert_int_equal(adzi_source_read("test", &source, 0, to, 5), ADZ_ERR_IO);
    expect_error(ADZ_ERR_IO, "test: gone: cannot be read: Bad file descriptor");
}

/* ---- texts ---------------------------------------------------------------------------------- */

/* The first 48 and the last 80 bytes of a long text are shown. */
static void long_texts_are_shortened(void **state)
{
    (void)state;
    char text[201], expected[136];
    adzi_shown shown;
    for (size_t i = 0; i < 200; ++i) {
        text[i] = (char)('!' + i % 90);
    }
    text[200] = '\0';
    for (size_t n = 0; n <= 200; ++n) {
        if (n <= 128) {
            snprintf(expected, sizeof expected, "%.*s", (int)n, text);
        } else {
            snprintf(expected, sizeof expected, "%.48s...%.80s", text, text + n - 80);
        }
        assert_string_equal(adzi_show_bytes(&shown, text, n), expected);
    }
    assert_string_equal(adzi_show(&shown, "a\tb\n\x1f \x7f~"), "a?b?? ?~");
}

/* A character of several bytes is shown as a whole or not at all. */
static void characters_are_not_cut(void **state)
{
    (void)state;
    char text[161], expected[136];
    adzi_shown shown;
    for (size_t at = 44; at < 50; ++at) {
        memset(text, 'x', 160);
        text[160] = '\0';
        memcpy(text + at, "\xe2\x82\xac", 3);      /* a character across the end of the head */
        memcpy(text + at + 32, "\xe2\x82\xac", 3); /* and one across the beginning of the tail */
        size_t head = at < 48 && at + 3 > 48 ? at : 48;
        size_t tail = at + 32 < 80 && at + 35 > 80 ? at + 35 : 80;
        snprintf(expected, sizeof expected, "%.*s...%s", (int)head, text, text + tail);
        assert_string_equal(adzi_show(&shown, text), expected);
    }
    text[128] = '\0';
    memset(text, 'x', 128);
    memcpy(text + 46, "\xe2\x82\xac", 3);
    assert_string_equal(adzi_show(&shown, text), text);
}

int parts_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_has_its_size),
        cmocka_unit_test(items_get_the_order_that_is_asked_for),
        cmocka_unit_test(small_parts_are_written_together),
        cmocka_unit_test(a_device_may_be_the_first_file),
        cmocka_unit_test(files_are_opened_once_and_closed),
        cmocka_unit_test(what_cannot_be_read_is_closed),
        cmocka_unit_test(the_size_may_be_unknown),
        cmocka_unit_test(a_pipe_is_read_once),
        cmocka_unit_test(a_file_that_becomes_shorter_is_said),
        cmocka_unit_test(streams_are_refused_memory),
        cmocka_unit_test(a_read_that_fails_is_said),
        cmocka_unit_test(long_texts_are_shortened),
        cmocka_unit_test(characters_are_not_cut),
    };
    return cmocka_run_group_tests_name("saving: parts", tests, temporary_begin, temporary_end);
}
