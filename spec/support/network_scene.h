/*
 * network_scene.h - a peer, and a client, stream, source or informer that talks
 * to it: what trials (trial.h) of cancellation run on.
 */
#ifndef KL_SPEC_NETWORK_SCENE_H
#define KL_SPEC_NETWORK_SCENE_H

#include "peer.h"
#include "trial.h"

#include "api/client.h"
#include "api/list_watch.h"
#include "kubelua/informer.h"
#include "kubelua/request.h"

/* What a call blocks in. Members that are not needed stay zeroed. */
typedef struct network_scene {
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
} network_scene;

/* The set_up of trials, whose `detail` is the kind of the peer: one client for
 * all rounds, with a cancel token; the same, and discovery is always answered;
 * a transport for all rounds and no client; a client for each round. */
void *network_set_up_client(const trial *what);
void *network_set_up_source(const trial *what);
void *network_set_up_stream(const trial *what);
void *network_set_up(const trial *what);
void network_tear_down(void *scene);

/* The begin of trials: with a client; with a source that is resolved; with an
 * informer; with a request; with a stream of the shared transport; with a
 * stream of its own. */
void network_begin(void *scene);
void network_begin_source(void *scene);
void network_begin_informer(void *scene);
void network_begin_request(void *scene);
void network_begin_stream(void *scene);
void network_begin_transport(void *scene);
void network_end(void *scene);

#endif
