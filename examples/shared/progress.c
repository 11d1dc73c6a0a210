/* Draws the progress of a training. */
#define _GNU_SOURCE
#include "progress.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command_line.h"

enum { BAR = 24, LINES = 20 };

double seconds_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool in_lines;

void progress_in_lines(void)
{
    in_lines = true;
}

progress progress_begin(const char *unit, int64_t steps)
{
    return (progress){ .terminal = !in_lines && isatty(STDOUT_FILENO) != 0,
        .unit = unit,
        .steps = steps,
        .began = seconds_now() };
}

double progress_seconds(const progress *p)
{
    return seconds_now() - p->began;
}

/* Writes a time as "0:07", "12:34" or "1:02:03". */
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

/* The width of the terminal, in characters. */
static int columns(void)
{
    struct winsize window;
    bool known = ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0;
    return known ? window.ws_col : 80;
}

/* Writes a bar such as "[####....] " of at most `room` and at most BAR characters, or nothing if
 * there is too little room. Returns the length. */
static int draw_bar(char *text, double done, int room)
{
    int width = room - 3 < BAR ? room - 3 : BAR;
    if (width < 4) {
        return 0;
    }
    text[0] = '[';
    memset(text + 1, '.', (size_t)width);
    memset(text + 1, '#', (size_t)(done * width));
    memcpy(text + 1 + width, "] ", 3);
    return width + 3;
}

static void draw(progress *p, int64_t step, const char *numbers, bool last)
{
    char left[32], text[256];
    double seconds = progress_seconds(p);
    if (!last && seconds_now() - p->drawn < 0.1) {
        return;
    }
    p->drawn = seconds_now();
    char *at = text, *end = text + sizeof text;
    double each = seconds / (double)(step - p->first);
    at += snprintf(at, (size_t)(end - at), "%lld/%lld ", (long long)step, (long long)p->steps);
    at += draw_bar(at, (double)step / (double)p->steps,
        columns() - 1 - (int)(at - text) - (int)strlen(numbers) - (last ? 0 : 16));
    at += snprintf(at, (size_t)(end - at), "%s", numbers);
    if (!last && at < end) {
        snprintf(at, (size_t)(end - at), "  %s left",
            clock_text(each * (double)(p->steps - step), left, sizeof left));
    }
    printf("\r\033[K%.*s", columns() - 1, text); /* a line that wraps could not be redrawn */
    fflush(stdout);
    set_line_open(!last);
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
        set_line_open(false);
        putchar('\n');
    }
}
