/*
 * remedy.c - see remedy.h.
 */
#include "base/remedy.h"

#include <errno.h>

const char *kl__remedy(int number)
{
    switch (number) {
    case EMFILE:
        return "; raise the limit on open files (ulimit -n)";
    case ENFILE:
        return "; the machine's limit on open files is reached (fs.file-max)";
    default:
        return "";
    }
}

const char *kl__process_remedy(int number)
{
    return number == EAGAIN
               ? "; raise the limit on processes (ulimit -u, pids.max), or on "
                 "memory (ulimit -v)"
               : kl__remedy(number);
}
