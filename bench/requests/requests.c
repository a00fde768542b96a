/*
 * requests.c - sends many requests at once, reads and writes in turn. Prints
 * how long it took until all were answered, and how many connections were used.
 * Arguments: the server's URL, how many requests, how many rounds.
 */
#include "kubelua/kubelua.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double seconds(clockid_t clock)
{
    struct timespec now;

    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void stop(const char *message)
{
    fprintf(stderr, "%s\n", message);
    exit(1);
}

static void send_all(kl_client *client, kl_event_queue *queue,
                     kl_request **requests, int count)
{
    static const kl_call calls[] = {{.method = "GET", .target = "/api/v1/pods"},
                                    {.method = "POST",
                                     .target = "/api/v1/pods",
                                     .body = "{}",
                                     .body_length = 2}};
    kl_error err;

    for (int i = 0; i < count; i++) {
        requests[i] = kl_client_send(client, &calls[i % 2], queue,
                                     (void *)&requests[i], &err);
        if (requests[i] == NULL) {
            stop(err.message);
        }
    }
}

static void take_all(kl_event_queue *queue, int count)
{
    while (count > 0) {
        kl_request **at = kl_event_queue_next(queue);
        kl_reply reply;
        kl_error err;

        if (at == NULL) {
            (void)kl_event_queue_wait(queue, -1);
            continue;
        }
        if (kl_request_result(*at, &reply, &err) != KL_OK) {
            stop(err.message);
        }
        kl_reply_clear(&reply);
        kl_request_free(*at);
        count--;
    }
}

static kl_client *connect(const char *url)
{
    kl_config_options options = {.server = url, .insecure = true};
    kl_error err;
    kl_config *config = kl_config_load(&options, &err);
    kl_client *client = NULL;

    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, &err);
        kl_config_unref(config);
    }
    if (client == NULL) {
        stop(err.message);
    }
    return client;
}

int main(int argc, char **argv)
{
    int count = argc > 2 ? atoi(argv[2]) : 1000;
    int rounds = argc > 3 ? atoi(argv[3]) : 3;
    kl_request **requests = calloc((size_t)count, sizeof(*requests));
    kl_event_queue *queue = kl_event_queue_new(NULL);
    kl_client *client = connect(argv[1]);
    const kl_call ask = {.method = "GET", .target = "/connections"};
    kl_reply reply;

    for (int i = 0; i < rounds; i++) {
        double began = seconds(CLOCK_MONOTONIC);
        double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID);

        send_all(client, queue, requests, count);
        take_all(queue, count);
        printf("%d requests in %.3f s, %.3f s of CPU\n", count,
               seconds(CLOCK_MONOTONIC) - began,
               seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu);
    }
    if (kl_client_call(client, &ask, &reply, NULL) == KL_OK) {
        printf("connections: %s\n", reply.body);
        kl_reply_clear(&reply);
    }
    kl_client_unref(client);
    kl_event_queue_free(queue);
    free(requests);
    return 0;
}
