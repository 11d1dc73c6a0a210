/* Every unit of a launch is computed exactly once, from whatever thread it is launched and however
 * its units are cut. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "adze/base.h"
#include "base/cpu.h"
#include "base/threads/parallel.h"

static const char *program; /* the path of this program, which is run again by a test */

/* The arguments of count_units. */
typedef struct counted {
    unsigned char *hits; /* hits[i] counts how often unit i was computed */
    atomic_int calls;
    atomic_bool outside; /* a range was not inside 0 .. units */
    int64_t units;
} counted;

ADZI_ADDRESSES(counted, hits);

static void count_units(const void *args, int64_t begin, int64_t end)
{
    counted *c = (counted *)(uintptr_t)args;
    atomic_fetch_add(&c->calls, 1);
    if (begin < 0 || end > c->units || begin > end) {
        atomic_store(&c->outside, true);
        return;
    }
    for (int64_t i = begin; i < end; ++i) {
        ++c->hits[i];
    }
}

/* Launches once. Returns true if every unit was computed once, and the number of kernel calls. */
static bool each_once(int64_t units, int64_t grain, int *calls)
{
    counted c = { .hits = calloc((size_t)units + 1, 1), .units = units };
    adzi_launch(count_units, counted, &c, units, grain);
    bool once = !atomic_load(&c.outside);
    for (int64_t i = 0; i < units; ++i) {
        once = once && c.hits[i] == 1;
    }
    *calls = atomic_load(&c.calls);
    free(c.hits);
    return once;
}

static void every_unit_once(void **state)
{
    (void)state;
    static const int64_t sizes[] = { 0, 1, 2, 3, 5, 7, 63, 64, 65, 100, 1023, 1024, 1025, 4095,
        4096, 4097, 10000, 65537 };
    static const int64_t grains[] = { 1, 2, 3, 16, 64, 100, 1000, 1024, 30000, 100000 };
    static const int threads[] = { 1, 2, 3, 4, 7, 16 };
    int most = 0;
    for (size_t t = 0; t < sizeof threads / sizeof *threads; ++t) {
        assert_int_equal(adz_set_num_threads(threads[t]), ADZ_OK);
        for (size_t s = 0; s < sizeof sizes / sizeof *sizes; ++s) {
            for (size_t g = 0; g < sizeof grains / sizeof *grains; ++g) {
                int calls = 0;
                assert_true(each_once(sizes[s], grains[g], &calls));
                assert_true(calls >= 1 && calls <= threads[t]);
                if (sizes[s] <= grains[g]) {
                    assert_int_equal(calls, 1);
                }
                most = calls > most ? calls : most;
            }
        }
    }
    assert_int_equal(most, 16);
    adz_set_num_threads(0);
}

/* ---- it is parallel ------------------------------------------------------------------------- */

static double seconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct meeting {
    atomic_int present;
    atomic_bool met;
} meeting;

ADZI_NO_ADDRESSES(meeting);

/* A kernel of two parts that wait for each other. They can meet only if two threads run them. */
static void meet(const void *args, int64_t begin, int64_t end)
{
    meeting *m = (meeting *)(uintptr_t)args;
    (void)begin;
    (void)end;
    atomic_fetch_add(&m->present, 1);
    double give_up = seconds() + 20;
    while (atomic_load(&m->present) < 2 && seconds() < give_up) {
        sched_yield();
    }
    if (atomic_load(&m->present) >= 2) {
        atomic_store(&m->met, true);
    }
}

static void two_parts_run_at_the_same_time(void **state)
{
    (void)state;
    adz_set_num_threads(2);
    for (int i = 0; i < 20; ++i) {
        meeting m = { 0 };
        adzi_launch(meet, meeting, &m, 2, 1);
        assert_true(atomic_load(&m.met));
        if (i % 5 == 0) { /* the pool's threads sleep after about 100 microseconds without work */
            nanosleep(&(struct timespec){ 0, 2000000 }, NULL);
        }
    }
    adz_set_num_threads(0);
}

