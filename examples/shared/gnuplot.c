/* Makes scripts for gnuplot and runs it. */
#define _GNU_SOURCE
#include "gnuplot.h"

#include <errno.h>
#include <spawn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "command_line.h"
#include "plain_text.h"

extern char **environ; /* not every <unistd.h> declares it */

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);
    return n > m && strcmp(text + n - m, end) == 0;
}

void check_plot_path(const char *path)
{
    if (strcmp(path, "none") != 0 && !ends_with(path, ".svg") && !ends_with(path, ".png")) {
        usage_error("--plot %s: a file that ends in .svg or .png is wanted, or none", path);
    }
}

const char *plot_file(const char *path)
{
    return strcmp(path, "none") != 0 ? path : NULL;
}

/* ---- the script ----------------------------------------------------------------------------- */

void gnuplot_text(FILE *script, const char *text)
{
    const char *fault = text_fault(text);
    if (fault != NULL) {
        fail("'%s' cannot stand in a picture: it %s", text, fault);
    }
    fputc('\'', script); /* inside single quotes only the quote itself is special: it is doubled */
    for (; *text != '\0'; ++text) {
        fputs(*text == '\'' ? "''" : (char[]){ *text, '\0' }, script);
    }
    fputc('\'', script);
}

/* The option "noenhanced" makes gnuplot print texts as they are, without markup. */
FILE *gnuplot_begin(const char *path, int width, int height)
{
    FILE *script = tmpfile();
    if (script == NULL) {
        return NULL;
    }
    fputs("set encoding utf8\n", script);
    if (ends_with(path, ".png")) {
        const int w = width * 5 / 4, h = height * 5 / 4;
        fprintf(script,
            "if (strstrt(GPVAL_TERMINALS, 'pngcairo')) set terminal pngcairo noenhanced size %d,%d; else set terminal png noenhanced truecolor size %d,%d\n",
            w, h, w, h);
    } else {
        fprintf(script, "set terminal svg noenhanced size %d,%d background rgb 'white'\n", width,
            height);
    }
    return script;
}

/* ---- drawing -------------------------------------------------------------------------------- */

/* Runs gnuplot without the user's settings (-d) and gives its exit code: 127 if it is not
 * installed, -1 with errno if it could not be run. */
static int run_gnuplot(FILE *script, FILE *picture, FILE *messages)
{
    char *const arguments[] = { (char[]){ "gnuplot" }, (char[]){ "-d" }, NULL };
    posix_spawn_file_actions_t actions;
    pid_t child;
    int status;
    rewind(script); /* also writes out what is buffered */
    if (posix_spawn_file_actions_init(&actions) != 0) {
        return -1;
    }
    posix_spawn_file_actions_adddup2(&actions, fileno(script), STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(picture), STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, fileno(messages), STDERR_FILENO);
    int error = posix_spawnp(&child, "gnuplot", &actions, NULL, arguments, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (error != 0) {
        errno = error;
        return error == ENOENT ? 127 : -1;
    }
    while (waitpid(child, &status, 0) < 0) {
        if (errno != EINTR) {
            return -1;
        }
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

/* The first line of gnuplot's message that is neither the command nor the mark below it. */
static const char *first_message(FILE *messages, char *line, int size)
{
    rewind(messages);
    while (fgets(line, size, messages) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        const char *text = line + strspn(line, " \t");
        if (*text != '\0' && *text != '^' && strncmp(text, "gnuplot>", 8) != 0) {
            return text;
        }
    }
    return "it failed without a message";
}

/* Copies the picture to the path. False with errno set if it could not be written; errno is 0 if
 * there is no picture. */
static bool copy_picture(FILE *picture, const char *path)
{
    char bytes[4096];
    rewind(picture);
    size_t n = fread(bytes, 1, sizeof bytes, picture);
    errno = 0;
    FILE *file = n > 0 ? fopen(path, "w") : NULL;
    if (file == NULL) {
        return false;
    }
    for (; n > 0; n = fread(bytes, 1, sizeof bytes, picture)) {
        fwrite(bytes, 1, n, file);
    }
    bool bad = ferror(file) != 0;
    return fclose(file) == 0 && !bad;
}

static void report(int code, FILE *picture, FILE *messages, const char *what, const char *path)
{
    char line[512];
    errno = code == -1 ? errno : 0;
    if (code == 127) {
        printf("no %s: gnuplot is not installed (gnuplot-nox on Debian)\n", what);
    } else if (code == -1) {
        complain("no %s: gnuplot could not be started: %s", what, strerror(errno));
    } else if (code == 0 && copy_picture(picture, path)) {
        printf("%s: %s\n", what, path);
    } else if (errno != 0) {
        complain("no %s: %s: %s", what, path, strerror(errno));
    } else {
        complain("no %s: gnuplot could not draw it: %s", what,
            first_message(messages, line, sizeof line));
    }
}

void gnuplot_end(FILE *script, const char *what, const char *path)
{
    FILE *const all[] = { script, tmpfile(), tmpfile() };
    bool ready = script != NULL && all[1] != NULL && all[2] != NULL && !ferror(script);
    report(ready ? run_gnuplot(script, all[1], all[2]) : -1, all[1], all[2], what, path);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        if (all[i] != NULL) {
            fclose(all[i]);
        }
    }
}
