/*
 * pods.c - the C contender of the benchmark: keeps all pods of a server in an
 * informer and reports what that cost. Usage: pods SERVER UPDATES
 */
#include <kubelua/kubelua.h>

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>

/* What the handler has seen; guarded by `mutex`. */
typedef struct tally {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    long wanted;
    long updates;
    long sum; /* of the lengths of the three fields that it reads */
    bool is_synced;
} tally;

static size_t text_length(const kl_value *value, const char *name)
{
    size_t length = 0;

    kl_value_string(kl_value_get(value, name), &length);
    return length;
}

static long read_fields(kl_object *pod)
{
    const kl_value *root = kl_object_open(pod, NULL);
    size_t sum = text_length(kl_value_get(root, "metadata"), "name") +
                 text_length(kl_value_get(root, "status"), "phase") +
                 text_length(kl_value_get(root, "spec"), "nodeName");

    kl_object_close(pod);
    return (long)sum;
}

static void on_add(void *context, kl_object *pod, bool initial)
{
    tally *seen = context;

    (void)initial;
    seen->sum += read_fields(pod); /* nobody reads it before synced */
}

static void on_update(void *context, kl_object *old, kl_object *pod)
{
    tally *seen = context;
    long length = read_fields(pod);

    (void)old;
    pthread_mutex_lock(&seen->mutex);
    seen->sum += length;
    seen->updates++;
    if (seen->updates == seen->wanted) {
        pthread_cond_signal(&seen->cond);
    }
    pthread_mutex_unlock(&seen->mutex);
}

static void on_synced(void *context)
{
    tally *seen = context;

    pthread_mutex_lock(&seen->mutex);
    seen->is_synced = true;
    pthread_cond_signal(&seen->cond);
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

/* Prints a line, waits for one (the other side measures memory), and returns
 * the CPU time at which the next phase begins. */
static long report(const char *name, long since, long count, long sum)
{
    printf("%s %ld %ld %ld\n", name, cpu_us() - since, count, sum);
    while (getchar() != '\n' && !feof(stdin)) {
    }
    return cpu_us();
}

static void measure(kl_informer *pods, tally *seen, long since, kl_error *err)
{
    const kl_handler handler = {.add = on_add,
                                .update = on_update,
                                .synced = on_synced,
                                .context = seen};
    static const kl_handler_options options = {.every_change = true};
    kl_registration *registration =
        kl_informer_add_handler(pods, &handler, &options, err);

    if (registration == NULL) {
        return;
    }
    pthread_mutex_lock(&seen->mutex);
    while (!seen->is_synced) {
        pthread_cond_wait(&seen->cond, &seen->mutex);
    }
    pthread_mutex_unlock(&seen->mutex);
    report("synced", since, (long)kl_informer_count(pods), seen->sum);
    since = report("rest", cpu_us(), 0, 0);
    pthread_mutex_lock(&seen->mutex);
    while (seen->updates < seen->wanted) {
        pthread_cond_wait(&seen->cond, &seen->mutex);
    }
    pthread_mutex_unlock(&seen->mutex);
    report("updated", since, seen->updates, seen->sum);
    kl_registration_remove(registration);
}

int main(int argc, char **argv)
{
    kl_error err = {0};
    tally seen = {.mutex = PTHREAD_MUTEX_INITIALIZER,
                  .cond = PTHREAD_COND_INITIALIZER};
    kl_config_options where = {.server = argc > 1 ? argv[1] : NULL};
    kl_config *config = kl_config_load(&where, &err);
    kl_client *client = NULL;
    kl_informer *pods = NULL;
    long since;

    setvbuf(stdout, NULL, _IOLBF, 0);
    since = report("ready", cpu_us(), 0, 0);
    seen.wanted = argc > 2 ? atol(argv[2]) : 0;
    if (config != NULL) {
        client = kl_client_new(&(kl_client_options){.config = config}, &err);
    }
    if (client != NULL) {
        pods = kl_informer_open(
            client, &(kl_informer_options){.resource = "pods"}, &err);
    }
    if (pods != NULL) {
        measure(pods, &seen, since, &err);
    }
    kl_informer_close(pods);
    kl_client_unref(client);
    kl_config_unref(config);
    if (err.code != KL_OK) {
        fprintf(stderr, "pods: %s\n", err.message);
    }
    return err.code != KL_OK;
}
