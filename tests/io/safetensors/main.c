/* safetensors: round trips, files with false headers, refused memory and full disks. */
#include "tests.h"

int main(void)
{
    return round_trip_tests() + hostile_tests() + collection_tests() + system_tests() +
           mapping_tests() + refused_json_tests() + unread_tests();
}
