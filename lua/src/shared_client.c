/* shared_client.c - see shared_client.h. */
#include "shared_client.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The options of a client that are texts. */
static const struct {
    const char *name;
    size_t offset;
} TEXTS[] = {{"kubeconfig", offsetof(kl_config_options, kubeconfig)},
             {"kubeconfig_text", offsetof(kl_config_options, kubeconfig_text)},
             {"context", offsetof(kl_config_options, context)},
             {"server", offsetof(kl_config_options, server)},
             {"token", offsetof(kl_config_options, token)},
             {"token_file", offsetof(kl_config_options, token_file)},
             {"ca_file", offsetof(kl_config_options, ca_file)},
             {"ca_data", offsetof(kl_config_options, ca_data)},
             {"cert_file", offsetof(kl_config_options, cert_file)},
             {"key_file", offsetof(kl_config_options, key_file)},
             {"cert_data", offsetof(kl_config_options, cert_data)},
             {"key_data", offsetof(kl_config_options, key_data)},
             {"namespace", offsetof(kl_config_options, name_space)},
             {"tls_server_name", offsetof(kl_config_options, tls_server_name)},
             {"proxy_url", offsetof(kl_config_options, proxy_url)}};

enum { TEXT_COUNT = sizeof(TEXTS) / sizeof(TEXTS[0]) };

_Static_assert(sizeof(kl_config_options) == (TEXT_COUNT + 1) * sizeof(char *),
               "every option is compared");

typedef struct shared_client {
    struct shared_client *next;
    char *name;
    char *texts[TEXT_COUNT]; /* NULL: not given */
    bool insecure;
    kl_client *client; /* one reference for each user */
    int users;
} shared_client;

/* Guards `clients` and all that they hold. No lock of the core is held when it
 * is taken. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static shared_client *clients;
/* Those of the parent process, in a child of fork(): never used again. */
static shared_client *forgotten;
static pthread_once_t once = PTHREAD_ONCE_INIT;

/* In a child of fork(): another thread may have held the mutex, and no client
 * of the parent works here. */
static void forget_clients(void)
{
    static const pthread_mutex_t fresh = PTHREAD_MUTEX_INITIALIZER;

    memcpy(&mutex, &fresh, sizeof(mutex));
    forgotten = clients;
    clients = NULL;
    (void)forgotten;
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, forget_clients);
}

static const char *text_of(const kl_config_options *options, size_t i)
{
    return *(const char *const *)((const char *)options + TEXTS[i].offset);
}

static bool are_equal(const char *a, const char *b)
{
    return a == NULL || b == NULL ? a == b : strcmp(a, b) == 0;
}

/* The name of an option that differs; NULL if none does. */
static const char *find_difference(const shared_client *shared,
                                   const kl_config_options *options)
{
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        if (!are_equal(shared->texts[i], text_of(options, i))) {
            return TEXTS[i].name;
        }
    }
    return shared->insecure != options->insecure ? "insecure" : NULL;
}

static void free_shared(shared_client *shared)
{
    if (shared == NULL) {
        return;
    }
    for (size_t i = 0; i < TEXT_COUNT; i++) {
        if (shared->texts[i] != NULL) { /* it may be a key */
            explicit_bzero(shared->texts[i], strlen(shared->texts[i]));
        }
        free(shared->texts[i]);
    }
    free(shared->name);
    free(shared);
}

static bool copy_text(char **to, const char *text)
{
    *to = text != NULL ? strdup(text) : NULL;
    return text == NULL || *to != NULL;
}

static shared_client *make_shared(const char *name,
                                  const kl_config_options *options)
{
    shared_client *shared = calloc(1, sizeof(*shared));
    bool ok = shared != NULL && copy_text(&shared->name, name);

    for (size_t i = 0; ok && i < TEXT_COUNT; i++) {
        ok = copy_text(&shared->texts[i], text_of(options, i));
    }
    if (!ok) {
        free_shared(shared);
        return NULL;
    }
    shared->insecure = options->insecure;
    return shared;
}

static kl_client *make_client(const kl_config_options *options, kl_error *err)
{
    kl_config *config = kl_config_load(options, err);
    kl_client *client = NULL;

    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, err);
        kl_config_unref(config);
    }
    return client;
}

/* The first user's: makes the client, with the mutex held, so that states that
 * connect at the same time get one client. */
static kl_client *add_locked(const char *name, const kl_config_options *options,
                             kl_error *err)
{
    shared_client *shared = make_shared(name, options);

    if (shared == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory");
        return NULL;
    }
    shared->client = make_client(options, err);
    if (shared->client == NULL) {
        free_shared(shared);
        return NULL;
    }
    shared->users = 1;
    shared->next = clients;
    clients = shared;
    return shared->client;
}

static kl_client *join_locked(shared_client *shared,
                              const kl_config_options *options, kl_error *err)
{
    const char *other = find_difference(shared, options);

    if (other != NULL) {
        kl_error_set(err, KL_EINVAL,
                     "connect: the client that is shared as '%s' was opened "
                     "with another '%s'",
                     shared->name, other);
        return NULL;
    }
    shared->users++;
    return kl_client_ref(shared->client);
}

kl_client *shared_client_open(const char *name,
                              const kl_config_options *options, kl_error *err)
{
    shared_client *shared;
    kl_client *client;

    pthread_once(&once, watch_forks);
    pthread_mutex_lock(&mutex);
    shared = clients;
    while (shared != NULL && strcmp(shared->name, name) != 0) {
        shared = shared->next;
    }
    client = shared != NULL ? join_locked(shared, options, err)
                            : add_locked(name, options, err);
    pthread_mutex_unlock(&mutex);
    return client;
}

/* Removes a user of the client; true for the last one. A client of the parent
 * process is not found. */
static bool leave_locked(const kl_client *client)
{
    shared_client **place = &clients;
    shared_client *shared;

    while (*place != NULL && (*place)->client != client) {
        place = &(*place)->next;
    }
    shared = *place;
    if (shared == NULL || --shared->users > 0) {
        return false;
    }
    *place = shared->next;
    free_shared(shared);
    return true;
}

void shared_client_close(kl_client *client, bool ends)
{
    bool is_last;

    pthread_mutex_lock(&mutex);
    is_last = leave_locked(client);
    pthread_mutex_unlock(&mutex);
    if (is_last && ends) {
        kl_client_close(client);
    }
    kl_client_unref(client);
}
