/* Opens a published model, runs it on the inputs of a file, and writes the results to another one:
 *
 *     run FOLDER IN.safetensors OUT.safetensors [--f64] [--as-stored] [--save FOLDER]
 */
#include <stdio.h>
#include <string.h>

#include "run_pretrained.h"

int main(int argc, char **argv)
{
    adz_pretrained_options o = ADZ_PRETRAINED_OPTIONS;
    const char *save = NULL;
    if (argc < 4) {
        return 2;
    }
    for (int i = 4; i < argc; ++i) {
        if (strcmp(argv[i], "--f64") == 0) {
            o.dtype = ADZ_F64;
        } else if (strcmp(argv[i], "--as-stored") == 0) {
            o.as_stored = true;
        } else if (strcmp(argv[i], "--save") == 0 && i + 1 < argc) {
            save = argv[++i];
        }
    }
    adz_on_error(adz_die, NULL);
    adz_module *model = adz_pretrained_open(argv[1], &o);
    adz_safetensors *in = adz_safetensors_load(argv[2], NULL), *out = adz_safetensors_new();
    run_pretrained(model, in, out);
    adz_safetensors_save(out, argv[3]);
    if (save != NULL) {
        adz_pretrained_save(model, save);
    }
    adz_safetensors_free(&in);
    adz_safetensors_free(&out);
    adz_module_release(&model);
    return 0;
}
