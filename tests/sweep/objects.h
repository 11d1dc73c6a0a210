/* Declarations of objects.c, tensors.c, modules.c and files.c: functions that make one kind of
 * object each. */
#ifndef ADZE_TESTS_SWEEP_OBJECTS_H
#define ADZE_TESTS_SWEEP_OBJECTS_H

#include "sweep.h"

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

enum { MODULE_CHOICES = 31, TENSOR_CHOICES = 38, SENSIBLE_TENSORS = 22 };
extern const char *const tensor_names[TENSOR_CHOICES];
extern const char *const module_names[MODULE_CHOICES];
extern const char csv_text[25]; /* a table as text */

/* Each makes the object of a choice; the first choice of a kind is an ordinary object. */
adz_tensor *tensor_make(size_t choice);
adz_module *module_make(size_t choice);
adz_optimizer *optimizer_make(size_t choice);
adz_tokenizer *tokenizer_make(size_t choice);
extern const char tokenizer_json[]; /* of a pretrained one */
adz_safetensors *safetensors_make(void);

#endif
