/* Computing one part of a launch, on a thread of the library, of OpenMP or of the program. */
#include "base/threads/parallel.h"

_Thread_local bool adzi_inside_part __attribute__((tls_model("initial-exec")));

bool adzi_inside_launch(void)
{
    return adzi_inside_part;
}

void adzi_run_part(const adzi_cut *cut, int part)
{
    int64_t begin = part * cut->length;
    int64_t end = cut->units - begin < cut->length ? cut->units : begin + cut->length;
    adzi_inside_part = true;
    cut->kernel(cut->args, begin, end);
    adzi_inside_part = false;
}
