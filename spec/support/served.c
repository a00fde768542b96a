/*
 * served.c - see served.h.
 */
#include "served.h"

#include "kubelua/memory.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define LIST_WATCH "\"verbs\":[\"create\",\"get\",\"list\",\"watch\"]"

const char served_api[] =
    "{\"kind\":\"APIGroupDiscoveryList\","
    "\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
    "{\"metadata\":{\"creationTimestamp\":null},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"bindings\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Binding\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"binding\",\"verbs\":[\"create\"]},"
    "{\"resource\":\"events\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Event\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"event\"," LIST_WATCH ",\"shortNames\":[\"ev\"]},"
    "{\"resource\":\"nodes\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Node\"},\"scope\":\"Cluster\","
    "\"singularResource\":\"node\"," LIST_WATCH ",\"shortNames\":[\"no\"],"
    "\"subresources\":[{\"subresource\":\"status\",\"responseKind\":"
    "{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Node\"},"
    "\"verbs\":[\"get\"]}]},"
    "{\"resource\":\"pods\",\"responseKind\":{\"group\":\"\","
    "\"version\":\"v1\",\"kind\":\"Pod\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"pod\"," LIST_WATCH ",\"shortNames\":[\"po\"]}"
    "]}]}]}";

const char served_apis[] =
    "{\"kind\":\"APIGroupDiscoveryList\","
    "\"apiVersion\":\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":["
    "{\"metadata\":{\"name\":\"apps\"},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"controllerrevisions\",\"responseKind\":"
    "{\"group\":\"apps\",\"version\":\"v1\",\"kind\":\"ControllerRevision\"},"
    "\"scope\":\"Namespaced\",\"singularResource\":"
    "\"controllerrevision\"," LIST_WATCH "},"
    "{\"resource\":\"deployments\",\"responseKind\":{\"group\":\"apps\","
    "\"version\":\"v1\",\"kind\":\"Deployment\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"deployment\"," LIST_WATCH
    ",\"shortNames\":[\"deploy\"]}]},"
    "{\"version\":\"v1beta1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"deployments\",\"responseKind\":{\"group\":\"apps\","
    "\"version\":\"v1beta1\",\"kind\":\"Deployment\"},"
    "\"scope\":\"Namespaced\",\"singularResource\":\"deployment\"," LIST_WATCH
    ",\"shortNames\":[\"deploy\"]},"
    "{\"resource\":\"scales\",\"responseKind\":{\"group\":\"apps\","
    "\"version\":\"v1beta1\",\"kind\":\"Scale\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"scale\"," LIST_WATCH "}]}]},"
    "{\"metadata\":{\"name\":\"events.k8s.io\"},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"events\",\"responseKind\":{\"group\":\"events.k8s.io\","
    "\"version\":\"v1\",\"kind\":\"Event\"},\"scope\":\"Namespaced\","
    "\"singularResource\":\"event\"," LIST_WATCH ",\"shortNames\":[\"ev\"]}"
    "]}]},"
    "{\"metadata\":{\"name\":\"storage.k8s.io\"},\"versions\":["
    "{\"version\":\"v1\",\"freshness\":\"Current\",\"resources\":["
    "{\"resource\":\"storageclasses\",\"responseKind\":"
    "{\"group\":\"storage.k8s.io\",\"version\":\"v1\","
    "\"kind\":\"StorageClass\"},\"scope\":\"Cluster\","
    "\"singularResource\":\"storageclass\"," LIST_WATCH
    ",\"shortNames\":[\"sc\"]}]}]},"
    "{\"metadata\":{\"name\":\"metrics.k8s.io\"},\"versions\":["
    "{\"version\":\"v1beta1\",\"freshness\":\"Stale\"}]}]}";

void serve_discovery(fake_transport *fake, int times)
{
    const char *type = "application/json;g=apidiscovery.k8s.io;v=v2;"
                       "as=APIGroupDiscoveryList";

    fake_transport_answer(fake, &(fake_answer){.target = "/api$",
                                               .body = served_api,
                                               .type = type,
                                               .times = times});
    fake_transport_answer(fake, &(fake_answer){.target = "/apis$",
                                               .body = served_apis,
                                               .type = type,
                                               .times = times});
}

kl_client *client_on(fake_transport *fake)
{
    kl_client_options options = {.transport = fake_transport_of(fake)};
    kl_error err;
    kl_client *client = kl_client_new(&options, &err);

    if (client == NULL) {
        fail_msg("%s", err.message);
    }
    return client;
}

void assert_nothing_lives(void)
{
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        long count = kl_live_count((kl_live_kind)kind);

        if (count != 0) {
            fail_msg("%ld live %s", count, kl_live_name((kl_live_kind)kind));
        }
    }
}
