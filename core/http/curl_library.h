/*
 * curl_library.h - libcurl, initialised once for a process. The one header that
 * includes curl.h.
 */
#ifndef KL_HTTP_CURL_LIBRARY_H
#define KL_HTTP_CURL_LIBRARY_H

#include "kubelua/error.h"

#include <curl/curl.h>

/* Initialises libcurl for the life of the process, at the first call; a call
 * after a failure tries again. KL_EIO. Thread-safe. */
kl_code kl__curl_load(kl_error *err);

#endif
