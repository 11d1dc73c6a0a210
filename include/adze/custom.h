/**
 * @file custom.h
 * What extending adze from outside takes.
 */
#ifndef ADZE_CUSTOM_H
#define ADZE_CUSTOM_H

#include "adze/nn/type.h"

#endif
