#define _GNU_SOURCE
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24, LINES = 20 };

double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

progress progress_begin(const char *unit, int64_t steps)
{
    progress p = {
        .terminal = isatty(STDOUT_FILENO) != 0, .unit = unit, .steps = steps, .began = seconds_now()
    };
    return p;
}

double progress_seconds(const progress *p)
{
    return seconds_now() - p->began;
}

/* "0:07", "12:34", "1:02:03" */
static const char *clock_text(double seconds, char *text, size_t size)
{
    long s = lround(seconds);
    if (s >= 3600) {
        snprintf(text, size, "%ld:%02ld:%02ld", s / 3600, s / 60 % 60, s % 60);
    } else {
        snprintf(text, size, "%ld:%02ld", s / 60, s % 60);
    }
    return text;
}

static void draw(progress *p, int64_t step, const char *numbers, bool last)
{
    char left[32], bar[BAR + 1];
    double seconds = progress_seconds(p);
    if (!last && seconds_now() - p->drawn < 0.1) {
        return;
    }
    p->drawn = seconds_now();
    int done = (int)(step * BAR / p->steps);
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)done);
    bar[BAR] = '\0';
    printf("\r\033[K%lld/%lld [%s] %s", (long long)step, (long long)p->steps, bar, numbers);
    if (!last) {
        double each = seconds / (double)(step - p->first);
        printf("  %s left", clock_text(each * (double)(p->steps - step), left, sizeof left));
    }
    fflush(stdout);
}

void progress_step(progress *p, int64_t step, const char *numbers, bool last)
{
    int64_t every = (p->steps + LINES - 1) / LINES;
    if (p->terminal) {
        draw(p, step, numbers, last);
    } else if (step == p->first + 1 || step % every == 0 || last) {
        printf("%s %lld/%lld  %s\n", p->unit, (long long)step, (long long)p->steps, numbers);
        fflush(stdout);
    }
}

void progress_end(const progress *p)
{
    if (p->terminal) {
        putchar('\n');
    }
}
