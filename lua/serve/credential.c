/*
 * credential.c - see credential.h. GnuTLS has no argument of ours in its
 * callback, so the credentials are the process's.
 */
#include "credential.h"

#include "kubelua/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    CHAIN = 8,      /* certificates of a chain at most */
    KEY_ID = 64,    /* bytes of a key's id at most: those of SHA-512 */
    OUTLASTS_S = 60 /* how long a handshake may need a credential that was
                       replaced: libmicrohttpd ends each one TIMEOUT_S (15 s,
                       admit.c) after its connection came, whatever the client
                       sends meanwhile */
};

struct credential {
    gnutls_pcert_st chain[CHAIN];
    unsigned count;
    gnutls_privkey_t key;
    credential *next;   /* the one before it */
    time_t replaced_at; /* on CLOCK_MONOTONIC; 0: it is in use */
};

/* Guards the list; no lock is taken under it. */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static credential *newest;

void credential_free(credential *self)
{
    if (self == NULL) {
        return;
    }
    for (unsigned i = 0; i < self->count; i++) {
        gnutls_pcert_deinit(&self->chain[i]);
    }
    if (self->key != NULL) {
        gnutls_privkey_deinit(self->key);
    }
    free(self);
}

static gnutls_datum_t datum_of(const char *text)
{
    return (gnutls_datum_t){(unsigned char *)(uintptr_t)text,
                            (unsigned)strlen(text)};
}

static int read_chain(credential *self, const char *text)
{
    const gnutls_datum_t pem = datum_of(text);
    unsigned count = CHAIN;
    int status = gnutls_pcert_list_import_x509_raw(
        self->chain, &count, &pem, GNUTLS_X509_FMT_PEM,
        GNUTLS_X509_CRT_LIST_FAIL_IF_UNSORTED);

    self->count = status == 0 ? count : 0;
    return status;
}

static int read_key(credential *self, const char *text)
{
    const gnutls_datum_t pem = datum_of(text);
    int status = gnutls_privkey_init(&self->key);

    return status != 0 ? status
                       : gnutls_privkey_import_x509_raw(
                             self->key, &pem, GNUTLS_X509_FMT_PEM, NULL, 0);
}

/* True if the key is that of the first certificate. */
static bool fits(const credential *self)
{
    unsigned char of_key[KEY_ID], of_cert[KEY_ID];
    size_t key_size = sizeof(of_key), cert_size = sizeof(of_cert);
    gnutls_pubkey_t public;
    bool result;

    if (gnutls_pubkey_init(&public) != 0) {
        return false;
    }
    result =
        gnutls_pubkey_import_privkey(public, self->key, 0, 0) == 0 &&
        gnutls_pubkey_get_key_id(public, GNUTLS_KEYID_USE_SHA256, of_key,
                                 &key_size) == 0 &&
        gnutls_pubkey_get_key_id(self->chain[0].pubkey, GNUTLS_KEYID_USE_SHA256,
                                 of_cert, &cert_size) == 0 &&
        key_size == cert_size && memcmp(of_key, of_cert, key_size) == 0;
    gnutls_pubkey_deinit(public);
    return result;
}

static kl_code refuse_part(const char *what, int status, kl_error *err)
{
    return kl_error_set(
        err, status == GNUTLS_E_MEMORY_ERROR ? KL_ENOMEM : KL_EINVAL,
        "the %s cannot be read: %s", what, gnutls_strerror(status));
}

credential *credential_new(const char *chain, const char *key, kl_error *err)
{
    credential *self = calloc(1, sizeof(*self));
    kl_code code = KL_OK;
    int status;

    if (self == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a certificate");
        return NULL;
    }
    status = read_chain(self, chain);
    if (status != 0) {
        code = refuse_part("certificate (PEM)", status, err);
    } else if ((status = read_key(self, key)) != 0) {
        code = refuse_part("private key (PEM)", status, err);
    } else if (!fits(self)) {
        code = kl_error_set(err, KL_EINVAL,
                            "the private key is not that of the certificate");
    }
    if (code != KL_OK) {
        credential_free(self);
        return NULL;
    }
    return self;
}

static time_t read_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

/* Frees what was replaced long ago; the newest one stays. */
static void drop_old_locked(time_t now)
{
    credential **at = &newest->next;

    while (*at != NULL) {
        credential *one = *at;

        if (now - one->replaced_at > OUTLASTS_S) {
            *at = one->next;
            credential_free(one);
        } else {
            at = &one->next;
        }
    }
}

void credential_use(credential *self)
{
    time_t now = read_seconds();

    pthread_mutex_lock(&lock);
    if (newest != NULL) {
        newest->replaced_at = now;
    }
    self->next = newest;
    newest = self;
    drop_old_locked(now);
    pthread_mutex_unlock(&lock);
}

void credential_clear(void)
{
    credential *list;

    pthread_mutex_lock(&lock);
    list = newest;
    newest = NULL;
    pthread_mutex_unlock(&lock);
    while (list != NULL) {
        credential *next = list->next;

        credential_free(list);
        list = next;
    }
}

int credential_retrieve(gnutls_session_t session,
                        const gnutls_datum_t *authorities, int authority_count,
                        const gnutls_pk_algorithm_t *algorithms,
                        int algorithm_count, gnutls_pcert_st **chain,
                        unsigned *count, gnutls_privkey_t *key)
{
    int status = -1;

    (void)session;
    (void)authorities;
    (void)authority_count;
    (void)algorithms;
    (void)algorithm_count;
    pthread_mutex_lock(&lock);
    if (newest != NULL) {
        *chain = newest->chain;
        *count = newest->count;
        *key = newest->key;
        status = 0;
    }
    pthread_mutex_unlock(&lock);
    return status;
}
