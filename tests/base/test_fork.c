/* A child of fork may use the library, whatever the other threads of its parent were doing. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <pthread.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "adze/adze.h"

static atomic_bool stop;

/* Records and runs a graph of many small blocks, more than a thread keeps, and some large ones. */
static bool train(void)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_full(ADZ_SHAPE(2000), 0.5, ADZ_F32), true), *y = x;
    for (int i = 0; i < 100; ++i) {
        y = adz_sin(y);
    }
    adz_tensor *large = adz_expand(y, ADZ_SHAPE(50, 2000));
    const bool good = adz_backward(adz_sum(adz_exp(large), ADZ_ALL_DIMS, ADZ_DROPDIM)) == ADZ_OK;
    adz_scope_close(scope);
    return good;
}

static void *train_until_stopped(void *user)
{
    bool *good = user;
    while (!atomic_load(&stop)) {
        *good = train() && *good;
    }
    return NULL;
}

static void a_child_trains_while_threads_of_its_parent_do(void **state)
{
    (void)state;
    enum { THREADS = 3, CHILDREN = 60 };
    pthread_t threads[THREADS];
    bool good[THREADS];
    adz_set_debug(true); /* its list of living tensors has a lock, too */
    for (int i = 0; i < THREADS; ++i) {
        good[i] = true;
        assert_int_equal(pthread_create(&threads[i], NULL, train_until_stopped, &good[i]), 0);
    }
    int failed = 0;
    for (int i = 0; i < CHILDREN; ++i) {
        const pid_t child = fork();
        assert_true(child >= 0);
        if (child == 0) {
            alarm(60); /* ends a child that waits for a lock that nobody frees */
            _exit(train() && train() ? 0 : 1);
        }
        int status = 0;
        assert_int_equal(waitpid(child, &status, 0), child);
        failed += status != 0;
    }
    atomic_store(&stop, true);
    for (int i = 0; i < THREADS; ++i) {
        assert_int_equal(pthread_join(threads[i], NULL), 0);
        assert_true(good[i]);
    }
    adz_set_debug(false);
    assert_int_equal(failed, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_child_trains_while_threads_of_its_parent_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
