/*
 * controller.c - a whole controller in C: each Pod with the label "app" gets a
 * ConfigMap of the same name, with the number of Pods on its node. An index, a
 * workqueue with a worker, requests, and a clean end at SIGTERM. The cluster:
 * KUBECONFIG, ~/.kube/config, or in-cluster.
 */
#include <kubelua/kubelua.h>

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct controller {
    kl_client *client;
    kl_informer *pods;
    kl_queue *queue;
} controller;

/* ---- events become keys ---- */

static void on_add(void *context, kl_object *pod, bool initial)
{
    controller *self = context;

    kl_queue_add(self->queue, kl_object_key(pod),
                 initial ? KL_LANE_REAR : KL_LANE_FRONT, NULL);
}

static void on_update(void *context, kl_object *old, kl_object *pod)
{
    (void)old;
    on_add(context, pod, false);
}

static void on_remove(void *context, kl_object *pod, bool unknown)
{
    (void)unknown;
    on_add(context, pod, false);
}

static void on_error(void *context, const kl_error *error)
{
    (void)context;
    fprintf(stderr, "%s\n", error->message);
}

/* ---- a key becomes requests ---- */

/* The number of Pods on the node of this one. */
static size_t count_neighbours(controller *self, kl_object *pod)
{
    const kl_value *spec = kl_value_get(kl_object_open(pod, NULL), "spec");
    const char *node = kl_value_string(kl_value_get(spec, "nodeName"), NULL);
    kl_object_list list;
    size_t count = 0;

    if (node != NULL &&
        kl_informer_by_index(self->pods, "node", node, &list, NULL) == KL_OK) {
        count = list.count;
        kl_object_list_clear(&list);
    }
    kl_object_close(pod);
    return count;
}

static kl_code reconcile(controller *self, const char *key, kl_error *err)
{
    kl_object *pod = kl_informer_get(self->pods, key);
    kl_object *written;
    kl_target target = {.resource = "configmaps"};
    char json[1024];

    if (pod == NULL) {
        return KL_OK; /* its ConfigMap has gone with it: see ownerReferences */
    }
    target.name = kl_object_name(pod);
    target.name_space = kl_object_namespace(pod);
    snprintf(json, sizeof(json),
             "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{"
             "\"name\":\"%s\",\"ownerReferences\":[{\"apiVersion\":\"v1\","
             "\"kind\":\"Pod\",\"name\":\"%s\",\"uid\":\"%s\"}]},"
             "\"data\":{\"neighbours\":\"%zu\"}}",
             target.name, target.name, kl_object_uid(pod),
             count_neighbours(self, pod));
    written = kl_apply(self->client, &target, json, NULL, err);
    if (written != NULL) {
        printf("wrote %s\n", kl_object_key(written));
    }
    kl_object_unref(written);
    kl_object_unref(pod);
    return written != NULL ? KL_OK : err->code;
}

static void *work(void *context)
{
    controller *self = context;
    kl_queue_item item;
    kl_error err;

    while (kl_queue_take(self->queue, &item, -1) == KL_OK) {
        kl_code code = reconcile(self, item.key, &err);

        if (code != KL_OK) {
            fprintf(stderr, "%s: %s\n", item.key, err.message);
        }
        kl_queue_done(self->queue, item.key,
                      code == KL_OK ? KL_RESULT_DONE : KL_RESULT_FAILED,
                      code == KL_OK ? -1 : err.retry_after_ms, NULL);
    }
    return NULL;
}

static void *must(void *made, const kl_error *err)
{
    if (made == NULL) {
        fprintf(stderr, "controller: %s\n", err->message);
        exit(EXIT_FAILURE);
    }
    return made;
}

int main(void)
{
    const kl_informer_options which = {.resource = "pods", .labels = "app"};
    kl_error err = {0};
    kl_config *config = must(kl_config_load(NULL, &err), &err);
    const kl_client_options how = {.config = config};
    controller self = {.client = must(kl_client_new(&how, &err), &err),
                       .queue = must(kl_queue_new(NULL, &err), &err)};
    const kl_handler handler = {on_add,   on_update, on_remove, NULL,
                                on_error, &self,     NULL,      NULL};
    sigset_t signals;
    pthread_t worker;
    int signal;

    setvbuf(stdout, NULL, _IOLBF, 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGTERM);
    sigaddset(&signals, SIGINT);
    pthread_sigmask(SIG_BLOCK, &signals, NULL); /* also in the worker */
    self.pods = must(kl_informer_open(self.client, &which, &err), &err);
    kl_informer_add_path_index(self.pods, "node", "spec.nodeName", NULL);
    must(kl_informer_add_handler(self.pods, &handler, NULL, &err), &err);
    pthread_create(&worker, NULL, work, &self);
    sigwait(&signals, &signal);
    kl_queue_drain(self.queue); /* what waits is still done */
    pthread_join(worker, NULL);
    kl_informer_close(self.pods);
    kl_queue_free(self.queue);
    kl_client_unref(self.client);
    kl_config_unref(config);
    return EXIT_SUCCESS;
}
