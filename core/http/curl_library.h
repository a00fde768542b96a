/*
 * curl_library.h - initialises libcurl, once in a process. The only header that
 * includes curl.h.
 */
#ifndef KL_HTTP_CURL_LIBRARY_H
#define KL_HTTP_CURL_LIBRARY_H

#include "kubelua/error.h"

#include <curl/curl.h>

/* The first call initialises libcurl for the life of the process; after a
 * failure the next call tries again. KL_EIO. Thread-safe. */
kl_code kl__curl_load(kl_error *err);

#endif
