#include "tokenizers.h"

int main(void)
{
    adz_on_error(adz_quiet, NULL);
    return encodings_tests() + refusals_tests() + robust_tests() + gguf_tests();
}
