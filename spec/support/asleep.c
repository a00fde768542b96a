/*
 * asleep.c - see asleep.h.
 */
#include "asleep.h"

#include <stdio.h>

bool is_asleep(int thread)
{
    char path[64], state = 'S';
    FILE *file;

    snprintf(path, sizeof(path), "/proc/self/task/%d/stat", thread);
    file = fopen(path, "re");
    if (file != NULL) {
        (void)!fscanf(file, "%*d %*s %c", &state);
        fclose(file);
    }
    return state == 'S';
}
