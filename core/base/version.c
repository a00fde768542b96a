/*
 * version.c - the version of the library that runs.
 */
#include "kubelua/version.h"

const char *kl_version(void)
{
    return KL_VERSION;
}
