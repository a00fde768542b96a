/*
 * cancel_network_spec.c - every call that waits for a server, against each kind
 * of server, cancelled at random moments. The lint of blocking calls reads the
 * names of the calls here.
 */
#include "answered.h"
#include "kube_script.h"
#include "lent_wait.h"
#include "trial.h"

#include "api/client.h"
#include "api/discovery.h"
#include "api/list_watch.h"
#include "kubelua/client.h"
#include "kubelua/informer.h"
#include "kubelua/memory.h"
#include "kubelua/request.h"

#include <dlfcn.h>
#include <netdb.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* What a call blocks in. Members that are not needed stay zeroed. */
typedef struct scene {
    peer *peer;
    kl_config *config;
    kl_transport *shared; /* transport of streams, for all rounds */
    bool keeps_client;    /* keep the client for all rounds */

    /* Members of one round. */
    kl_client *client;
    kl_transport *transport;
    kl__stream *stream;
    kl__list_watch *source;
    kl_informer *informer;
    kl_request *request;
    kl__cancel cancel;
} scene;

static kl_client *new_client(const scene *self)
{
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = self->config}, NULL);

    assert_non_null(client);
    return client;
}

static kl_transport *new_transport(void)
{
    kl_transport *transport = kl__curl_transport_new(false, NULL);

    assert_non_null(transport);
    return transport;
}

static scene *set_up(const trial *what, bool all, bool keeps_client)
{
    const peer_kind *kind = what->detail;
    scene *self = calloc(1, sizeof(*self));
    kl_config_options options = {.insecure = *kind == PEER_NO_TLS};

    assert_non_null(self);
    self->peer = peer_new(*kind, all);
    options.server = self->peer->url;
    self->config = kl_config_load(&options, NULL);
    assert_non_null(self->config);
    self->keeps_client = keeps_client;
    if (keeps_client) {
        self->client = new_client(self);
    }
    return self;
}

/* One client for all rounds; a cancel token ends the call. */
static void *network_set_up_client(const trial *what)
{
    return set_up(what, true, true);
}

/* A client for each round; closing it ends the call. */
static void *network_set_up(const trial *what)
{
    return set_up(what, true, false);
}

/* Discovery is always answered, whatever the peer does with other requests. */
static void *network_set_up_source(const trial *what)
{
    return set_up(what, false, true);
}

/* A transport for all rounds, and no client; a cancel token ends the call. */
static void *network_set_up_stream(const trial *what)
{
    scene *self = set_up(what, true, false);

    self->shared = new_transport();
    return self;
}

static void network_tear_down(void *scene_)
{
    scene *self = scene_;

    kl_client_unref(self->client);
    kl_config_unref(self->config);
    kl_transport_unref(self->shared);
    peer_free(self->peer);
    free(self);
}

static void network_begin(void *scene_)
{
    scene *self = scene_;

    kl__cancel_init(&self->cancel);
    if (!self->keeps_client) {
        self->client = new_client(self);
    }
}

static void open_stream(scene *self, kl_transport *transport)
{
    kl__tls *tls = kl__tls_new(&(kl__tls_options){.insecure = true});
    kl__request request = {.method = "GET",
                           .base_url = self->peer->url,
                           .target = "/api/v1/nodes",
                           .tls = tls};

    kl__cancel_init(&self->cancel);
    self->stream = kl__transport_open(transport, &request, NULL);
    kl__tls_unref(tls);
    assert_non_null(self->stream);
}

static void network_begin_stream(void *scene_)
{
    scene *self = scene_;

    open_stream(self, self->shared);
}

static void network_begin_transport(void *scene_)
{
    scene *self = scene_;

    self->transport = new_transport();
    open_stream(self, self->transport);
}

static void network_begin_source(void *scene_)
{
    scene *self = scene_;

    network_begin(self);
    self->source = kl__list_watch_new(
        self->client, &(kl__list_watch_options){.resource = "nodes"}, NULL);
    assert_non_null(self->source);
    assert_int_equal(kl__list_watch_resolve(self->source, NULL, NULL), KL_OK);
}

static void network_begin_informer(void *scene_)
{
    scene *self = scene_;

    network_begin(self);
    self->informer = kl_informer_open(
        self->client, &(kl_informer_options){.resource = "nodes"}, NULL);
    assert_non_null(self->informer);
}

