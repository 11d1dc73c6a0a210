/**
 * @file data.h
 * Data: CSV files, datasets, the standardiser, the loader, metrics, tokenizers.
 */
#ifndef ADZE_DATA_H
#define ADZE_DATA_H

#include "adze/data/csv.h"
#include "adze/data/dataset.h"
#include "adze/data/loader.h"
#include "adze/data/metrics.h"
#include "adze/data/standardizer.h"
#include "adze/data/text.h"
#include "adze/data/tokenizer.h"
#include "adze/data/tokenizer_type.h"

#endif
