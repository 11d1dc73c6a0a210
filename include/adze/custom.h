/**
 * @file custom.h
 * Includes the headers for operators (record.h), modules (nn/type.h) and optimizers (optim/type.h)
 * of your own.
 */
#ifndef ADZE_CUSTOM_H
#define ADZE_CUSTOM_H

#include "adze/nn/type.h"
#include "adze/optim/type.h"
#include "adze/record.h"

#endif