static void network_begin_request(void *scene_)
{
    scene *self = scene_;

    network_begin(self);
    self->request = kl_client_send(
        self->client, &(kl_call){.method = "GET", .target = "/api/v1/nodes"},
        NULL, NULL, NULL);
    assert_non_null(self->request);
}

static void network_end(void *scene_)
{
    scene *self = scene_;

    kl_request_free(self->request);
    self->request = NULL;
    kl_informer_close(self->informer);
    self->informer = NULL;
    kl__list_watch_free(self->source);
    self->source = NULL;
    if (self->stream != NULL) {
        kl__stream_close(self->stream);
        self->stream = NULL;
    }
    kl_transport_unref(self->transport);
    self->transport = NULL;
    if (!self->keeps_client) {
        kl_client_unref(self->client);
        self->client = NULL;
    }
    kl__cancel_deinit(&self->cancel);
}

/* A name server that does not answer before the end: libcurl finds this one
 * first. */
static pthread_mutex_t name_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t name_cond = PTHREAD_COND_INITIALIZER;
static bool name_answers;

__attribute__((visibility("default"))) int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
            struct addrinfo **result)
{
    typedef int (*lookup)(const char *, const char *, const struct addrinfo *,
                          struct addrinfo **);
    lookup real;

    if (node == NULL || strcmp(node, PEER_NAME) != 0) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
        return real(node, service, hints, result);
    }
    pthread_mutex_lock(&name_mutex);
    while (!name_answers) {
        pthread_cond_wait(&name_cond, &name_mutex);
    }
    pthread_mutex_unlock(&name_mutex);
    return EAI_FAIL;
}

/* ---- what ends them ---- */

static void fire(void *scene_)
{
    kl__cancel_fire(&((scene *)scene_)->cancel);
}

static void close_client(void *scene_)
{
    kl_client_close(((scene *)scene_)->client);
}

static void close_transport(void *scene_)
{
    kl__transport_close(((scene *)scene_)->transport);
}

/* ---- the calls ---- */

static void block_response(void *scene_)
{
    scene *self = scene_;
    kl__response response;

    (void)kl__stream_response(self->stream, &response, -1, &self->cancel, NULL);
}

static void block_read(void *scene_)
{
    scene *self = scene_;
    char bytes[256];
    size_t length = 1;

    while (length > 0 &&
           kl__stream_read(self->stream, bytes, sizeof(bytes), &length, -1,
                           &self->cancel, NULL) == KL_OK) {
    }
}

static void block_head(void *scene_)
{
    scene *self = scene_;
    kl__request request = {.method = "GET", .target = "/api/v1/nodes"};
    kl__response response;
    kl_error err;

    (void)opened(self->client, &request, &self->cancel, &self->stream,
                 &response, &err);
}

static void block_read_all(void *scene_)
{
    scene *self = scene_;
    kl__buf body = {0};

    block_head(self);
    if (self->stream != NULL) {
        (void)kl__client_read_all(self->stream, 1 << 20, -1, &self->cancel,
                                  &body, NULL);
    }
    kl__buf_deinit(&body);
}

static void block_call(void *scene_)
{
    scene *self = scene_;
    kl_call call = {.method = "GET", .target = "/api/v1/nodes"};
    kl_reply reply;

    (void)kl_client_call(self->client, &call, &reply, NULL);
    kl_reply_clear(&reply);
}

static void block_request(void *scene_)
{
    (void)kl_request_wait(((scene *)scene_)->request, -1);
}

static void cancel_request(void *scene_)
{
    kl_request_cancel(((scene *)scene_)->request);
}

static void block_discovery(void *scene_)
{
    scene *self = scene_;
    kl__resource resource;

    kl__discovery_expire(self->client);
    (void)kl__discovery_resolve(self->client, "nobody", &resource,
                                &self->cancel, NULL);
    kl__resource_clear(&resource);
}

static void block_resolve(void *scene_)
{
    scene *self = scene_;
    kl__list_watch *source = kl__list_watch_new(
        self->client, &(kl__list_watch_options){.resource = "nobody"}, NULL);
    kl_error err;

    (void)answered(kl__list_watch_resolve(source, &self->cancel, &err), source,
                   &self->cancel, &err);
    kl__list_watch_free(source);
}

