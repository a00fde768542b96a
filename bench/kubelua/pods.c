/*
 * pods.c - the C contender of the benchmark: keeps all pods of a server in an
 * informer and reports what that costs. Usage: pods SERVER stream|page
 */
#include <kubelua/kubelua.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

/* What the handler has seen in a phase; guarded by `mutex`. */
typedef struct tally {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    long wanted; /* events; 0: a delete ends the phase; -1: synced does */
    long events;
    long sum;     /* of the lengths of the three fields that it reads */
    long *delays; /* nanoseconds, one an event, or NULL */
    bool is_done;
} tally;

static const kl_value *at(const kl_value *value, const char *name)
{
    return kl_value_get(value, name);
}

static long length(const kl_value *value)
{
    size_t bytes = 0;

    kl_value_string(value, &bytes);
    return (long)bytes;
}

/* The clock that the server stamps objects with. */
static long monotonic_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000000000 + now.tv_nsec;
}

/* Call with the lock held. */
static void see(tally *seen, kl_object *pod)
{
    long now = seen->delays != NULL ? monotonic_ns() : 0;
    const kl_value *root = kl_object_open(pod, NULL);
    const kl_value *metadata = at(root, "metadata");
    const char *written;

    if (seen->delays != NULL && seen->events < seen->wanted) {
        written = kl_value_string(
            at(at(metadata, "annotations"), "bench.example.com/written"), NULL);
        seen->delays[seen->events] = now - (written ? atol(written) : 0);
    }
    seen->sum += length(at(metadata, "name")) +
                 length(at(at(root, "status"), "phase")) +
                 length(at(at(root, "spec"), "nodeName"));
    kl_object_close(pod);
    seen->events++;
}

static void end_if(tally *seen, bool ends)
{
    if (ends) {
        seen->is_done = true;
        pthread_cond_signal(&seen->ended);
    }
}

static void on_add(void *context, kl_object *pod, bool initial)
{
    tally *seen = context;

    (void)initial;
    pthread_mutex_lock(&seen->mutex);
    see(seen, pod);
    end_if(seen, seen->events == seen->wanted);
    pthread_mutex_unlock(&seen->mutex);
}

static void on_update(void *context, kl_object *old, kl_object *pod)
{
    (void)old;
    on_add(context, pod, false);
}

static void on_remove(void *context, kl_object *pod, bool unknown)
{
    tally *seen = context;

    (void)pod;
    (void)unknown;
    pthread_mutex_lock(&seen->mutex);
    end_if(seen, true);
    pthread_mutex_unlock(&seen->mutex);
}

static void on_synced(void *context)
{
    on_remove(context, NULL, false);
}

/* CPU of this process so far, all threads of it. */
static long cpu_us(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000000 +
           usage.ru_utime.tv_usec + usage.ru_stime.tv_usec;
}

/* Waits for the end of a phase that began at the CPU time `since`; prints its
 * cost and its counters, and resets them. `count` < 0: prints the number of
 * events. */
static void end(tally *seen, const char *name, long since, kl_informer *pods)
{
    long used;

    pthread_mutex_lock(&seen->mutex);
    while (!seen->is_done) {
        pthread_cond_wait(&seen->ended, &seen->mutex);
    }
    used = cpu_us() - since;
    printf("%s %ld %ld %ld", name, used,
           pods != NULL ? (long)kl_informer_count(pods) : seen->events,
           seen->sum);
    for (long i = 0; seen->delays != NULL && i < seen->events; i++) {
        printf(" %ld", seen->delays[i]);
    }
    printf("\n");
    free(seen->delays);
    seen->delays = NULL;
    seen->events = seen->sum = 0;
    seen->is_done = false;
    pthread_mutex_unlock(&seen->mutex);
}

/* Does what the comparing process asks for, which measures this process from
 * outside, until it asks for nothing more. */
static void follow(tally *seen)
{
    char name[16];
    long count;
    long since;

    while (scanf("%15s %ld", name, &count) == 2) {
        since = cpu_us();
        pthread_mutex_lock(&seen->mutex);
        seen->wanted = count;
        if (strcmp(name, "delays") == 0) {
            seen->delays = calloc((size_t)count, sizeof *seen->delays);
        }
        pthread_mutex_unlock(&seen->mutex);
        printf("begun\n");
        end(seen, "done", since, NULL);
    }
}

static void wait_line(void)
{
    while (getchar() != '\n' && !feof(stdin)) {
    }
}

static void measure(kl_informer *pods, long since, kl_error *err)
{
    tally seen = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                  .ended = PTHREAD_COND_INITIALIZER,
                  .wanted = -1};
    const kl_handler handler = {.add = on_add,
                                .update = on_update,
                                .remove = on_remove,
                                .synced = on_synced,
                                .context = &seen};
    static const kl_handler_options options = {.every_change = true};
    kl_registration *registration =
        kl_informer_add_handler(pods, &handler, &options, err);

    if (registration == NULL) {
        return;
    }
    end(&seen, "synced", since, pods);
    wait_line();
    printf("rest 0 0 0\n");
    follow(&seen);
    kl_registration_remove(registration);
}

int main(int argc, char **argv)
{
    kl_error err = {0};
    kl_config_options where = {.server = argc > 1 ? argv[1] : NULL};
    kl_config *config = kl_config_load(&where, &err);
    kl_client *client = NULL;
    kl_informer *pods = NULL;
    kl_informer_options what = {.resource = "pods"};
    long since;

    what.no_streaming_list = argc > 2 && strcmp(argv[2], "page") == 0;
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready 0 0 0\n");
    wait_line();
    since = cpu_us();
    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, &err);
    }
    if (client != NULL) {
        pods = kl_informer_open(client, &what, &err);
    }
    if (pods != NULL) {
        measure(pods, since, &err);
    }
    kl_informer_close(pods);
    kl_client_unref(client);
    kl_config_unref(config);
    if (err.code != KL_OK) {
        fprintf(stderr, "pods: %s\n", err.message);
    }
    return err.code != KL_OK;
}
