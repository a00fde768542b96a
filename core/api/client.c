/*
 * client.c - the life of a client, and the opening of a request with
 * credentials: all requests of the layers above go through here.
 */
#include "api/client.h"

#include "api/discovery.h"
#include "api/user_agent.h"
#include "api/warnings.h"
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "config/credentials.h"
#include "config/load.h"
#include "kubelua/log.h"
#include "kubelua/client.h"

#include <string.h>

enum {
    READ_SIZE = 16 * 1024,
    METHODS = 6,
    STATUSES = 32 /* further ones are not counted */
};

/*
 * References: informers, list_watches and callers hold a client. A client
 * holds its transport, its config and the slot of the informer layer, whose
 * content does not hold the client by itself. So there is no cycle, and the
 * last user of the client frees it.
 */
struct kl_client {
    atomic_int refs; /* acquire-release: the last one frees */
    kl__forks made_in;
    kl_config *config;       /* NULL: a simulator's transport, no credentials */
    kl_transport *transport; /* of this client only, which closes it */
    char *user_agent;
    char *name;         /* NULL: none */
    bool shares_thread; /* constant */
    kl__discovery *discovery;
    kl__warnings *warnings;
    kl__cancel closed;
    /* The generation of the credentials that a server refused last, + 1; 0:
     * none. Relaxed: no other field depends on it. */
    _Atomic uint64_t refused;
    _Atomic uint64_t answers; /* with success. Relaxed: a count */
    /* Requests by status and method. `statuses` has the status of each row plus
     * 1; 0: the row is free. Relaxed: no other field depends on them. */
    atomic_int statuses[STATUSES];
    atomic_uint_fast64_t requests[STATUSES][METHODS];

    kl__mutex starting;       /* rank LIFECYCLE; guards the two below */
    kl__requester *requester; /* NULL: before the first request */
    const kl__requester_life *life;

    kl__mutex mutex; /* rank CLIENT; guards the two below */
    void *slot;
    void (*drop_slot)(void *content);
};

/* Frees the parts of a client, in the reverse order of their making. */
static void destroy_client(kl_client *client)
{
    if (client->requester != NULL) {
        client->life->free(client->requester);
    }
    if (client->slot != NULL) {
        client->drop_slot(client->slot);
    }
    kl__warnings_free(client->warnings);
    kl__discovery_free(client->discovery);
    kl__free(client->user_agent);
    kl__free(client->name);
    kl_transport_unref(client->transport);
    kl_config_unref(client->config);
    kl__mutex_deinit(&client->mutex);
    kl__mutex_deinit(&client->starting);
    kl__cancel_deinit(&client->closed);
    kl__free(client);
    kl__live_add(KL_LIVE_CLIENT, -1);
}

static kl_code check_options(const kl_client_options *options, kl_error *err)
{
    if (options == NULL ||
        (options->config == NULL && options->transport == NULL)) {
        return kl_error_set(err, KL_EINVAL,
                            "a client needs a config, or the transport of a "
                            "simulator");
    }
    if (options->user_agent != NULL &&
        !kl__is_header_text(options->user_agent)) {
        return kl_error_set(err, KL_EINVAL,
                            "a user agent is one line of printable ASCII");
    }
    return options->config != NULL
               ? kl__config_check_process(options->config, err)
               : KL_OK;
}

/* Makes the parts of a client that can fail. */
static kl_code make_client_parts(kl_client *client,
                                 const kl_client_options *options,
                                 kl_error *err)
{
    if (options->config != NULL) {
        client->config = kl_config_ref(options->config);
    }
    client->shares_thread = options->shares_thread;
    client->transport =
        options->transport != NULL
            ? kl__transport_ref(options->transport)
            : kl__curl_transport_new(options->shares_thread, err);
    if (client->transport == NULL) {
        return err->code;
    }
    client->user_agent = options->user_agent != NULL
                             ? kl__strdup(options->user_agent)
                             : kl__user_agent();
    client->name = kl__strdup(options->name);
    client->discovery = kl__discovery_new(client);
    client->warnings = kl__warnings_new();
    if (client->user_agent == NULL || client->discovery == NULL ||
        client->warnings == NULL ||
        (options->name != NULL && client->name == NULL)) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a client");
    }
    return KL_OK;
}

