/*
 * served.h - what a scripted API server serves, for specs of the layers that
 * ask one: discovery in both forms.
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

/* Scripts both, `times` each. */
void serve_discovery(fake_transport *fake, int times);

/* A client without config on the fake; asserts that there is one. */
kl_client *client_on(fake_transport *fake);

/* Asserts that no client, stream, object, document or thread lives. */
void assert_nothing_lives(void);

#endif
