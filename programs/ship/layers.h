/* What a written function consists of. */
#ifndef SHIP_LAYERS_H
#define SHIP_LAYERS_H

/* Prints the layers of the function NAME_run in a file in C, with their shapes and multiply-adds.
 * The comments of the file say them, so that the list is what was written. */
void print_layers(const char *path, const char *name);

#endif