kl_client *kl_client_new(const kl_client_options *options, kl_error *err)
{
    kl_error local;
    kl_client *client;

    err = err != NULL ? err : &local;
    if (check_options(options, err) != KL_OK) {
        return NULL;
    }
    client = kl__calloc(1, sizeof(*client));
    if (client == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a client");
        return NULL;
    }
    kl__live_add(KL_LIVE_CLIENT, 1);
    client->made_in = kl__process_here();
    atomic_init(&client->refs, 1);
    kl__cancel_init(&client->closed);
    kl__mutex_init(&client->mutex, KL__RANK_CLIENT);
    kl__mutex_init(&client->starting, KL__RANK_LIFECYCLE);
    if (make_client_parts(client, options, err) != KL_OK) {
        destroy_client(client);
        return NULL;
    }
    return client;
}

kl_client *kl_client_ref(kl_client *client)
{
    atomic_fetch_add_explicit(&client->refs, 1, memory_order_relaxed);
    return client;
}

void kl_client_unref(kl_client *client)
{
    if (client == NULL || atomic_fetch_sub_explicit(
                              &client->refs, 1, memory_order_acq_rel) != 1) {
        return;
    }
    /* In a child of fork() there are no threads to join: free nothing. */
    if (kl__check_process(client->made_in, NULL) == KL_OK) {
        destroy_client(client);
    }
}

const char *kl_client_namespace(const kl_client *client)
{
    return client->config != NULL ? kl_config_namespace(client->config)
                                  : "default";
}

const char *kl_client_server(const kl_client *client)
{
    return client->config != NULL ? kl_config_server(client->config) : NULL;
}

bool kl__client_shares_thread(const kl_client *client)
{
    return client->shares_thread;
}

const char *kl__client_name(const kl_client *client)
{
    return client->name;
}

kl_code kl_client_reauthenticate(kl_client *client,
                                 const kl_config_options *options,
                                 kl_error *err)
{
    kl_code code = kl__check_process(client->made_in, err);
    kl_error local;
    kl_config *fresh;

    if (code != KL_OK) {
        return code;
    }
    if (client->config == NULL) {
        return kl_error_set(err, KL_EINVAL,
                            "a client of a simulator in this process has no "
                            "credentials");
    }
    err = err != NULL ? err : &local;
    fresh = kl_config_load(options, err);
    if (fresh == NULL) {
        return err->code;
    }
    code = kl__config_adopt(client->config, fresh, err);
    kl_config_unref(fresh);
    return code;
}

void kl_client_close(kl_client *client)
{
    if (kl__check_process(client->made_in, NULL) != KL_OK) {
        return;
    }
    /* 1. Refuse new requests. 2. End the open ones. */
    kl__cancel_fire(&client->closed);
    kl__transport_close(client->transport);
}

kl_code kl_client_check(const kl_client *client, kl_error *err)
{
    return kl__check_process(client->made_in, err);
}

kl__cancel *kl__client_closed(kl_client *client)
{
    return &client->closed;
}

bool kl__client_has_new_credentials(kl_client *client)
{
    uint64_t refused =
        atomic_load_explicit(&client->refused, memory_order_relaxed);

    return client->config != NULL && refused != 0 &&
           kl__config_renewed(client->config, refused - 1);
}

int64_t kl__client_plugin_ms(kl_client *client, const char **command)
{
    return client->config != NULL
               ? kl__config_plugin_ms(client->config, command)
               : -1;
}

kl__requester *kl__client_requester(kl_client *client,
                                    const kl__requester_life *life,
                                    kl_error *err)
{
    kl__requester *requester;

    kl__mutex_lock(&client->starting);
    if (client->requester == NULL) {
        client->life = life;
        client->requester = life->make(client, client->config, err);
    }
    requester = client->requester;
    kl__mutex_unlock(&client->starting);
    return requester;
}

kl__discovery *kl__client_discovery(kl_client *client)
{
    return client->discovery;
}

void *kl__client_slot(kl_client *client, void *(*make)(void),
                      void (*drop)(void *content))
{
    void *slot;

    kl__mutex_lock(&client->mutex);
    if (client->slot == NULL) {
        client->slot = make();
        client->drop_slot = drop;
    }
    slot = client->slot;
    kl__mutex_unlock(&client->mutex);
    return slot;
}

