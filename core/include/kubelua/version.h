/*
 * version.h - the version of the library, as in CMakeLists.txt.
 */
#ifndef KUBELUA_VERSION_H
#define KUBELUA_VERSION_H

#include "kubelua/error.h"

#define KL_VERSION "0.2.0"
#define KL_VERSION_NUMBER (0 * 10000 + 2 * 100 + 0)

#ifdef __cplusplus
extern "C" {
#endif

/* The version of the loaded library, which may be newer than this header;
 * static. */
KL_API const char *kl_version(void);

#ifdef __cplusplus
}
#endif
#endif
