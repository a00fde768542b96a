/*
 * pods.c - the C contender of the benchmark: keeps all objects of one kind, or
 * of some, in informers and reports what that costs. Usage:
 *     pods SERVER stream|page packed|plain RESOURCE...
 * SERVER is a URL, or the path of a kubeconfig.
 * packed: the cache is compressed.
 */
#include <kubelua/kubelua.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

enum { MOST_INFORMERS = 8 };

/* What the handlers have seen in a phase; guarded by `mutex`. */
typedef struct tally {
    pthread_mutex_t mutex;
    pthread_cond_t ended;
    long wanted; /* events; 0: a delete ends the phase; -1: synced does */
    int syncing; /* informers that have not synced yet */
    long events;
    long sum;     /* of the lengths of the fields that they read */
    long *delays; /* nanoseconds, one an event, or NULL */
    bool is_done;
} tally;

/* What the handlers read: of pods the first two, and in a phase with `delays`
 * all of them. */
enum { PHASE, NODE, WRITTEN, FIELDS };
static const char *const paths[FIELDS] = {
    "status.phase", "spec.nodeName",
    "metadata.annotations[\"bench.example.com/written\"]"};

/* An informer and what it reports to. */
typedef struct kept {
    kl_informer *objects;
    kl_registration *registration;
    bool is_pods;
    kl_fields *usual;
    kl_fields *stamped; /* WRITTEN too */
    tally *seen;
} kept;

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
static void see(tally *seen, const kept *of, const kl_object *object)
{
    long now = seen->delays != NULL ? monotonic_ns() : 0;
    kl_fields *fields = seen->delays != NULL ? of->stamped : of->usual;
    const char *written;

    if (of->is_pods || seen->delays != NULL) {
        kl_fields_read(fields, object, NULL);
    }
    seen->sum += (long)strlen(kl_object_name(object));
    if (of->is_pods) {
        seen->sum += length(kl_fields_value(fields, PHASE)) +
                     length(kl_fields_value(fields, NODE));
    } else {
        seen->sum += (long)strlen(kl_object_uid(object));
    }
    if (seen->delays != NULL && seen->events < seen->wanted) {
        written = kl_value_string(kl_fields_value(fields, WRITTEN), NULL);
        seen->delays[seen->events] = now - (written ? atol(written) : 0);
    }
    seen->events++;
}

static void end_if(tally *seen, bool ends)
{
    if (ends) {
        seen->is_done = true;
        pthread_cond_signal(&seen->ended);
    }
}

static void on_add(void *context, kl_object *object, bool initial)
{
    const kept *of = context;
    tally *seen = of->seen;

    (void)initial;
    pthread_mutex_lock(&seen->mutex);
    see(seen, of, object);
    end_if(seen, seen->events == seen->wanted);
    pthread_mutex_unlock(&seen->mutex);
}

static void on_update(void *context, kl_object *old, kl_object *object)
{
    (void)old;
    on_add(context, object, false);
}

static void on_remove(void *context, kl_object *object, bool unknown)
{
    tally *seen = ((const kept *)context)->seen;

    (void)object;
    (void)unknown;
    pthread_mutex_lock(&seen->mutex);
    end_if(seen, true);
    pthread_mutex_unlock(&seen->mutex);
}

static void on_synced(void *context)
{
    tally *seen = ((const kept *)context)->seen;

    pthread_mutex_lock(&seen->mutex);
    seen->syncing--;
    end_if(seen, seen->syncing == 0);
    pthread_mutex_unlock(&seen->mutex);
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
 * cost and its counters, and resets them. `held` >= 0 is printed in place of
 * the number of events. */
static void end(tally *seen, const char *name, long since, long held)
{
    long used;

    pthread_mutex_lock(&seen->mutex);
    while (!seen->is_done) {
        pthread_cond_wait(&seen->ended, &seen->mutex);
    }
    used = cpu_us() - since;
    printf("%s %ld %ld %ld", name, used, held >= 0 ? held : seen->events,
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
        end(seen, "done", since, -1);
    }
}

static void wait_line(void)
{
    while (getchar() != '\n' && !feof(stdin)) {
    }
}

/* Opens an informer for a resource, with a handler. */
static bool keep(kept *of, kl_client *client, char **how, const char *resource,
                 kl_error *err)
{
    kl_informer_options what = {.resource = resource};
    const kl_handler handler = {.add = on_add,
                                .update = on_update,
                                .remove = on_remove,
                                .synced = on_synced,
                                .context = of};
    static const kl_handler_options options = {.every_change = true};

    what.no_streaming_list = strcmp(how[0], "page") == 0;
    what.compress = strcmp(how[1], "packed") == 0 ? 1 : -1;
    of->is_pods = strcmp(resource, "pods") == 0;
    of->usual = kl_fields_new(paths, WRITTEN, err);
    of->stamped = kl_fields_new(paths, FIELDS, err);
    of->objects = kl_informer_open(client, &what, err);
    if (of->objects != NULL) {
        of->registration =
            kl_informer_add_handler(of->objects, &handler, &options, err);
    }
    return of->registration != NULL;
}

/* Measures until nothing more is asked for. `how`: list, cache, resources. */
static void measure(kl_client *client, long since, char **how, kl_error *err)
{
    tally seen = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                  .ended = PTHREAD_COND_INITIALIZER,
                  .wanted = -1};
    kept all[MOST_INFORMERS] = {{0}};
    int count = 0;
    long held = 0;

    while (count < MOST_INFORMERS && how[2 + count] != NULL) {
        count++;
    }
    seen.syncing = count;
    for (int i = 0; i < count && err->code == KL_OK; i++) {
        all[i].seen = &seen;
        (void)keep(&all[i], client, how, how[2 + i], err);
    }
    if (err->code == KL_OK) {
        pthread_mutex_lock(&seen.mutex);
        while (!seen.is_done) {
            pthread_cond_wait(&seen.ended, &seen.mutex);
        }
        pthread_mutex_unlock(&seen.mutex);
        for (int i = 0; i < count; i++) {
            held += (long)kl_informer_count(all[i].objects);
        }
        end(&seen, "synced", since, held);
        wait_line();
        printf("rest 0 0 0\n");
        follow(&seen);
    }
    for (int i = 0; i < count; i++) {
        kl_registration_remove(all[i].registration);
        kl_informer_close(all[i].objects);
        kl_fields_free(all[i].usual);
        kl_fields_free(all[i].stamped);
    }
}

int main(int argc, char **argv)
{
    kl_error err = {0};
    kl_config_options where = {0};
    kl_config *config;
    kl_client *client = NULL;
    long since;

    if (argc < 5) {
        fprintf(stderr, "usage: pods SERVER stream|page packed|plain "
                        "RESOURCE...\n");
        return 2;
    }
    if (argv[1][0] == '/') {
        where.kubeconfig = argv[1];
    } else {
        where.server = argv[1];
    }
    config = kl_config_load(&where, &err);
    setvbuf(stdout, NULL, _IOLBF, 0);
    printf("ready 0 0 0\n");
    wait_line();
    since = cpu_us();
    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, &err);
    }
    if (client != NULL) {
        measure(client, since, argv + 2, &err);
    }
    kl_client_unref(client);
    kl_config_unref(config);
    if (err.code != KL_OK) {
        fprintf(stderr, "pods: %s\n", err.message);
    }
    return err.code != KL_OK;
}
