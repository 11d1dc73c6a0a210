/* The least a program can do with adze: built and run through each way of finding the library. */
#include <adze/base.h>
#include <stdio.h>
#include <string.h>

int main(void)
{
    char headers[64];
    snprintf(headers, sizeof headers, "%d.%d.%d%s", ADZ_VERSION_MAJOR, ADZ_VERSION_MINOR,
        ADZ_VERSION_PATCH, ADZ_VERSION_TAG);
    if (strcmp(headers, adz_version()) != 0) {
        fprintf(stderr, "headers %s, library %s\n", headers, adz_version());
        return 1;
    }
    return 0;
}
