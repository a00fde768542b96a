/*
 * trust.c - see trust.h. This file reads CAs as libcurl 7.88 to 8.22 does (its
 * function `populate_x509_store`): the same files, flags and revocation lists.
 */
#include "http/trust.h"

#include <stddef.h>

#ifdef KUBELUA_OPENSSL

#include "base/clock.h"
#include "base/mem.h"
#include "base/sha256.h"
#include "base/str.h"
#include "base/thread.h"
#include "http/curl_library.h"

#include <inttypes.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

/* No file can be below a device. */
#define NOWHERE "/dev/null/kubelua-ca/"

enum {
    /* So long the CAs of the system are taken for unchanged. A changed file is
     * noticed at once; but OpenSSL keeps what it has found in the folder, and a
     * certificate there can change without the folder. */
    KEPT_MS = 5 * 60 * 1000,
    /* A file that was written so short a time ago may be written again without
     * another time: the kernel's clock for files has steps of 10 ms at most. */
    SETTLES_MS = 50
};

struct kl__trust {
    X509_STORE *store; /* OpenSSL locks it; no certificate is ever taken out */
    char path[sizeof(NOWHERE) + 2 * (size_t)KL__SHA256_SIZE];
    atomic_int refs; /* acquire-release: the last unref frees */
};

/* Guards what is below; rank TRUST. */
static kl__mutex mutex = {PTHREAD_MUTEX_INITIALIZER, KL__RANK_TRUST};
static enum { NOT_KNOWN, IS_SHARED, NOT_SHARED } sharing;
static kl__trust *of_system; /* a reference; NULL: not read yet */
static char *system_key;     /* what it was read from: see key_of_system */
static int64_t read_ms;      /* when, on the real clock */
static bool was_settled;     /* see SETTLES_MS */

__attribute__((constructor)) static void keep_mutex_over_fork(void)
{
    kl__mutex_outlive_fork(&mutex, 1);
}

/*
 * True if a context that libcurl makes can be used here: its only backend is
 * OpenSSL, in the version that this process has. libcurl with GnuTLS, LibreSSL
 * or several backends names itself otherwise.
 */
static bool uses_our_openssl(void)
{
    const char *theirs = curl_version_info(CURLVERSION_NOW)->ssl_version;
    char ours[64];

    snprintf(ours, sizeof(ours), "OpenSSL/%s",
             OpenSSL_version(OPENSSL_VERSION_STRING));
    return theirs != NULL && strcmp(theirs, ours) == 0;
}

static bool can_share_locked(void)
{
    if (sharing == NOT_KNOWN) {
        sharing = uses_our_openssl() ? IS_SHARED : NOT_SHARED;
    }
    return sharing == IS_SHARED;
}

static bool can_share(void)
{
    bool can;

    kl__mutex_lock(&mutex);
    can = can_share_locked();
    kl__mutex_unlock(&mutex);
    return can;
}

static void free_trust(kl__trust *trust)
{
    X509_STORE_free(trust->store);
    kl__free(trust);
}

/* `key` is all that the CAs depend on. NULL: out of memory. */
static kl__trust *new_trust(const char *key)
{
    unsigned char digest[KL__SHA256_SIZE];
    kl__trust *trust = kl__calloc(1, sizeof(*trust));
    char *at;

    if (trust == NULL) {
        return NULL;
    }
    atomic_init(&trust->refs, 1);
    kl__sha256(key, strlen(key), digest);
    memcpy(trust->path, NOWHERE, sizeof(NOWHERE));
    at = trust->path + sizeof(NOWHERE) - 1;
    for (size_t i = 0; i < sizeof(digest); i++) {
        snprintf(at + 2 * i, 3, "%02x", digest[i]);
    }
    trust->store = X509_STORE_new();
    /* As libcurl: CAs of the store come before certificates that the server
     * sends; one that another CA signed is trusted like a root. */
    if (trust->store == NULL ||
        !X509_STORE_set_flags(trust->store, X509_V_FLAG_TRUSTED_FIRST |
                                                X509_V_FLAG_PARTIAL_CHAIN)) {
        free_trust(trust);
        return NULL;
    }
    return trust;
}

/* Adds the certificates and revocation lists. False: there are none, or no
 * memory is left. */
static bool add_pem(X509_STORE *store, const char *pem)
{
    BIO *text = BIO_new_mem_buf(pem, -1);
    STACK_OF(X509_INFO) *found =
        text != NULL ? PEM_X509_INFO_read_bio(text, NULL, NULL, NULL) : NULL;
    int count = 0;
    bool ok = found != NULL;

    for (int i = 0; ok && i < sk_X509_INFO_num(found); i++) {
        const X509_INFO *info = sk_X509_INFO_value(found, i);

        ok = (info->x509 == NULL || X509_STORE_add_cert(store, info->x509)) &&
             (info->crl == NULL || X509_STORE_add_crl(store, info->crl));
        count += info->x509 != NULL || info->crl != NULL;
    }
    sk_X509_INFO_pop_free(found, X509_INFO_free);
    BIO_free(text);
    return ok && count > 0;
}