#ifdef __linux__
/* The arguments of note_processor, and what it finds. */
typedef struct whereabouts {
    meeting both;
    pid_t worker;            /* the thread of the pool that computed a part */
    int processor;           /* where it began the part */
    cpu_set_t allowed;       /* which processors it may use then */
    const cpu_set_t *wanted; /* those that it then allows itself; NULL for no change */
} whereabouts;

ADZI_NO_ADDRESSES(whereabouts);

static void note_processor(const void *args, int64_t begin, int64_t end)
{
    whereabouts *w = (whereabouts *)(uintptr_t)args;
    if (gettid() != getpid()) {
        w->worker = gettid();
        w->processor = sched_getcpu();
        sched_getaffinity(0, sizeof w->allowed, &w->allowed);
        if (w->wanted != NULL) {
            sched_setaffinity(0, sizeof *w->wanted, w->wanted);
        }
    }
    meet(&w->both, begin, end);
}

/* The first two processors of a set. Returns false if it has fewer. */
static bool first_two(const cpu_set_t *set, int found[2])
{
    int n = 0;
    for (int i = 0; i < CPU_SETSIZE && n < 2; ++i) {
        if (CPU_ISSET((size_t)i, set)) {
            found[n++] = i;
        }
    }
    return n == 2;
}

/* Lets a thread of the pool fall asleep on a processor, goes there and launches twice. Returns
 * whether the thread could not use that processor in the first launch and could in the second. */
static bool woken_elsewhere(int processor, const cpu_set_t *all)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET((size_t)processor, &one);
    whereabouts asleep = { .wanted = &one }, awake = { .wanted = NULL }, later = { .wanted = NULL };
    adzi_launch(note_processor, whereabouts, &asleep, 2, 1);
    nanosleep(&(struct timespec){ 0, 5000000 }, NULL);
    sched_setaffinity(asleep.worker, sizeof *all, all);
    sched_setaffinity(0, sizeof one, &one);
    adzi_launch(note_processor, whereabouts, &awake, 2, 1);
    adzi_launch(note_processor, whereabouts, &later, 2, 1);
    return awake.processor != processor && !CPU_ISSET((size_t)processor, &awake.allowed) &&
           CPU_EQUAL(&later.allowed, all);
}

/* This is the first test, so that the pool has one thread only. On a busy machine it may be late to
 * fall asleep, so not every try counts. */
static void a_thread_wakes_up_off_the_launching_processor(void **state)
{
    (void)state;
    enum { TRIES = 9 };
    cpu_set_t all;
    int processors[2];
    assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
    if (strcmp(adzi_threads_kind(), "pool") != 0 || !first_two(&all, processors)) {
        skip();
    }
    adz_set_num_threads(2);
    int elsewhere = 0;
    for (int i = 0; i < TRIES; ++i) {
        elsewhere += woken_elsewhere(processors[i % 2], &all);
    }
    adz_set_num_threads(0);
    sched_setaffinity(0, sizeof all, &all);
    assert_true(elsewhere > TRIES / 2);
}
#endif

/* ---- nested, concurrent, forked ------------------------------------------------------------- */

/* The arguments of launch_inside, a kernel that launches another kernel. */
typedef struct nest {
    counted inner[8];
    atomic_int wrong; /* inner launches that were cut, or parts not marked as inside a launch */
} nest;

ADZI_ADDRESS_TABLE(nest, ADZI_ADDRESS_OF_EACH(nest, inner, hits));

static void launch_inside(const void *args, int64_t begin, int64_t end)
{
    nest *n = (nest *)(uintptr_t)args;
    for (int64_t i = begin; i < end; ++i) {
        bool marked = adzi_inside_launch();
        adzi_launch(count_units, counted, &n->inner[i], n->inner[i].units, 1);
        if (!marked || atomic_load(&n->inner[i].calls) != 1) {
            atomic_fetch_add(&n->wrong, 1);
        }
    }
}

