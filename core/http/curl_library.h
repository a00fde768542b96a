/*
 * curl_library.h - initialises libcurl, once in a process. The only header that
 * includes curl.h.
 */
#ifndef KL_HTTP_CURL_LIBRARY_H
#define KL_HTTP_CURL_LIBRARY_H

#include "kubelua/error.h"

#include <curl/curl.h>

/* CURLOPT_QUICK_EXIT (libcurl 7.87) and CURLMOPT_QUICK_EXIT (8.20), by number:
 * the libcurl at run time may be newer than the headers. An older one does not
 * know them, which does no harm. */
enum { KL__CURL_QUICK_EXIT = 322, KL__CURL_MULTI_QUICK_EXIT = 21 };

/* The first call initialises libcurl for the life of the process; after a
 * failure the next call tries again. KL_EIO. Thread-safe. */
kl_code kl__curl_load(kl_error *err);

#endif
