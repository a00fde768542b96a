/*
 * watch.c - examples/watch.lua in C: prints what happens to pods. The library
 * calls the handlers on a thread of their own. Usage: watch [SECONDS]. The
 * cluster: KUBECONFIG, ~/.kube/config, or in-cluster.
 */
#include <kubelua/kubelua.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void on_add(void *context, kl_object *pod, bool initial)
{
    (void)context;
    printf("%s %s\n", initial ? "found" : "added", kl_object_key(pod));
}

/* `context`: the fields, with the path of the phase. */
static void on_update(void *context, kl_object *old, kl_object *pod)
{
    const char *phase = NULL;

    (void)old;
    if (kl_fields_read(context, pod, NULL) == KL_OK) {
        phase = kl_value_string(kl_fields_value(context, 0), NULL);
    }
    printf("changed %s %s\n", kl_object_key(pod), phase != NULL ? phase : "");
}

static void on_remove(void *context, kl_object *pod, bool unknown)
{
    (void)context;
    printf("deleted %s%s\n", kl_object_key(pod),
           unknown ? " (while away)" : "");
}

static void on_error(void *context, const kl_error *error)
{
    (void)context;
    fprintf(stderr, "%s\n", error->message);
}

/* Watches for so many seconds; if something fails first, `err` says what. */
static kl_code watch_pods(unsigned seconds, kl_error *err)
{
    static const char *const paths[] = {"status.phase"};
    kl_fields *fields = kl_fields_new(paths, 1, err);
    const kl_handler handler = {.add = on_add,
                                .update = on_update,
                                .remove = on_remove,
                                .error = on_error,
                                .context = fields};
    kl_registration *registration = NULL;
    kl_informer *pods = NULL;
    kl_client *client = NULL;
    kl_config *config = NULL;

    if (fields != NULL) {
        config = kl_config_load(NULL, err);
    }
    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, err);
    }
    if (client != NULL) {
        pods = kl_informer_open(
            client, &(kl_informer_options){.resource = "pods"}, err);
    }
    if (pods != NULL) {
        registration = kl_informer_add_handler(pods, &handler, NULL, err);
    }
    if (registration != NULL) {
        sleep(seconds);
    }
    kl_registration_remove(registration);
    kl_informer_close(pods);
    kl_client_unref(client);
    kl_config_unref(config);
    kl_fields_free(fields);
    return registration != NULL ? KL_OK : err->code;
}

int main(int argc, char **argv)
{
    unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 3600;
    kl_error err = {0};

    setvbuf(stdout, NULL, _IOLBF, 0);
    if (watch_pods(seconds, &err) != KL_OK) {
        fprintf(stderr, "watch: %s\n", err.message);
        return EXIT_FAILURE;
    }
    return EXIT_SUCCESS;
}
