/*
 * served.h - discovery answers of a scripted API server, in both forms, for
 * specs of layers that send requests.
 */
#ifndef KL_SPEC_SERVED_H
#define KL_SPEC_SERVED_H

#include "fake_transport.h"
#include "kubelua/client.h"

/* The aggregated documents of "/api" and "/apis": pods, nodes, bindings and
 * events of the core; deployments and controllerrevisions in apps (v1 and the
 * older v1beta1, which alone has scales); events in events.k8s.io;
 * storageclasses in storage.k8s.io; metrics.k8s.io/v1beta1 stale and empty. */
extern const char served_api[];
extern const char served_apis[];

/* Scripts both, each to be used `times` times. */
void serve_discovery(fake_transport *fake, int times);

/* A client without a config on the fake transport; asserts that it was made. */
kl_client *client_on(fake_transport *fake);

/* Asserts that no client, stream, object, document or thread lives. */
void assert_nothing_lives(void);

#endif