static void block_list(void *scene_)
{
    scene *self = scene_;
    kl__list_params params = {0};
    kl_error err;

    (void)answered(
        kl__list_watch_list(self->source, &params, &self->cancel, &err),
        self->source, &self->cancel, &err);
}

static void block_watch(void *scene_)
{
    scene *self = scene_;
    kl__watch_params params = {.resource_version = "10"};
    kl_error err;

    (void)answered(
        kl__list_watch_watch(self->source, &params, &self->cancel, &err),
        self->source, &self->cancel, &err);
}

static void block_next(void *scene_)
{
    scene *self = scene_;
    kl_code code = KL_OK;

    block_list(self);
    while (code == KL_OK) {
        kl__item item = {0};

        code =
            kl__list_watch_next(self->source, &item, -1, &self->cancel, NULL);
        kl__item_clear(&item);
    }
    block_watch(self);
    for (code = KL_OK; code == KL_OK;) {
        kl__item item = {0};

        code =
            kl__list_watch_next(self->source, &item, -1, &self->cancel, NULL);
        kl__item_clear(&item);
    }
}

/* Reads what is there. True: the thread that waits may wait on. */
static bool read_dry(void *scene_)
{
    scene *self = scene_;
    kl_code code = KL_OK;

    while (code == KL_OK) {
        kl__item item = {0};

        code = kl__list_watch_next(self->source, &item, 0, &self->cancel, NULL);
        kl__item_clear(&item);
    }
    return code == KL_ETIMEOUT;
}

static void block_lent(void *scene_)
{
    scene *self = scene_;
    const lent_wait wait = {.source = self->source,
                            .run = read_dry,
                            .arg = self,
                            .deadline_ms = -1,
                            .cancel = &self->cancel};

    block_watch(self);
    while (kl__list_watch_lends(self->source) && read_dry(self) &&
           lend_and_wait(&wait) == KL_OK) {
    }
}

static void block_wait_synced(void *scene_)
{
    scene *self = scene_;

    (void)kl_informer_wait_synced(self->informer, -1, NULL);
}

static void block_close_client(void *scene_)
{
    close_client(scene_);
}

static void block_unref(void *scene_)
{
    scene *self = scene_;

    kl_client_unref(self->client);
    self->client = NULL;
}

static void block_informer_close(void *scene_)
{
    scene *self = scene_;

    kl_informer_close(self->informer);
    self->informer = NULL;
}

static void block_last_reference(void *scene_)
{
    scene *self = scene_;

    kl_client_unref(self->client); /* the informer's is the last one */
    self->client = NULL;
    block_informer_close(self);
}

/* ---- the table: each call by its name, and the peers ---- */

typedef enum against { EVERYBODY, SERVERS } against;

typedef struct row {
    trial trial;
    against against;
} row;

#define BY_TOKEN(name, set_up_, begin_, block_)                 \
    {                                                           \
        .call = (name), .set_up = (set_up_), .begin = (begin_), \
        .block = (block_), .cancel = fire, .end = network_end,  \
        .tear_down = network_tear_down                          \
    }
#define BY_CLOSE(name, begin_, block_, cancel_)                      \
    {                                                                \
        .call = (name), .set_up = network_set_up, .begin = (begin_), \
        .block = (block_), .cancel = (cancel_), .end = network_end,  \
        .tear_down = network_tear_down, .divisor = 2                 \
    }