/* Counts a try and logs how it ended; not its headers, which contain tokens. */
static void note_request(kl_client *client, const kl__request *request,
                         int64_t began_ms, const kl__response *response,
                         const kl_error *err)
{
    long long took_ms = kl__clock_now(kl__clock_real()) - began_ms;

    kl__client_count(client, request->method,
                     response != NULL ? response->status : 0);
    if (response != NULL) {
        kl_log(KL_LOG_DEBUG, "%s %s: HTTP %d in %lld ms", request->method,
               request->target, response->status, took_ms);
    } else {
        kl_log(KL_LOG_DEBUG, "%s %s: failed in %lld ms: %s", request->method,
               request->target, took_ms, err->message);
    }
}

kl__stream *kl__client_begin(kl_client *client, const kl__request *request,
                             const kl__credentials *credentials, kl_error *err)
{
    kl__request filled = *request;
    size_t count = request->header_count;
    kl__header *headers =
        kl__calloc(count + credentials->header_count + 1, sizeof(kl__header));
    kl__stream *stream;

    if (headers == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for a request");
        return NULL;
    }
    if (count != 0) {
        memcpy(headers, request->headers, count * sizeof(kl__header));
    }
    headers[count++] = (kl__header){"User-Agent", client->user_agent};
    for (size_t i = 0; i < credentials->header_count; i++) {
        headers[count++] = credentials->headers[i];
    }
    filled.headers = headers;
    filled.header_count = count;
    filled.base_url =
        client->config != NULL ? kl_config_server(client->config) : "";
    filled.tls = credentials->tls;
    filled.proxy_url = credentials->proxy_url;
    stream = kl__transport_open(client->transport, &filled, err);
    kl__free(headers);
    return stream;
}

/* The place of a method in `methods`; the last one is for all others. */
static const char *const methods[METHODS] = {"GET",   "POST",   "PUT",
                                             "PATCH", "DELETE", "OTHER"};

static size_t place_of_method(const char *method)
{
    size_t place = 0;

    while (place < METHODS - 1 && strcmp(methods[place], method) != 0) {
        place++;
    }
    return place;
}

void kl__client_count(kl_client *client, const char *method, int status)
{
    size_t place = place_of_method(method);

    if (status >= 200 && status < 300) {
        atomic_fetch_add_explicit(&client->answers, 1, memory_order_relaxed);
    }
    for (size_t i = 0; i < STATUSES; i++) {
        int known = 0;

        /* A status gets the first free place, once for all. */
        if (atomic_compare_exchange_strong_explicit(
                &client->statuses[i], &known, status + 1, memory_order_relaxed,
                memory_order_relaxed) ||
            known == status + 1) {
            atomic_fetch_add_explicit(&client->requests[i][place], 1,
                                      memory_order_relaxed);
            return;
        }
    }
}

uint64_t kl__client_answers(const kl_client *client)
{
    return atomic_load_explicit(&client->answers, memory_order_relaxed);
}

size_t kl_client_requests(const kl_client *client, kl_request_count *counts,
                          size_t capacity)
{
    size_t filled = 0;

    for (size_t i = 0; i < STATUSES; i++) {
        int status =
            atomic_load_explicit(&client->statuses[i], memory_order_relaxed);

        for (size_t j = 0; j < METHODS && status != 0; j++) {
            uint64_t count = atomic_load_explicit(&client->requests[i][j],
                                                  memory_order_relaxed);

            if (count > 0 && filled < capacity) {
                counts[filled++] =
                    (kl_request_count){methods[j], status - 1, count};
            }
        }
    }
    return filled;
}

bool kl__client_refused(kl_client *client, uint64_t generation,
                        kl__cancel *cancel)
{
    atomic_store_explicit(&client->refused, generation + 1,
                          memory_order_relaxed);
    return kl__config_rejected(client->config, generation, cancel);
}

kl_code kl__client_check_redirect(const kl__response *response, kl_error *err)
{
    if (response->status < 300 || response->status >= 400 ||
        response->location[0] == '\0') {
        return KL_OK;
    }
    return kl_error_set(err, KL_EPARSE,
                        "the server answered with HTTP status %d, a redirect "
                        "to %s, which is not followed: is its address right, "
                        "or is there a proxy or login page in between?",
                        response->status, response->location);
}

void kl__client_warn(kl_client *client, const kl__response *response)
{
    kl__warnings_note(client->warnings, response->warnings);
}

