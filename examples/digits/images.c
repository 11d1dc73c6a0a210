/* Memory of images. */
#include "images.h"

#include <stdlib.h>

#include "../shared/command_line.h"

images new_images(int64_t count, int64_t height, int64_t width, bool with_digits)
{
    images all = { .count = count, .height = height, .width = width };
    size_t n = (size_t)count, pixels = (size_t)(height * width);
    if (pixels > 0 && n > SIZE_MAX / sizeof *all.pixels / pixels) {
        fail("out of memory");
    }
    all.pixels = allocate(n * pixels * sizeof *all.pixels);
    all.digits = with_digits ? allocate(n * sizeof *all.digits) : NULL;
    return all;
}

void free_images(images *all)
{
    free(all->pixels);
    free(all->digits);
    *all = (images){ 0 };
}
