/*
 * crowd.c - opens many informers at once, each of ConfigMaps in a namespace of
 * its own. Prints how long it took until all had synced, the CPU time of this
 * process, the most memory that it took, and its threads, then and four seconds
 * later. Arguments: a kubeconfig, how many informers; "clients": as many
 * clients, which share one thread, each with one informer.
 */
#include "kubelua/kubelua.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* The number after `name` in what the kernel says of this process. */
static long status_of(const char *name)
{
    FILE *file = fopen("/proc/self/status", "r");
    char line[256];
    long value = -1;

    while (file != NULL && fgets(line, sizeof(line), file) != NULL) {
        if (strncmp(line, name, strlen(name)) == 0) {
            value = strtol(line + strlen(name), NULL, 10);
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return value;
}

static void *must(void *made, const kl_error *err)
{
    if (made == NULL) {
        fprintf(stderr, "crowd: %s\n", err->message);
        exit(EXIT_FAILURE);
    }
    return made;
}

static kl_client *connect(const char *kubeconfig, bool shares_thread)
{
    const kl_config_options options = {.kubeconfig = kubeconfig};
    kl_error err;
    kl_config *config = must(kl_config_load(&options, &err), &err);
    kl_client *client =
        must(kl_client_new(&(kl_client_options){.config = config,
                                                .shares_thread = shares_thread},
                           &err),
             &err);

    kl_config_unref(config);
    return client;
}

int main(int argc, char **argv)
{
    enum { LONGEST_MS = 120000, REST_S = 4 };
    int count = argc > 2 ? atoi(argv[2]) : 1000;
    bool has_clients = argc > 3 && strcmp(argv[3], "clients") == 0;
    kl_client *client = connect(argv[1], has_clients);
    kl_informer **all = calloc((size_t)count, sizeof(kl_informer *));
    double began = seconds(CLOCK_MONOTONIC);
    kl_error err;

    for (int i = 0; i < count; i++) {
        char space[32];
        const kl_informer_options which = {.resource = "configmaps",
                                           .name_space = space};

        snprintf(space, sizeof(space), "n%d", i);
        client = has_clients && i > 0 ? connect(argv[1], true) : client;
        all[i] = must(kl_informer_open(client, &which, &err), &err);
    }
    for (int i = 0; i < count; i++) {
        if (kl_informer_wait_synced(all[i], LONGEST_MS, &err) != KL_OK) {
            must(NULL, &err);
        }
    }
    printf("KubeLua    %6.2f s %6.2f s of CPU %4ld MB %5ld threads",
           seconds(CLOCK_MONOTONIC) - began, seconds(CLOCK_PROCESS_CPUTIME_ID),
           status_of("VmHWM:") / 1024, status_of("Threads:"));
    fflush(stdout);
    sleep(REST_S);
    printf(", %ld at rest\n", status_of("Threads:"));
    fflush(stdout);
    _Exit(EXIT_SUCCESS); /* closing is not measured */
}