/* A cancelled call of a client that is closed: that is why. */
static kl_code explain_cancel(kl__cancel *cancel, kl_code code, kl_error *err)
{
    return code == KL_ECANCELED && !kl__cancel_fired(cancel)
               ? kl_error_set(err, KL_ECLOSED, "the client is closed")
               : code;
}

/* The client's credentials; a close of the client ends that, too. */
static kl_code get_credentials(kl_client *client, kl__credentials *credentials,
                               kl__cancel *cancel, kl_error *err)
{
    kl__cancel_either either;
    kl_code code;

    if (client->config == NULL) {
        return KL_OK;
    }
    kl__cancel_either_init(&either, cancel, &client->closed);
    code =
        kl__config_credentials(client->config, credentials, &either.token, err);
    kl__cancel_either_deinit(&either);
    return explain_cancel(cancel, code, err);
}

kl_code kl__client_log_in(kl_client *client, kl__cancel *cancel, kl_error *err)
{
    kl__credentials credentials = {0};
    kl_code code = get_credentials(client, &credentials, cancel, err);

    if (client->config != NULL) {
        kl__credentials_clear(&credentials);
    }
    return code;
}

kl_code kl__client_send(kl_client *client, const kl__request *request,
                        kl__cancel *cancel, kl__sent *sent, kl_error *err)
{
    kl__credentials credentials = {0};
    kl_code code;

    *sent = (kl__sent){0};
    if (kl__cancel_fired(&client->closed)) {
        return kl_error_set(err, KL_ECLOSED, "the client is closed");
    }
    if (kl__cancel_fired(cancel)) {
        return kl_error_set(err, KL_ECANCELED, "the call was cancelled");
    }
    code = get_credentials(client, &credentials, cancel, err);
    if (code == KL_OK) {
        sent->generation = credentials.generation;
        sent->began_ms = kl__clock_now(kl__clock_real());
        sent->stream = kl__client_begin(client, request, &credentials, err);
        code = sent->stream != NULL ? KL_OK : err->code;
    }
    if (client->config != NULL) {
        kl__credentials_clear(&credentials);
    }
    return code;
}

void kl__client_give_up(kl_client *client, const kl__request *request,
                        kl__sent *sent, const kl_error *err)
{
    note_request(client, request, sent->began_ms, NULL, err);
    kl__stream_close(sent->stream);
    sent->stream = NULL;
}

kl_code kl__client_head(kl_client *client, const kl__request *request,
                        kl__sent *sent, int64_t deadline_ms, kl__cancel *cancel,
                        kl__response *response, kl_error *err)
{
    kl__cancel_either either;
    kl_code code;

    kl__cancel_either_init(&either, cancel, &client->closed);
    code = kl__stream_response(sent->stream, response, deadline_ms,
                               &either.token, err);
    kl__cancel_either_deinit(&either);
    code = explain_cancel(cancel, code, err);
    if (code == KL_OK) {
        note_request(client, request, sent->began_ms, response, err);
        kl__client_warn(client, response);
    } else if (code != KL_ETIMEOUT) {
        kl__client_give_up(client, request, sent, err);
    }
    return code;
}

bool kl__client_may_retry(kl_client *client, const kl__sent *sent,
                          const kl__response *response, kl__cancel *cancel)
{
    return response->status == 401 && client->config != NULL &&
           kl__client_refused(client, sent->generation, cancel);
}

kl_code kl__client_read_all(kl__stream *stream, size_t limit,
                            int64_t deadline_ms, kl__cancel *cancel,
                            kl__buf *body, kl_error *err)
{
    size_t length = 1;

    while (length != 0) {
        size_t room = limit - body->length < READ_SIZE
                          ? limit - body->length + 1 /* one byte more shows that
                                                        it is too large */
                          : READ_SIZE;
        char *end = kl__buf_reserve(body, room);
        kl_code code;

        if (end == NULL) {
            return kl_error_set(err, KL_ENOMEM, "out of memory for a body");
        }
        code = kl__stream_read(stream, end, room, &length, deadline_ms, cancel,
                               err);
        if (code != KL_OK) {
            return code;
        }
        body->length += length;
        body->bytes[body->length] = '\0';
        if (body->length > limit) {
            body->length = limit;
            body->bytes[limit] = '\0';
            return kl_error_set(err, KL_ETOO_LARGE,
                                "the answer is larger than %zu bytes", limit);
        }
    }
    return KL_OK;
}
