#define _GNU_SOURCE
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR = 24, LINES = 20 };

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

progress progress_begin(int64_t epochs)
{
    progress p = { .terminal = isatty(STDOUT_FILENO) != 0, .epochs = epochs, .began = now() };
    return p;
}

double progress_seconds(const progress *p)
{
    return now() - p->began;
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

static void print_numbers(const epoch_record *record)
{
    printf("loss %.4f  train %.4g", record->loss, record->train_rmse);
    if (!isnan(record->validation_rmse)) {
        printf("  validation RMSE %.4g", record->validation_rmse);
    }
}

static void draw(progress *p, int64_t epoch, const epoch_record *record, bool last)
{
    char left[32], bar[BAR + 1];
    double seconds = progress_seconds(p);
    if (!last && now() - p->drawn < 0.1) {
        return;
    }
    p->drawn = now();
    int done = (int)(epoch * BAR / p->epochs);
    memset(bar, '.', BAR);
    memset(bar, '#', (size_t)done);
    bar[BAR] = '\0';
    printf("\r\033[K%lld/%lld [%s] ", (long long)epoch, (long long)p->epochs, bar);
    print_numbers(record);
    if (!last) {
        double each = seconds / (double)epoch;
        printf("  %s left", clock_text(each * (double)(p->epochs - epoch), left, sizeof left));
    }
    fflush(stdout);
}

void progress_epoch(progress *p, int64_t epoch, const epoch_record *record, bool last)
{
    int64_t every = (p->epochs + LINES - 1) / LINES;
    if (p->terminal) {
        draw(p, epoch, record, last);
    } else if (epoch == 1 || epoch % every == 0 || last) {
        printf("epoch %lld/%lld  ", (long long)epoch, (long long)p->epochs);
        print_numbers(record);
        putchar('\n');
        fflush(stdout);
    }
}

void progress_end(const progress *p)
{
    if (p->terminal) {
        putchar('\n');
    }
}
