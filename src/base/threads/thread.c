/* The state of a thread: making it on first use, ending it with the thread, and the list of all. */
#include "base/threads/thread.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/threads/fork.h"
#include "base/threads/upcalls.h"

__thread adzi_thread *adzi_thread_current __attribute__((tls_model("initial-exec")));

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static adzi_thread *list;
static pthread_key_t key;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

ADZI_FORK_TAKES(list_lock, ADZI_LOCK_THREADS)

/* The state of a thread whose own state could not be allocated. Such a thread can report errors and
 * do nothing else, because each of its requests for memory fails as well. */
static adzi_thread last_resort;

adzi_upper_rooms adzi_upper;

/* Ends the state of a thread and takes it off the list. */
static void thread_end(void *pointer)
{
    adzi_thread *thread = pointer;
    adzi_thread_current = thread;
    adzi_upper.thread_end(thread);
    pthread_mutex_lock(&list_lock);
    if (thread->previous != NULL) {
        thread->previous->next = thread->next;
    } else {
        list = thread->next;
    }
    if (thread->next != NULL) {
        thread->next->previous = thread->previous;
    }
    pthread_mutex_unlock(&list_lock);
    adzi_thread_current = NULL;
    free(thread);
}

static void make_key(void)
{
    pthread_key_create(&key, thread_end);
}

void adzi_thread_end(void)
{
    adzi_thread *thread = adzi_thread_current;
    if (thread != NULL && thread != &last_resort) {
        pthread_setspecific(key, NULL);
        thread_end(thread);
    }
}

adzi_thread *adzi_thread_begin(void)
{
    pthread_once(&key_once, make_key);
    adzi_thread *thread = calloc(1, sizeof *thread);
    if (thread == NULL) {
        last_resort.context = &adzi_context_default;
        last_resort.cache.fail_in = INT64_MAX; /* without frames, modules and backward fail */
        adzi_thread_current = &last_resort;
        return &last_resort;
    }
    thread->context = &adzi_context_default;
    thread->frames = thread->first_frames;
    thread->frames_capacity = ADZI_FIRST_FRAMES;
    thread->grad_enabled = true;
    thread->root.thread = thread;
    thread->root.open = true;
    thread->scope = &thread->root;
    adzi_thread_current = thread;
    pthread_setspecific(key, thread);
    pthread_mutex_lock(&list_lock);
    thread->next = list;
    if (list != NULL) {
        list->previous = thread;
    }
    list = thread;
    pthread_mutex_unlock(&list_lock);
    return thread;
}

void adzi_threads_each(void (*visit)(adzi_thread *thread, void *user), void *user)
{
    pthread_mutex_lock(&list_lock);
    for (adzi_thread *thread = list; thread != NULL; thread = thread->next) {
        visit(thread, user);
    }
    pthread_mutex_unlock(&list_lock);
}
