/*
 * tls.c - see tls.h.
 */
#include "http/tls.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "http/pem.h"

#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

struct kl__tls {
    kl__tls_options options; /* owns its strings */
    char *trusted;           /* see kl__tls_trusted */
    int left_out;
    atomic_int refs; /* acquire-release: the last unref frees */

    kl__mutex mutex; /* guards the two fields below; rank TRANSPORT */
    kl__trust *trust;
    bool has_trust; /* `trust` is final */
};

/* Sets `*copy` to a copy of `text`, or to NULL. False: out of memory. */
static bool copy_setting(const char **copy, const char *text)
{
    *copy = kl__strdup(text);
    return text == NULL || *copy != NULL;
}

static void free_text(const char *text)
{
    kl__free((void *)(uintptr_t)text);
}

static void free_tls(kl__tls *tls)
{
    const char *key = tls->options.key;

    if (key != NULL) {
        kl__wipe((void *)(uintptr_t)key, strlen(key));
    }
    free_text(tls->options.ca);
    free_text(tls->options.cert);
    free_text(key);
    free_text(tls->options.server_name);
    kl__free(tls->trusted);
    kl__trust_unref(tls->trust);
    kl__mutex_deinit(&tls->mutex);
    kl__free(tls);
}

/* Sets `trusted` and `left_out`. False: out of memory. */
static bool pick_certificates(kl__tls *tls)
{
    kl__buf good = {0};

    if (tls->options.ca == NULL) {
        return true;
    }
    tls->left_out = kl__pem_certificates(tls->options.ca, &good);
    tls->trusted = kl__buf_take(&good, NULL);
    return tls->trusted != NULL;
}

kl__tls *kl__tls_new(const kl__tls_options *options)
{
    kl__tls *tls = kl__calloc(1, sizeof(*tls));

    if (tls == NULL) {
        return NULL;
    }
    atomic_init(&tls->refs, 1);
    kl__mutex_init(&tls->mutex, KL__RANK_TRANSPORT);
    tls->options.insecure = options->insecure;
    if (!copy_setting(&tls->options.ca, options->ca) ||
        !copy_setting(&tls->options.cert, options->cert) ||
        !copy_setting(&tls->options.key, options->key) ||
        !copy_setting(&tls->options.server_name, options->server_name) ||
        !pick_certificates(tls)) {
        free_tls(tls);
        return NULL;
    }
    return tls;
}

kl__tls *kl__tls_ref(kl__tls *tls)
{
    atomic_fetch_add_explicit(&tls->refs, 1, memory_order_relaxed);
    return tls;
}

void kl__tls_unref(kl__tls *tls)
{
    if (tls != NULL &&
        atomic_fetch_sub_explicit(&tls->refs, 1, memory_order_acq_rel) == 1) {
        free_tls(tls);
    }
}

const kl__tls_options *kl__tls_get(const kl__tls *tls)
{
    return &tls->options;
}

const char *kl__tls_trusted(const kl__tls *tls)
{
    return tls->trusted;
}

kl__trust *kl__tls_trust(kl__tls *tls)
{
    kl__trust *trust;

    kl__mutex_lock(&tls->mutex);
    if (!tls->has_trust && tls->trusted != NULL) {
        tls->trust = kl__trust_of_pem(tls->trusted);
    }
    tls->has_trust = true;
    trust = tls->trust;
    kl__mutex_unlock(&tls->mutex);
    return trust;
}

int kl__tls_left_out(const kl__tls *tls)
{
    return tls->left_out;
}