static const row rows[] = {
    {BY_TOKEN("kl__stream_response", network_set_up_stream,
              network_begin_stream, block_response),
     EVERYBODY},
    {BY_TOKEN("kl__stream_read", network_set_up_stream, network_begin_stream,
              block_read),
     EVERYBODY},
    {BY_TOKEN("kl__client_head", network_set_up_client, network_begin,
              block_head),
     EVERYBODY},
    {BY_TOKEN("kl__client_read_all", network_set_up_client, network_begin,
              block_read_all),
     SERVERS},
    {BY_TOKEN("kl__discovery_resolve", network_set_up_client, network_begin,
              block_discovery),
     EVERYBODY},
    {BY_TOKEN("kl__list_watch_resolve", network_set_up_client, network_begin,
              block_resolve),
     EVERYBODY},
    {BY_TOKEN("kl__list_watch_answer", network_set_up_source,
              network_begin_source, block_list),
     SERVERS},
    {BY_TOKEN("kl__list_watch_answer", network_set_up_source,
              network_begin_source, block_watch),
     SERVERS},
    {BY_TOKEN("kl__list_watch_next", network_set_up_source,
              network_begin_source, block_next),
     SERVERS},
    {BY_TOKEN("kl__list_watch_wait", network_set_up_source,
              network_begin_source, block_lent),
     SERVERS},
    {BY_CLOSE("kl__stream_read", network_begin_transport, block_read,
              close_transport),
     EVERYBODY},
    {BY_CLOSE("kl_client_call", network_begin, block_call, close_client),
     EVERYBODY},
    {BY_CLOSE("kl_request_wait", network_begin_request, block_request,
              close_client),
     EVERYBODY},
    {BY_CLOSE("kl_request_wait", network_begin_request, block_request,
              cancel_request),
     EVERYBODY},
    {BY_CLOSE("kl__discovery_resolve", network_begin, block_discovery,
              close_client),
     SERVERS},
    {BY_CLOSE("kl_informer_wait_synced", network_begin_informer,
              block_wait_synced, close_client),
     EVERYBODY},
    {BY_CLOSE("kl_informer_close", network_begin_informer, block_informer_close,
              NULL),
     EVERYBODY},
    {BY_CLOSE("kl_client_close", network_begin_informer, block_close_client,
              NULL),
     EVERYBODY},
    {BY_CLOSE("kl_client_unref", network_begin, block_unref, NULL), EVERYBODY},
    {BY_CLOSE("kl_informer_close", network_begin_informer, block_last_reference,
              NULL),
     EVERYBODY},
};

static void run_against(peer_kind kind)
{
    enum { COUNT = sizeof(rows) / sizeof(rows[0]) };
    trial trials[COUNT];
    size_t count = 0;

    for (size_t i = 0; i < COUNT; i++) {
        if (rows[i].against == EVERYBODY || kind < PEER_BLACKHOLE) {
            trials[count] = rows[i].trial;
            trials[count].against = peer_describe(kind);
            trials[count].detail = &kind;
            count++;
        }
    }
    trials_run(trials, count);
}

static void a_call_to_a_healthy_server_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_HEALTHY);
}

static void a_call_to_a_slow_server_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_SLOW);
}

static void a_call_to_a_frozen_server_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_FROZEN);
}

static void a_call_in_the_middle_of_a_response_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_HALFWAY);
}

static void a_call_to_a_killed_server_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_CLOSED);
}

static void a_call_that_connects_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_BLACKHOLE);
}

static void a_call_that_resolves_a_name_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_NAMELESS);
}

static void a_call_in_the_tls_handshake_can_be_cancelled(void **state)
{
    (void)state;
    run_against(PEER_NO_TLS);
}

/* curl's threads that look up a name end once the name server answers. */
static int release_names(void **state)
{
    (void)state;
    pthread_mutex_lock(&name_mutex);
    name_answers = true;
    pthread_cond_broadcast(&name_cond);
    pthread_mutex_unlock(&name_mutex);
    for (int i = 0; i < KL_LIVE_KINDS; i++) {
        assert_int_equal(kl_live_count((kl_live_kind)i), 0);
    }
    return 0;
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test(a_call_to_a_healthy_server_can_be_cancelled),
        cmocka_unit_test(a_call_to_a_slow_server_can_be_cancelled),
        cmocka_unit_test(a_call_to_a_frozen_server_can_be_cancelled),
        cmocka_unit_test(a_call_in_the_middle_of_a_response_can_be_cancelled),
        cmocka_unit_test(a_call_to_a_killed_server_can_be_cancelled),
        cmocka_unit_test(a_call_that_connects_can_be_cancelled),
        cmocka_unit_test(a_call_that_resolves_a_name_can_be_cancelled),
        cmocka_unit_test(a_call_in_the_tls_handshake_can_be_cancelled),
    };

    return cmocka_run_group_tests(specs, NULL, release_names);
}
