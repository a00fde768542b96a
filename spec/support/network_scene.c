/*
 * network_scene.c - see network_scene.h.
 */
#include "network_scene.h"

#include "kubelua/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

static kl_client *new_client(const network_scene *self)
{
    kl_client *client =
        kl_client_new(&(kl_client_options){.config = self->config}, NULL);

    assert_non_null(client);
    return client;
}

static kl_transport *new_transport(void)
{
    kl_transport *transport = kl__curl_transport_new(NULL);

    assert_non_null(transport);
    return transport;
}

static network_scene *set_up(const trial *what, bool all, bool keeps_client)
{
    const peer_kind *kind = what->detail;
    network_scene *self = calloc(1, sizeof(*self));
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
void *network_set_up_client(const trial *what)
{
    return set_up(what, true, true);
}

/* A client for each round; closing it ends the call. */
void *network_set_up(const trial *what)
{
    return set_up(what, true, false);
}

/* Discovery is always answered, whatever the peer does with other requests. */
void *network_set_up_source(const trial *what)
{
    return set_up(what, false, true);
}

/* A transport for all rounds, and no client; a cancel token ends the call. */
void *network_set_up_stream(const trial *what)
{
    network_scene *self = set_up(what, true, false);

    self->shared = new_transport();
    return self;
}

void network_tear_down(void *scene_)
{
    network_scene *self = scene_;

    kl_client_unref(self->client);
    kl_config_unref(self->config);
    kl_transport_unref(self->shared);
    peer_free(self->peer);
    free(self);
}

void network_begin(void *scene_)
{
    network_scene *self = scene_;

    kl__cancel_init(&self->cancel);
    if (!self->keeps_client) {
        self->client = new_client(self);
    }
}

static void open_stream(network_scene *self, kl_transport *transport)
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

void network_begin_stream(void *scene_)
{
    network_scene *self = scene_;

    open_stream(self, self->shared);
}

void network_begin_transport(void *scene_)
{
    network_scene *self = scene_;

    self->transport = new_transport();
    open_stream(self, self->transport);
}

void network_begin_source(void *scene_)
{
    network_scene *self = scene_;

    network_begin(self);
    self->source = kl__list_watch_new(
        self->client, &(kl__list_watch_options){.resource = "nodes"}, NULL);
    assert_non_null(self->source);
    assert_int_equal(kl__list_watch_resolve(self->source, NULL, NULL), KL_OK);
}

void network_begin_informer(void *scene_)
{
    network_scene *self = scene_;

    network_begin(self);
    self->informer = kl_informer_open(
        self->client, &(kl_informer_options){.resource = "nodes"}, NULL);
    assert_non_null(self->informer);
}

void network_begin_request(void *scene_)
{
    network_scene *self = scene_;

    network_begin(self);
    self->request = kl_client_send(
        self->client, &(kl_call){.method = "GET", .target = "/api/v1/nodes"},
        NULL, NULL, NULL);
    assert_non_null(self->request);
}

void network_end(void *scene_)
{
    network_scene *self = scene_;

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