static void nested_launches_stay_on_their_thread(void **state)
{
    (void)state;
    adz_set_num_threads(4);
    nest n;
    memset(&n, 0, sizeof n);
    for (int i = 0; i < 8; ++i) {
        n.inner[i].units = 100;
        n.inner[i].hits = calloc(100, 1);
    }
    adzi_launch(launch_inside, nest, &n, 8, 1);
    assert_int_equal(atomic_load(&n.wrong), 0);
    assert_false(adzi_inside_launch());
    for (int i = 0; i < 8; ++i) {
        for (int j = 0; j < 100; ++j) {
            assert_int_equal(n.inner[i].hits[j], 1);
        }
        free(n.inner[i].hits);
    }
    adz_set_num_threads(0);
}

static void *launch_many(void *failed)
{
    for (int i = 0; i < 300; ++i) {
        int calls = 0;
        if (!each_once(1 + 37 * i, 1 + i % 50, &calls)) {
            *(bool *)failed = true;
        }
    }
    return NULL;
}

static void several_users_launch_at_once(void **state)
{
    (void)state;
    adz_set_num_threads(3);
    pthread_t users[4];
    bool failed[4] = { false };
    for (int i = 0; i < 4; ++i) {
        assert_int_equal(pthread_create(&users[i], NULL, launch_many, &failed[i]), 0);
    }
    for (int i = 0; i < 4; ++i) {
        pthread_join(users[i], NULL);
        assert_false(failed[i]);
    }
    adz_set_num_threads(0);
}

static void a_forked_child_computes_serially(void **state)
{
    (void)state;
    adz_set_num_threads(4);
    int calls = 0;
    assert_true(each_once(1000, 1, &calls));
    assert_int_equal(calls, 4);
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        alarm(60); /* ends a child that waits for threads that it does not have */
        bool good = each_once(1000, 1, &calls) && calls == 1;
        _exit(good ? 0 : 1);
    }
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_true(each_once(1000, 1, &calls)); /* the parent still has its threads */
    assert_int_equal(calls, 4);
    adz_set_num_threads(0);
}

/* ---- observing ------------------------------------------------------------------------------ */

static atomic_int observed;

static void observe(adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    assert_true(size > 0);
    atomic_fetch_add(&observed, 1);
    adzi_launch_unobserved(kernel, args, units, grain);
}

static void an_observer_sees_every_launch(void **state)
{
    (void)state;
    int calls = 0;
    atomic_store(&adzi_launch_observer, observe);
    assert_true(each_once(10, 100, &calls)); /* small enough for one thread */
    assert_true(each_once(1000, 1, &calls)); /* cut for several threads */
    atomic_store(&adzi_launch_observer, NULL);
    assert_true(each_once(10, 100, &calls));
    assert_int_equal(atomic_load(&observed), 2);
}

/* ---- settings ------------------------------------------------------------------------------- */

static void number_of_threads(void **state)
{
    (void)state;
    int standard = adz_get_num_threads();
    assert_true(standard >= 1);
    assert_int_equal(adz_set_num_threads(5), ADZ_OK);
    assert_int_equal(adz_get_num_threads(), 5);
    assert_int_equal(adz_set_num_threads(-1), ADZ_ERR_ARGUMENT);
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    assert_non_null(strstr(adz_error_message(), "-1 threads"));
    adz_error_clear();
    assert_int_equal(adz_get_num_threads(), 5);
    assert_int_equal(adz_set_num_threads(0), ADZ_OK);
    assert_int_equal(adz_get_num_threads(), standard);
}

static void settings_belong_to_the_context(void **state)
{
    (void)state;
    adz_context *other = adz_context_new();
    assert_non_null(other);
    adz_set_num_threads(5);
    assert_null(adz_context_use(other));
    adz_set_num_threads(2);
    adz_set_deterministic(true);
    int calls = 0;
    assert_true(each_once(1000, 1, &calls));
    assert_int_equal(calls, 2);
    assert_ptr_equal(adz_context_use(NULL), other);
    assert_int_equal(adz_get_num_threads(), 5);
    assert_false(adz_is_deterministic());
    assert_true(each_once(1000, 1, &calls));
    assert_int_equal(calls, 5);
    adz_context_free(&other);
    adz_set_num_threads(0);
}

