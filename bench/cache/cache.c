/*
 * cache.c - measures the cache below an informer, without a network: the bytes
 * that its tables hold for an object (the objects themselves not counted), the
 * CPU time of an event, and the longest CPU time of a transaction, as a whole
 * and under the lock, with 1,000 objects and with as many as the first argument
 * says (1,000,000). CPU time: the programs beside it do not count.
 */
#include "cache/indexer.h"
#include "kubelua/memory.h"

#include <malloc.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { BATCH = 32, EVENTS = 200000, NAMESPACES = 50, NODES = 500 };

static size_t held, peak; /* bytes that the library has allocated */

static void *count_malloc(size_t size)
{
    void *block = malloc(size);

    held += malloc_usable_size(block) + sizeof(size_t);
    peak = held > peak ? held : peak;
    return block;
}

static void *count_realloc(void *block, size_t size)
{
    size_t before = block != NULL ? malloc_usable_size(block) + 8 : 0;
    void *after = realloc(block, size);

    held += malloc_usable_size(after) + sizeof(size_t) - before;
    peak = held > peak ? held : peak;
    return after;
}

static void count_free(void *block)
{
    held -= block != NULL ? malloc_usable_size(block) + sizeof(size_t) : 0;
    free(block);
}

static void must(bool claim, const char *what)
{
    if (!claim) {
        fprintf(stderr, "cache: %s\n", what);
        exit(1);
    }
}

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static uint32_t next_random(void)
{
    static uint64_t state = 88172645463325252ULL;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 32);
}

static kl_object *make_pod(uint32_t i, unsigned version)
{
    char json[512];
    int length = snprintf(
        json, sizeof(json),
        "{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":"
        "\"web-%08x-%05u\",\"namespace\":\"team-%u\",\"uid\":\"%08x-1\","
        "\"resourceVersion\":\"%u\"},\"spec\":{\"nodeName\":\"node-%u\"}}",
        i * 2654435761U, i % 100000, i % NAMESPACES, i, version, i % NODES);
    kl_object *object = kl_object_parse(json, (size_t)length, NULL, NULL);

    must(object != NULL, "cannot parse a pod");
    return object;
}

static kl_object_list make_pods(uint32_t from, uint32_t count, unsigned version)
{
    kl_object_list list = {malloc(count * sizeof(kl_object *)), count};

    must(list.items != NULL, "out of memory");
    for (uint32_t i = 0; i < count; i++) {
        list.items[i] = make_pod(from + i, version);
    }
    return list;
}

static void drop_pods(kl_object_list *list)
{
    for (size_t i = 0; i < list->count; i++) {
        kl_object_unref(list->items[i]);
    }
    free(list->items);
}

/* Times of one kind of event. */
typedef struct timing {
    double all;
    double longest; /* of one transaction */
    double lock;    /* of one commit, under the lock */
} timing;

static void commit(kl__transaction *transaction, timing *times)
{
    double from = now_ns(), took;

    must(transaction != NULL, "out of memory");
    must(kl__transaction_commit(transaction), "an index came");
    took = now_ns() - from;
    times->lock = took > times->lock ? took : times->lock;
    kl__transaction_free(transaction);
}

static void apply_batch(kl__indexer *indexer, const kl__delta_batch *batch,
                        timing *times)
{
    double from = now_ns(), took;

    commit(kl__indexer_prepare(indexer, batch), times);
    took = now_ns() - from;
    times->longest = took > times->longest ? took : times->longest;
}

static timing apply_objects(kl__indexer *indexer, const kl_object_list *list)
{
    kl__delta deltas[BATCH];
    timing times = {0};
    double from = now_ns();

    for (size_t i = 0; i < list->count; i += BATCH) {
        kl__delta_batch batch = {
            .items = deltas, .count = 0, .capacity = BATCH};

        while (batch.count < BATCH && i + batch.count < list->count) {
            deltas[batch.count] =
                (kl__delta){.type = KL__DELTA_UPDATED,
                            .object = list->items[i + batch.count]};
            batch.count++;
        }
        apply_batch(indexer, &batch, &times);
    }
    times.all = now_ns() - from;
    return times;
}

