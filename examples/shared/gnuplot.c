#define _GNU_SOURCE
#include "gnuplot.h"

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>

#include "command_line.h"

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

void check_plot_path(const char *path)
{
    if (strcmp(path, "none") != 0 && !ends_with(path, ".svg") && !ends_with(path, ".png")) {
        fail("--plot %s: a file that ends in .svg or .png is wanted, or none", path);
    }
}

/* In single quotes gnuplot knows no escapes but the doubled quote. */
void gnuplot_quote(FILE *script, const char *text)
{
    fputc('\'', script);
    for (; *text != '\0'; ++text) {
        fputs(*text == '\'' ? "''" : (char[]){ *text, '\0' }, script);
    }
    fputc('\'', script);
}

FILE *gnuplot_begin(const char *path, int width, int height)
{
    signal(SIGPIPE, SIG_IGN); /* gnuplot may not be there to read */
    fflush(stdout);
    /* What it cannot write to its file, it would write to standard output. */
    FILE *script = popen("command -v gnuplot >/dev/null || exit 127; exec gnuplot >/dev/null", "w");
    if (script == NULL) {
        return NULL;
    }
    if (ends_with(path, ".png")) {
        fprintf(script,
            "terminal = strstrt(GPVAL_TERMINALS, 'pngcairo') ? 'pngcairo' : 'png truecolor'\n"
            "set terminal @terminal size %d,%d\n",
            width * 5 / 4, height * 5 / 4);
    } else {
        fprintf(script, "set terminal svg size %d,%d background rgb 'white'\n", width, height);
    }
    fputs("set output ", script);
    gnuplot_quote(script, path);
    fputc('\n', script);
    return script;
}

void gnuplot_end(FILE *script, const char *what, const char *path)
{
    int result = script != NULL ? pclose(script) : -1;
    if (result != -1 && WIFEXITED(result) && WEXITSTATUS(result) == 127) {
        printf("no %s: gnuplot is not installed (gnuplot-nox on Debian)\n", what);
    } else if (result != 0) {
        printf("no %s: gnuplot could not write %s\n", what, path);
    } else {
        printf("%s: %s\n", what, path);
    }
}
