#include "answers.h"

#include <stdio.h>
#include <string.h>

#include "bench.h"

static void print_first(const side *s, void *user)
{
    adz_scope *scope = adz_scope_open();
    const bool recorded = adz_set_grad_enabled(false);
    printf("%.9g", s->first(user));
    adz_set_grad_enabled(recorded);
    adz_scope_close(scope);
}

static void print_timed(const side *s, void *user)
{
    if (s->timed != NULL) {
        s->timed(user);
        return;
    }
    const double start = now(), cpu = processor_time();
    adz_scope *scope = adz_scope_open();
    const double loss = s->step(user);
    adz_scope_close(scope);
    printf("%.6f %.6f %.6f", now() - start, processor_time() - cpu, loss);
}

static void print_memory(const side *s, void *user)
{
    adz_memory_info before, after;
    adz_empty_cache();
    reset_process_peak();
    adz_reset_peak_memory();
    adz_get_memory_info(&before, sizeof before);
    const long long process = process_bytes("VmRSS");
    print_timed(s, user);
    adz_get_memory_info(&after, sizeof after);
    printf(" %lld %lld", (long long)(after.peak_bytes - before.live_bytes),
        process_bytes("VmHWM") - process);
}

void answer_lines(const side *s, void *user)
{
    char line[64];
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (strncmp(line, "first", 5) == 0) {
            print_first(s, user);
        } else if (strncmp(line, "memory", 6) == 0) {
            print_memory(s, user);
        } else if (strncmp(line, "captured", 8) == 0 && s->captured != NULL) {
            s->captured(user);
        } else {
            print_timed(s, user);
        }
        puts("");
        fflush(stdout);
    }
}