/* Lists the same objects twice: the second time nothing may change. */
static void relist(kl__indexer *indexer, const kl_object_list *list,
                   uint32_t count)
{
    kl__transaction *transaction;
    timing times = {0};
    size_t before = held, most;
    double from;

    peak = held;
    from = now_ns();
    transaction = kl__indexer_prepare_replace(
        indexer, &(kl__listed){.objects = *list}, "1000");
    must(transaction != NULL &&
             kl__transaction_changes(transaction)->count == 0,
         "a relist changed something");
    commit(transaction, &times);
    most = peak - before;
    printf("  relist, nothing new  %7.0f ns an object, %.1f bytes at most, %ld "
           "bytes kept, lock held %.0f us\n",
           (now_ns() - from) / count, (double)most / count,
           (long)held - (long)before, times.lock / 1e3);
}

static double update(kl__indexer *indexer, uint32_t count, const char *name)
{
    kl_object_list list = {malloc(EVENTS * sizeof(kl_object *)), EVENTS};
    timing times;

    must(list.items != NULL, "out of memory");
    for (uint32_t i = 0; i < EVENTS; i++) {
        list.items[i] = make_pod(next_random() % count, 2000 + i);
    }
    times = apply_objects(indexer, &list);
    drop_pods(&list);
    printf("  %-20s %7.0f ns an event, longest batch %.0f us, lock held %.0f "
           "us at most\n",
           name, times.all / EVENTS, times.longest / 1e3, times.lock / 1e3);
    return times.all / EVENTS;
}

static void grow(kl__indexer *indexer, uint32_t count)
{
    kl_object_list list = make_pods(count, count, 1);
    timing times = apply_objects(indexer, &list);

    drop_pods(&list);
    printf("  add as many again    %7.0f ns an event, longest batch %.0f us, "
           "lock held %.0f us at most\n",
           times.all / count, times.longest / 1e3, times.lock / 1e3);
}

static double measure(uint32_t count)
{
    kl__indexer *indexer = kl__indexer_new();
    kl_object_list list = make_pods(0, count, 1);
    kl__index_options node = {.name = "node",
                              .path = kl_path_parse("spec.nodeName", NULL)};
    timing times = {0};
    size_t before = held;
    double from = now_ns(), each;

    peak = held;
    must(indexer != NULL && node.path != NULL, "out of memory");
    commit(kl__indexer_prepare_replace(indexer, &(kl__listed){.objects = list},
                                       "1000"),
           &times);
    printf("%u objects\n", count);
    printf(
        "  list                 %7.0f ns an object, %.1f bytes at most, lock "
        "held %.0f us\n",
        (now_ns() - from) / count, (double)(peak - before) / count,
        times.lock / 1e3);
    printf("  keys and namespaces  %7.1f bytes an object\n",
           (double)(held - before) / count);
    relist(indexer, &list, count);
    each = update(indexer, count, "update");
    before = held;
    must(kl__indexer_add_index(indexer, &node, NULL) == KL_OK, "no index");
    printf("  index by node        %7.1f bytes an object\n",
           (double)(held - before) / count);
    update(indexer, count, "update with index");
    drop_pods(&list);
    grow(indexer, count);
    kl__indexer_free(indexer);
    return each;
}

int main(int argc, char **argv)
{
    static const kl_allocator counting = {count_malloc, count_realloc,
                                          count_free};
    uint32_t largest =
        argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
    double least = 0, most = 0;

    kl_set_allocator(&counting);
    for (uint32_t count = 1000; count <= largest; count *= 10) {
        double each = measure(count);

        least = count == 1000 ? each : least;
        most = each;
    }
    printf("an event at %u objects costs %.2f of one at 1000\n", largest,
           most / least);
    return 0;
}
