/*
 * curl_library.h - libcurl, loaded when a process first needs it: with the 26
 * libraries that it stands on (Debian 12) it takes 3 ms, a third of the start
 * of one that never does. The one header that includes curl.h.
 *
 * Without KL__CURL_LIBRARY, the name of its shared object, libcurl is linked as
 * any library, and the compiler checks the types of options.
 */
#ifndef KL_HTTP_CURL_LIBRARY_H
#define KL_HTTP_CURL_LIBRARY_H

#include "kubelua/error.h"

#ifdef KL__CURL_LIBRARY
#define CURL_DISABLE_TYPECHECK
#endif
#include <curl/curl.h>

/* Loads and initialises it, once for the life of the process; what fails is
 * tried again by the next call. KL_EIO. Thread-safe. */
kl_code kl__curl_load(kl_error *err);

#ifdef KL__CURL_LIBRARY

/* Every function of libcurl that is called. */
#define KL__CURL_CALLS(CALL)  \
    CALL(easy_cleanup)        \
    CALL(easy_getinfo)        \
    CALL(easy_init)           \
    CALL(easy_pause)          \
    CALL(easy_setopt)         \
    CALL(easy_strerror)       \
    CALL(free)                \
    CALL(global_init)         \
    CALL(multi_add_handle)    \
    CALL(multi_cleanup)       \
    CALL(multi_info_read)     \
    CALL(multi_init)          \
    CALL(multi_perform)       \
    CALL(multi_poll)          \
    CALL(multi_remove_handle) \
    CALL(multi_wakeup)        \
    CALL(slist_append)        \
    CALL(slist_free_all)      \
    CALL(url)                 \
    CALL(url_cleanup)         \
    CALL(url_get)             \
    CALL(url_set)             \
    CALL(version_info)

/* Macros of curl.h that only count the arguments. */
#undef curl_easy_getinfo
#undef curl_easy_setopt

#define KL__CURL_MEMBER(name) __typeof__(curl_##name) *name;

typedef struct kl__curl_calls {
    KL__CURL_CALLS(KL__CURL_MEMBER)
} kl__curl_calls;

/* Immutable once kl__curl_load has succeeded; not to be called before. */
extern kl__curl_calls kl__curl;

#define curl_easy_cleanup (*kl__curl.easy_cleanup)
#define curl_easy_getinfo (*kl__curl.easy_getinfo)
#define curl_easy_init (*kl__curl.easy_init)
#define curl_easy_pause (*kl__curl.easy_pause)
#define curl_easy_setopt (*kl__curl.easy_setopt)
#define curl_easy_strerror (*kl__curl.easy_strerror)
#define curl_free (*kl__curl.free)
#define curl_global_init (*kl__curl.global_init)
#define curl_multi_add_handle (*kl__curl.multi_add_handle)
#define curl_multi_cleanup (*kl__curl.multi_cleanup)
#define curl_multi_info_read (*kl__curl.multi_info_read)
#define curl_multi_init (*kl__curl.multi_init)
#define curl_multi_perform (*kl__curl.multi_perform)
#define curl_multi_poll (*kl__curl.multi_poll)
#define curl_multi_remove_handle (*kl__curl.multi_remove_handle)
#define curl_multi_wakeup (*kl__curl.multi_wakeup)
#define curl_slist_append (*kl__curl.slist_append)
#define curl_slist_free_all (*kl__curl.slist_free_all)
#define curl_url (*kl__curl.url)
#define curl_url_cleanup (*kl__curl.url_cleanup)
#define curl_url_get (*kl__curl.url_get)
#define curl_url_set (*kl__curl.url_set)
#define curl_version_info (*kl__curl.version_info)

#endif

#endif
