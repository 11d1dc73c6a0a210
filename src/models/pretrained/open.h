/* What a module from adz_pretrained_open has beside its family's parts. */
#ifndef ADZI_MODELS_PRETRAINED_OPEN_H
#define ADZI_MODELS_PRETRAINED_OPEN_H

/** The name of the buffer with the text of the configuration, u8[bytes], which is not part of the
 * state. */
#define MODELS_CONFIG "pretrained_config"

#endif
