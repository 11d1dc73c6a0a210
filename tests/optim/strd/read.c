/* Reads the files of NIST. Lines 41 and following have the starts and the certified values, lines
 * 61 and following the data: y, then x. */
#include <math.h>
#include <stdio.h>

#include "strd.h"

static void read_parameter(strd_problem *p, const char *line)
{
    const char *values = strchr(line, '=');
    const int k = p->parameters;
    if (values != NULL && k < STRD_PARAMETERS &&
        sscanf(values + 1, "%lf %lf %lf %lf", &p->starts[0][k], &p->starts[1][k], &p->certified[k],
            &p->deviations[k]) == 4) {
        ++p->parameters;
    }
    sscanf(line, " Residual Sum of Squares: %lf", &p->sum);
}

static void read_row(strd_problem *p, const char *line)
{
    double v[3];
    const int found = sscanf(line, "%lf %lf %lf", &v[0], &v[1], &v[2]);
    if (found >= 2 && p->rows < STRD_ROWS) {
        p->columns = found - 1;
        p->y[p->rows] = v[0];
        memcpy(&p->x[p->rows * p->columns], &v[1], sizeof *v * (size_t)p->columns);
        ++p->rows;
    }
}

bool strd_read(strd_problem *p, const char *folder, const char *name)
{
    char path[1024], line[256];
    memset(p, 0, sizeof *p);
    snprintf(p->name, sizeof p->name, "%s", name);
    snprintf(path, sizeof path, "%s/%s.dat", folder, name);
    FILE *file = fopen(path, "r");
    for (int n = 1; file != NULL && fgets(line, sizeof line, file) != NULL; ++n) {
        if (n >= 41 && n <= 58) {
            read_parameter(p, line);
        } else if (n >= 61) {
            read_row(p, line);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    for (int k = 0; k < p->rows && strcmp(name, "Nelson") == 0; ++k) {
        p->y[k] = log(p->y[k]);
    }
    return p->parameters > 1 && p->rows > p->parameters && p->sum > 0;
}