kl__trust *kl__trust_of_pem(const char *pem)
{
    kl__trust *trust;

    if (!can_share()) {
        return NULL;
    }
    trust = new_trust(pem);
    ERR_set_mark(); /* the caller may use OpenSSL, too */
    if (trust != NULL && !add_pem(trust->store, pem)) {
        free_trust(trust);
        trust = NULL;
    }
    ERR_pop_to_mark();
    return trust;
}

/* ---- the CAs of the system ---- */

static bool has_settled(const struct stat *file)
{
    struct timespec now;

    clock_gettime(CLOCK_REALTIME, &now);
    return (now.tv_sec - file->st_ctim.tv_sec) * 1000 +
               (now.tv_nsec - file->st_ctim.tv_nsec) / 1000000 >
           SETTLES_MS;
}

/* What tells two states of a file, or of a folder, from each other; "": there
 * is none. False: it is no file and no folder. */
static bool describe(const char *path, char text[160], bool *is_settled)
{
    struct stat now;

    text[0] = '\0';
    if (path == NULL || stat(path, &now) != 0) {
        return true;
    }
    *is_settled = *is_settled && has_settled(&now);
    snprintf(text, 160, "%ju.%ju.%jd.%jd.%ld.%jd.%ld", (uintmax_t)now.st_dev,
             (uintmax_t)now.st_ino, (intmax_t)now.st_size,
             (intmax_t)now.st_mtim.tv_sec, now.st_mtim.tv_nsec,
             (intmax_t)now.st_ctim.tv_sec, now.st_ctim.tv_nsec);
    return S_ISREG(now.st_mode) || S_ISDIR(now.st_mode);
}

/* Both paths, and what is there. NULL: it cannot be said, or no memory is
 * left. */
static char *key_of_system(const char *file, const char *folder,
                           bool *is_settled)
{
    char of_file[160], of_folder[160];

    *is_settled = true;
    if (!describe(file, of_file, is_settled) ||
        !describe(folder, of_folder, is_settled)) {
        return NULL;
    }
    return kl__strprintf("system\n%s\n%s\n%s\n%s", file != NULL ? file : "",
                         of_file, folder != NULL ? folder : "", of_folder);
}

static kl__trust *read_system(const char *key, const char *file,
                              const char *folder)
{
    kl__trust *trust = new_trust(key);

    ERR_set_mark();
    if (trust != NULL &&
        ((file != NULL && !X509_STORE_load_file(trust->store, file)) ||
         (folder != NULL && !X509_STORE_load_path(trust->store, folder)))) {
        free_trust(trust);
        trust = NULL;
    }
    ERR_pop_to_mark();
    return trust;
}

/* Makes `of_system` the present CAs, or NULL. Other threads that need them wait
 * meanwhile: they would read the same. */
static void refresh_system_locked(const char *file, const char *folder)
{
    int64_t now = kl__clock_now(kl__clock_real());
    bool is_settled;
    char *key = key_of_system(file, folder, &is_settled);

    if (of_system != NULL && was_settled && kl__streq(key, system_key) &&
        now - read_ms < KEPT_MS) {
        kl__free(key);
        return;
    }
    kl__trust_unref(of_system);
    kl__free(system_key);
    of_system = key != NULL ? read_system(key, file, folder) : NULL;
    system_key = key;
    read_ms = now;
    was_settled = is_settled;
}

kl__trust *kl__trust_of_system(const char *file, const char *folder)
{
    kl__trust *trust = NULL;

    kl__mutex_lock(&mutex);
    if ((file != NULL || folder != NULL) && can_share_locked()) {
        refresh_system_locked(file, folder);
        trust = of_system != NULL ? kl__trust_ref(of_system) : NULL;
    }
    kl__mutex_unlock(&mutex);
    return trust;
}

/* ---- the object ---- */

kl__trust *kl__trust_ref(kl__trust *trust)
{
    atomic_fetch_add_explicit(&trust->refs, 1, memory_order_relaxed);
    return trust;
}

void kl__trust_unref(kl__trust *trust)
{
    if (trust != NULL &&
        atomic_fetch_sub_explicit(&trust->refs, 1, memory_order_acq_rel) == 1) {
        free_trust(trust);
    }
}

const char *kl__trust_path(const kl__trust *trust)
{
    return trust->path;
}

/*
 * Not as the context's own store: libcurl 7.88 fills that one after its
 * callback, and would add to what all share. The chain of the client's
 * certificate is completed from the same CAs, as without this.
 */
bool kl__trust_apply(const kl__trust *trust, void *ssl_context)
{
    SSL_CTX *context = ssl_context;

    return SSL_CTX_set1_verify_cert_store(context, trust->store) == 1 &&
           SSL_CTX_set1_chain_cert_store(context, trust->store) == 1;
}

#else /* libcurl reads the CAs */

kl__trust *kl__trust_of_pem(const char *pem)
{
    (void)pem;
    return NULL;
}

kl__trust *kl__trust_of_system(const char *file, const char *folder)
{
    (void)file;
    (void)folder;
    return NULL;
}

kl__trust *kl__trust_ref(kl__trust *trust)
{
    return trust;
}

void kl__trust_unref(kl__trust *trust)
{
    (void)trust;
}

const char *kl__trust_path(const kl__trust *trust)
{
    (void)trust;
    return NULL;
}

bool kl__trust_apply(const kl__trust *trust, void *ssl_context)
{
    (void)trust;
    (void)ssl_context;
    return true;
}

#endif
