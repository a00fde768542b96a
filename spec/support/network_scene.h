/*
 * network_scene.h - a peer, and a client, stream, source or informer that talks
 * to it, for the rounds of a trial.
 */
#ifndef KL_SPEC_NETWORK_SCENE_H
#define KL_SPEC_NETWORK_SCENE_H

#include "peer.h"
#include "trial.h"

#include "api/client.h"
#include "api/list_watch.h"
#include "kubelua/informer.h"
#include "kubelua/request.h"

/* What a call blocks in. Zeroed where it needs none. */
typedef struct network_scene {
    peer *peer;
    kl_config *config;
    kl_transport *shared; /* of streams, for all rounds */
    bool keeps_client;    /* for all rounds */

    /* Of a round. */
    kl_client *client;
    kl_transport *transport;
    kl__stream *stream;
    kl__list_watch *source;
    kl_informer *informer;
    kl_request *request;
    kl__cancel cancel;
} network_scene;

/* For trials, whose detail is the kind of the peer. One client for all rounds,
 * where a token cancels; and discovery is answered, whatever becomes of the
 * rest; a transport for all rounds, and no client; a client each round. */
void *network_set_up_client(const trial *what);
void *network_set_up_source(const trial *what);
void *network_set_up_stream(const trial *what);
void *network_set_up(const trial *what);
void network_tear_down(void *scene);

/* Begin a round: with a client; besides with a source that is resolved; with an
 * informer; with a request; with a stream of the shared transport, of one of
 * its own. */
void network_begin(void *scene);
void network_begin_source(void *scene);
void network_begin_informer(void *scene);
void network_begin_request(void *scene);
void network_begin_stream(void *scene);
void network_begin_transport(void *scene);
void network_end(void *scene);

#endif
