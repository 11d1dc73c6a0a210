#include "start.h"

void save_start(const char *path, adz_module *network, const start_tensor *tensors, size_t count)
{
    if (path == NULL) {
        return;
    }
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_new();
    adz_state_dict *state = network != NULL ? adz_module_state_dict(network) : NULL;
    for (size_t i = 0; state != NULL && i < adz_state_dict_count(state); ++i) {
        adz_safetensors_add(file, adz_state_dict_name_at(state, i), adz_state_dict_at(state, i));
    }
    for (size_t i = 0; i < count; ++i) {
        adz_safetensors_add(file, tensors[i].name, adz_detach(tensors[i].tensor));
    }
    adz_safetensors_save(file, path);
    adz_state_dict_free(&state);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
}
