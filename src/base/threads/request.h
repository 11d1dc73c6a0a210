/* The number of threads that the environment asks for. */
#ifndef ADZI_BASE_THREADS_REQUEST_H
#define ADZI_BASE_THREADS_REQUEST_H

/** ADZE_NUM_THREADS if it is a number from 1 to 32767, else 0. */
int adzi_threads_request(void);

/** Why ADZE_NUM_THREADS is ignored, "is no number from 1 to 32767"; NULL if it is not. */
const char *adzi_threads_request_ignored(void);

#endif
