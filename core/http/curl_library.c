/*
 * curl_library.c - see curl_library.h.
 */
#include "http/curl_library.h"

#include "base/remedy.h"
#include "base/thread.h"

/* Guards what follows; rank TRANSPORT. */
static kl__mutex mutex = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_TRANSPORT};
static bool is_loaded;

#ifdef KL__CURL_LIBRARY

#include <dlfcn.h>
#include <errno.h>
#include <stddef.h>
#include <string.h>

kl__curl_calls kl__curl;

/* Where a function is, with the name that it has in the library. */
typedef struct curl_symbol {
    const char *name;
    size_t at; /* in kl__curl_calls */
} curl_symbol;

/* A member's name, and the library's. */
#define SYMBOL(name) {"curl_" #name, offsetof(kl__curl_calls, name)},

static const curl_symbol symbols[] = {KL__CURL_CALLS(SYMBOL)};

/* What to do about the loader's complaint, which ends in the system's words. */
static const char *remedy_for(const char *complaint)
{
    static const int numbers[] = {EMFILE, ENFILE};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        if (strstr(complaint, strerror(numbers[i])) != NULL) {
            return kl__remedy(numbers[i]);
        }
    }
    return strstr(complaint, strerror(ENOENT)) != NULL ? "; install libcurl"
                                                       : "";
}

static kl_code find_all_locked(kl_error *err)
{
    void *library = dlopen(KL__CURL_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    kl__curl_calls found;

    if (library == NULL) {
        const char *complaint = dlerror();

        return kl_error_set(err, KL_EIO, "cannot load libcurl: %s%s", complaint,
                            remedy_for(complaint));
    }
    for (size_t i = 0; i < sizeof(symbols) / sizeof(symbols[0]); i++) {
        void *symbol = dlsym(library, symbols[i].name);

        if (symbol == NULL) {
            kl_error_set(err, KL_EIO,
                         "cannot load libcurl: %s has no %s: it is too old",
                         KL__CURL_LIBRARY, symbols[i].name);
            dlclose(library);
            return KL_EIO;
        }
        memcpy((char *)&found + symbols[i].at, &symbol, sizeof(symbol));
    }
    kl__curl = found;
    return KL_OK;
}

#else

static kl_code find_all_locked(kl_error *err)
{
    (void)err;
    return KL_OK; /* the linker has */
}

#endif

kl_code kl__curl_load(kl_error *err)
{
    kl_code code = KL_OK;

    kl__mutex_lock(&mutex);
    if (!is_loaded) {
        CURLcode status;

        code = find_all_locked(err);
        status =
            code == KL_OK ? curl_global_init(CURL_GLOBAL_DEFAULT) : CURLE_OK;
        if (status != CURLE_OK) {
            code = kl_error_set(err, KL_EIO, "cannot initialise libcurl: %s",
                                curl_easy_strerror(status));
        }
        is_loaded = code == KL_OK;
    }
    kl__mutex_unlock(&mutex);
    return code;
}
