/**
 * @file io.h
 * Files: safetensors, modules, checkpoints, npy.
 */
#ifndef ADZE_IO_H
#define ADZE_IO_H

#include "adze/io/checkpoint.h"
#include "adze/io/module.h"
#include "adze/io/npy.h"
#include "adze/io/safetensors.h"

#endif
