/**
 * @file custom.h
 * Includes the headers for operators (record.h) and modules (nn/type.h) of your own.
 */
#ifndef ADZE_CUSTOM_H
#define ADZE_CUSTOM_H

#include "adze/nn/type.h"
#include "adze/record.h"

#endif
