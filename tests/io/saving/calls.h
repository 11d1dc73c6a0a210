/* The calls of a save to the operating system, as calls.c notes them, and how single ones fail. */
#ifndef ADZE_TESTS_IO_SAVING_CALLS_H
#define ADZE_TESTS_IO_SAVING_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

typedef enum call { WRITE, SYNC, RENAME, SYNC_FOLDER, CALLS } call;

typedef struct noted_call {
    call call;
    ino_t file;
} noted_call;

enum { NOTED_MOST = 4096 };
extern noted_call noted[NOTED_MOST];
extern size_t n_noted;
extern int fail_with[CALLS]; /* the errno with which a call fails; 0: it succeeds */
extern size_t most_written;  /* the most bytes that one write takes */
extern bool close_fails;

/* What another process does to the file just before the library locks it: nothing, delete it, or
 * lock it through the descriptor `competitor`. UNSUPPORTED: the file system has no locks. */
typedef enum intrusion { NOTHING, DELETED, LOCKED, UNSUPPORTED } intrusion;
extern intrusion before_lock;
extern int competitor;

/* Forgets the noted calls, and lets all calls succeed. */
void trace(void);

/* The functions of the C library. */
int __real_close(int fd);
ssize_t __real_write(int fd, const void *bytes, size_t n);
int __real_flock(int fd, int how);

#endif
