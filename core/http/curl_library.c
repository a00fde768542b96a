/*
 * curl_library.c - see curl_library.h.
 */
#include "http/curl_library.h"

#include "base/thread.h"

/* Guards is_loaded; rank TRANSPORT. */
static kl__mutex mutex = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_TRANSPORT};
static bool is_loaded;

__attribute__((constructor)) static void keep_mutex_over_fork(void)
{
    kl__mutex_outlive_fork(&mutex, 1);
}

kl_code kl__curl_load(kl_error *err)
{
    kl_code code = KL_OK;

    kl__mutex_lock(&mutex);
    if (!is_loaded) {
        CURLcode status = curl_global_init(CURL_GLOBAL_DEFAULT);

        if (status != CURLE_OK) {
            code = kl_error_set(err, KL_EIO, "cannot initialise libcurl: %s",
                                curl_easy_strerror(status));
        }
        is_loaded = code == KL_OK;
    }
    kl__mutex_unlock(&mutex);
    return code;
}
