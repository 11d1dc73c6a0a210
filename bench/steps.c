#include "steps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SAMPLES = 200 };

bool read_step_options(int argc, char **argv, step_options *o)
{
    *o = (step_options){ .steps = 20000, .threads = 1 };
    const option options[] = { { "steps", AN_INTEGER, &o->steps, SAMPLES, 1e9, NULL },
        { "threads", AN_INTEGER, &o->threads, 1, 256, NULL },
        { "json", A_FLAG, &o->json, 0, 0, NULL }, { "rounds", A_FLAG, &o->rounds, 0, 0, NULL },
        { "captured", A_FLAG, &o->captured, 0, 0, NULL },
        { "start", A_TEXT, &o->start, 0, 0, NULL }, { NULL, A_FLAG, NULL, 0, 0, NULL } };
    return read_options(argc, argv, options, NULL);
}

static timing sample(void (*work)(void *), void *user, int64_t calls)
{
    double seconds[SAMPLES];
    for (int s = 0; s < SAMPLES; ++s) {
        double start = now();
        for (int64_t i = 0; i < calls; ++i) {
            work(user);
        }
        seconds[s] = (now() - start) / (double)calls;
    }
    return timing_of(seconds, SAMPLES);
}

/* Counts the requests for memory and the page faults of a warm step. */
static void count_step(void (*step)(void *), void *user, double *allocations, double *faults)
{
    double a[SAMPLES], f[SAMPLES];
    for (int s = 0; s < SAMPLES; ++s) {
        uint64_t made = system_allocations();
        long met = page_faults();
        step(user);
        a[s] = (double)(system_allocations() - made);
        f[s] = (double)(page_faults() - met);
    }
    *allocations = timing_of(a, SAMPLES).median;
    *faults = timing_of(f, SAMPLES).median;
}

void run_plan(void *plan)
{
    adz_plan_run(plan);
}

int run_step_rounds(const char *name, const step_options *o, void (*step)(void *), void *user,
    void (*floor)(void *), void *floor_user)
{
    char line[64];
    double allocations, faults;
    adz_memory_info memory;
    adz_set_num_threads((int)o->threads);
    sample(step, user, o->steps / SAMPLES < 50 ? o->steps / SAMPLES : 50);
    count_step(step, user, &allocations, &faults);
    while (!o->rounds || fgets(line, sizeof line, stdin) != NULL) {
        if (o->rounds && strncmp(line, "first", 5) == 0) {
            printf("{\"bench\": \"%s\", \"first_loss\": %.17g}\n", name, o->first_loss);
            fflush(stdout);
            continue;
        }
        double before = processor_time();
        timing t = sample(step, user, o->steps / SAMPLES), least = { 0, 0 };
        double processor = (processor_time() - before) / (double)(o->steps / SAMPLES * SAMPLES);
        if (floor != NULL) {
            least = sample(floor, floor_user, o->steps / SAMPLES);
        }
        if (!o->json) {
            printf("%s step: %.3f us (least %.3f)", name, t.median * 1e6, t.least * 1e6);
            if (floor != NULL) {
                printf("; written out by hand %.3f us (least %.3f)", least.median * 1e6,
                    least.least * 1e6);
            }
            putchar('\n');
        } else {
            adz_get_memory_info(&memory, sizeof memory);
            printf("{\"bench\": \"%s\", \"median_us\": %.3f, \"min_us\": %.3f, ", name,
                t.median * 1e6, t.least * 1e6);
            if (floor != NULL) {
                printf("\"by_hand_us\": %.3f, \"by_hand_min_us\": %.3f, ", least.median * 1e6,
                    least.least * 1e6);
            }
            printf(
                "\"cpu_us\": %.3f, \"system_allocs_per_step\": %.0f, \"page_faults_per_step\": %.0f, \"peak_rss_kb\": %ld, \"allocator_peak_kb\": %zu, \"threads\": %lld}\n",
                processor * 1e6, allocations, faults, peak_resident(), memory.peak_bytes / 1024,
                (long long)o->threads);
        }
        fflush(stdout);
        if (!o->rounds) {
            break;
        }
    }
    return EXIT_SUCCESS;
}
