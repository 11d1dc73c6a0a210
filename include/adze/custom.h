/**
 * @file custom.h
 * Includes what you need to write operators (record.h), modules (nn/type.h) and optimizers
 * (optim/type.h): their types, the checks and messages of adze's own (checks.h), and structs of
 * options (options.h).
 */
#ifndef ADZE_CUSTOM_H
#define ADZE_CUSTOM_H

#include "adze/checks.h"
#include "adze/nn/type.h"
#include "adze/options.h"
#include "adze/optim/type.h"
#include "adze/record.h"

#endif
