/**
 * @file io.h
 * Files: safetensors and npy.
 */
#ifndef ADZE_IO_H
#define ADZE_IO_H

#include "adze/io/npy.h"
#include "adze/io/safetensors.h"

#endif
