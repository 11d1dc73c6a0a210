/* safetensors: round trips, every way in which a file can lie, refused memory, full disks. */
#include "tests.h"

int main(void)
{
    return round_trip_tests() + hostile_tests() + collection_tests() + system_tests();
}
