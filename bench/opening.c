/* Opening a published model compared with reading its file: processor time and time of the clock.
 *   bench-opening PATH FILE [ROUNDS]
 * PATH is the folder or the GGUF file, and FILE the file with the weights. Both are read in turn,
 * and the least times count. The file should be in the page cache. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "adze/models.h"

#include "bench.h"

/* Reads a file into fresh memory, or into memory that it has used before. Returns its bytes. */
static size_t read_file(const char *path, bool fresh)
{
    static char *kept;
    const int fd = open(path, O_RDONLY);
    const off_t size = fd >= 0 ? lseek(fd, 0, SEEK_END) : -1;
    char *memory = size <= 0 ? NULL : fresh || kept == NULL ? malloc((size_t)size) : kept;
    size_t done = 0;
    lseek(fd, 0, SEEK_SET);
    for (ssize_t n = 1; memory != NULL && n > 0; done += (size_t)n) {
        n = read(fd, memory + done, (size_t)size - done);
        n = n < 0 ? 0 : n;
    }
    if (fresh) {
        free(memory);
    } else {
        kept = memory;
    }
    close(fd);
    return done;
}

enum { FRESH, AGAIN, STORED, MAPPED, WIDENED, WAYS };

static const char *const ways[WAYS] = { "read into fresh memory", "read into used memory",
    "open as stored", "open mapped", "open as f32" };

/* One of the ways. False if it failed. */
static bool run(int way, const char *path, const char *file)
{
    if (way == FRESH || way == AGAIN) {
        return read_file(file, way == FRESH) > 0;
    }
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    o.as_stored = way != WIDENED;
    o.map = way == MAPPED;
    adz_module *model = adz_pretrained_open(path, &o);
    const bool good = model != NULL;
    adz_module_release(&model);
    return good;
}

int main(int argc, char **argv)
{
    if (argc < 3) {
        fprintf(stderr, "usage: %s PATH FILE [ROUNDS]\n", argv[0]);
        return 2;
    }
    const int rounds = argc > 3 ? atoi(argv[3]) : 10;
    double best[WAYS], least[WAYS];
    adz_on_error(adz_die, NULL);
    adz_set_num_threads(1);
    for (int i = 0; i < WAYS; ++i) {
        best[i] = least[i] = 1e9;
    }
    for (int k = 0; k < rounds; ++k) {
        for (int i = 0; i < WAYS; ++i) {
            adz_empty_cache(); /* so that a model asks the system for memory, as reading does */
            const double begin = now(), used = processor_time();
            if (!run(i, argv[1], argv[2])) {
                return 1;
            }
            const double time = now() - begin, work = processor_time() - used;
            best[i] = time < best[i] ? time : best[i];
            least[i] = work < least[i] ? work : least[i];
        }
    }
    for (int i = 0; i < WAYS; ++i) {
        printf(
            "%-24s %8.1f ms, %5.2f and %5.2f times reading; processor time %8.1f ms, %5.2f and %5.2f times\n",
            ways[i], 1e3 * best[i], best[i] / best[FRESH], best[i] / best[AGAIN], 1e3 * least[i],
            least[i] / least[FRESH], least[i] / least[AGAIN]);
    }
    return 0;
}