/* Runs this program with `setting` in its environment and writes the line that about() prints to
 * `line`. ADZE_WRAPPER is a command that runs programs, such as an emulator; it may be unset. */
static void ask_again(const char *setting, char *line, size_t size)
{
    char command[1200];
    const char *wrapper = getenv("ADZE_WRAPPER");
    snprintf(command, sizeof command, "%s %s '%s' about", setting, wrapper == NULL ? "" : wrapper,
        program);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, (int)size, pipe));
    assert_int_equal(pclose(pipe), 0);
    line[strcspn(line, "\n")] = '\0';
}

static int about(void)
{
    printf("%d %s %s\n", adz_get_num_threads(), adz_cpu_name(), adz_build_info());
    return 0;
}

static void environment_is_heard(void **state)
{
    (void)state;
    char line[800];
    ask_again("ADZE_NUM_THREADS=3 ADZE_CPU=baseline", line, sizeof line);
    if (ADZI_LOWEST_BUILT == ADZI_CPU_BASELINE) {
        assert_int_equal(strncmp(line, "3 baseline adze ", 16), 0);
        assert_null(strstr(line, "ignored"));
    } else { /* -Dkernels=native */
        assert_non_null(strstr(line, "; ADZE_CPU=baseline ignored: it is less than"));
    }
    assert_non_null(strstr(line, adzi_threads_kind()));
    assert_non_null(strstr(line, "OpenBLAS"));

    ask_again("ADZE_NUM_THREADS=3x ADZE_CPU=fast", line, sizeof line);
    assert_non_null(strstr(line, "; ADZE_CPU=fast ignored"));
    char plain[800];
    ask_again("ADZE_NUM_THREADS= ADZE_CPU=", plain, sizeof plain);
    assert_int_equal(atoi(line), atoi(plain)); /* "3x" is no number and counts as unset */
    assert_null(strstr(plain, "ignored"));
    assert_non_null(strstr(line, "; ADZE_NUM_THREADS=3x ignored: it is no number from 1 to 32767"));
    static const char *const wrong[] = { "0", "-2", "3x", "32768", "99999999999999999999", "two" };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; ++i) {
        char setting[80], says[120];
        snprintf(setting, sizeof setting, "exec 2>&1 >/dev/null; ADZE_NUM_THREADS=%s", wrong[i]);
        snprintf(says, sizeof says, "adze: warning: ADZE_NUM_THREADS=%s ignored: it is no number",
            wrong[i]);
        ask_again(setting, line, sizeof line);
        assert_ptr_equal(strstr(line, says), line); /* the first line, before that of the program */
    }

    /* The new process is asked, because under valgrind this process sees fewer instruction sets. */
    if (strstr(plain, " avx512 ") == NULL) {
        ask_again("ADZE_CPU=avx512", line, sizeof line);
        assert_non_null(strstr(line, "; ADZE_CPU=avx512 ignored: it is more than"));
    }
}

int main(int argc, char **argv)
{
    program = argv[0];
    if (argc > 1 && strcmp(argv[1], "about") == 0) {
        return about();
    }
    const struct CMUnitTest tests[] = {
#ifdef __linux__
        cmocka_unit_test(a_thread_wakes_up_off_the_launching_processor),
#endif
        cmocka_unit_test(every_unit_once),
        cmocka_unit_test(two_parts_run_at_the_same_time),
        cmocka_unit_test(nested_launches_stay_on_their_thread),
        cmocka_unit_test(several_users_launch_at_once),
        cmocka_unit_test(a_forked_child_computes_serially),
        cmocka_unit_test(an_observer_sees_every_launch),
        cmocka_unit_test(number_of_threads),
        cmocka_unit_test(settings_belong_to_the_context),
        cmocka_unit_test(environment_is_heard),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
