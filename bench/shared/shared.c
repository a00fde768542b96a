/*
 * shared.c - measures a shared map in C: reads in ns, publishes in ms of CPU,
 * with 10,000 Services of three endpoints. Prints a line for each: name, least
 * and median of the rounds. With a path it leaves the map there, for pick.lua.
 */
#include "kubelua/shared_write.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum {
    SERVICES = 10000,
    ENDPOINTS = 3,
    MANY = 1000, /* endpoints of the two large services */
    TRIED = 17,
    ROUNDS = 41,
    READS = 20000
};

/* core/shared/writer.h; the public way to own a map watches a cluster. */
kl_code kl__shared_take(kl_shared *map, kl_error *err);

typedef struct bench {
    kl_shared *map;
    kl_shared_key *keys, *values;
    kl_shared_key large, weighted;
    char (*names)[32];
    uint32_t *order; /* a random order of the services to read */
    uint64_t sum;    /* uses all that is read, so no read is optimised away */
} bench;

static double now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void must(bool claim, const char *what)
{
    if (!claim) {
        fprintf(stderr, "shared: %s\n", what);
        exit(1);
    }
}

static int compare_doubles(const void *a_, const void *b_)
{
    const double *a = a_, *b = b_;

    return (*a > *b) - (*a < *b);
}

static void report(const char *name, double *rounds, double unit,
                   const char *unit_name)
{
    qsort(rounds, ROUNDS, sizeof(*rounds), compare_doubles);
    printf("%-44s %9.2f %9.2f %s\n", name, rounds[0] / unit,
           rounds[ROUNDS / 2] / unit, unit_name);
}

static void put_service(bench *self, int i, int version)
{
    kl_endpoint endpoints[ENDPOINTS];
    char hosts[ENDPOINTS][32], nodes[ENDPOINTS][16];

    for (int k = 0; k < ENDPOINTS; k++) {
        snprintf(hosts[k], sizeof(hosts[k]), "10.%d.%d.%d", version % 200,
                 i / 80, i % 80 * 3 + k);
        snprintf(nodes[k], sizeof(nodes[k]), "node-%d", (i + k) % 50);
        endpoints[k] =
            (kl_endpoint){.host = hosts[k],
                          .zone = k == 0 ? "zone-a" : "zone-b",
                          .node = nodes[k],
                          .port = 8080,
                          .weight = 1,
                          .flags = KL_ENDPOINT_READY | KL_ENDPOINT_SERVING};
    }
    must(kl_shared_put_endpoints(self->map, &self->keys[i], endpoints,
                                 ENDPOINTS, NULL) == KL_OK,
         "cannot put");
}

/* A service with many endpoints, of weights 1 to `weights`. */
static void put_large(bench *self, const char *name, kl_shared_key *key,
                      int weights)
{
    static kl_endpoint endpoints[MANY];
    static char hosts[MANY][32];

    for (int i = 0; i < MANY; i++) {
        snprintf(hosts[i], sizeof(hosts[i]), "10.9.%d.%d", i / 250, i % 250);
        endpoints[i] =
            (kl_endpoint){.host = hosts[i],
                          .zone = "zone-a",
                          .node = "node-1",
                          .port = 8080,
                          .weight = (uint16_t)(1 + i % weights),
                          .flags = KL_ENDPOINT_READY | KL_ENDPOINT_SERVING};
    }
    kl_shared_key_init(self->map, "services", name, strlen(name), key);
    must(kl_shared_put_endpoints(self->map, key, endpoints, MANY, NULL) ==
             KL_OK,
         "cannot put");
}

static void fill_map(bench *self)
{
    char text[64] = "a value of 64 bytes";

    for (int i = 0; i < SERVICES; i++) {
        int length = snprintf(self->names[i], sizeof(self->names[i]),
                              "namespace-%d/service-%d:http", i % 100, i);

        kl_shared_key_init(self->map, "services", self->names[i],
                           (size_t)length, &self->keys[i]);
        kl_shared_key_init(self->map, "values", self->names[i], (size_t)length,
                           &self->values[i]);
        put_service(self, i, 0);
        if (i < 1000) {
            kl_shared_put(self->map, &self->values[i], text, sizeof(text),
                          NULL);
        }
        self->order[i] = (uint32_t)i;
    }
    put_large(self, "large/service:http", &self->large, 1);
    put_large(self, "large/weighted:http", &self->weighted, 3);
    for (uint32_t i = SERVICES - 1; i > 0; i--) {
        uint32_t other = (uint32_t)rand() % (i + 1), was = self->order[i];

        self->order[i] = self->order[other];
        self->order[other] = was;
    }
    must(kl_shared_publish(self->map, NULL) == KL_OK, "cannot publish");
}

static void bench_publish(bench *self, int changes, const char *name)
{
    double rounds[ROUNDS], begun;

    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < changes; i++) {
            put_service(self, i, round + 1);
        }
        begun = now_ns();
        must(kl_shared_publish(self->map, NULL) == KL_OK, "cannot publish");
        rounds[round] = now_ns() - begun;
    }
    report(name, rounds, 1e6, "ms");
}

typedef void (*read_fn)(bench *self, uint32_t i);

static void pick_turn(bench *self, uint32_t i)
{
    kl_pick pick;

    must(kl_shared_pick(self->map, &self->keys[i], NULL, &pick) == 0, "pick");
    self->sum += pick.port;
}

static void pick_same(bench *self, uint32_t i)
{
    pick_turn(self, i % 16);
}

static void pick_hash(bench *self, uint32_t i)
{
    const kl_pick_options options = {.hash = i + 1};
    kl_pick pick;

    must(kl_shared_pick(self->map, &self->keys[i], &options, &pick) == 0,
         "pick");
    self->sum += pick.port;
}

static void pick_zone(bench *self, uint32_t i)
{
    static kl_pick_options options;
    kl_pick pick;

    if (options.zone == 0) {
        options.zone = kl_shared_hash("zone-b", 6);
        options.node = kl_shared_hash("node-7", 6);
    }
    must(kl_shared_pick(self->map, &self->keys[i], &options, &pick) == 0,
         "pick");
    self->sum += pick.scope;
}

static void pick_name(bench *self, uint32_t i)
{
    const char *name = self->names[i];
    kl_shared_key key;
    kl_pick pick;

    kl_shared_key_init(self->map, "services", name, strlen(name), &key);
    must(kl_shared_pick(self->map, &key, NULL, &pick) == 0, "pick");
    self->sum += pick.port;
}

static void pick_rest(bench *self, kl_shared_key *key, kl_pick_options *options)
{
    static uint64_t tried[TRIED];
    kl_pick pick;

    for (int i = 0; i < TRIED && tried[i] == 0; i++) {
        char host[32];

        snprintf(host, sizeof(host), "10.9.0.%d", i);
        tried[i] = kl_shared_hash(host, strlen(host));
    }
    options->exclude = tried;
    must(kl_shared_pick(self->map, key, options, &pick) == 0, "pick");
    self->sum += pick.port;
}

static void pick_without_one(bench *self, uint32_t i)
{
    (void)i;
    pick_rest(self, &self->large, &(kl_pick_options){.excluded = 1});
}

static void pick_without_many(bench *self, uint32_t i)
{
    (void)i;
    pick_rest(self, &self->large, &(kl_pick_options){.excluded = TRIED});
}

static void pick_weighted_without_one(bench *self, uint32_t i)
{
    (void)i;
    pick_rest(self, &self->weighted, &(kl_pick_options){.excluded = 1});
}

static void pick_hash_without_one(bench *self, uint32_t i)
{
    pick_rest(self, &self->large,
              &(kl_pick_options){.hash = i + 1, .excluded = 1});
}

static void get_value(bench *self, uint32_t i)
{
    char text[64];
    kl_shared_value value;

    must(kl_shared_get(self->map, &self->values[i % 1000], text, sizeof(text),
                       &value) == 0,
         "get");
    self->sum += (uint64_t)text[0];
}

static void check_version(bench *self, uint32_t i)
{
    self->sum += kl_shared_version(self->map, &self->keys[i]);
}

static void bench_reads(bench *self, const char *name, read_fn read)
{
    double rounds[ROUNDS], begun;

    for (int round = 0; round < ROUNDS; round++) {
        begun = now_ns();
        for (uint32_t i = 0; i < READS; i++) {
            read(self, self->order[i % SERVICES]);
        }
        rounds[round] = (now_ns() - begun) / READS;
    }
    report(name, rounds, 1, "ns");
}

int main(int argc, char **argv)
{
    bench self = {0};
    kl_shared_status status;
    kl_error err;

    self.map = kl_shared_open(
        &(kl_shared_options){.path = argc > 1 ? argv[1] : NULL}, &err);
    must(self.map != NULL, "cannot open");
    self.keys = calloc(SERVICES, sizeof(*self.keys));
    self.values = calloc(SERVICES, sizeof(*self.values));
    self.names = calloc(SERVICES, sizeof(*self.names));
    self.order = calloc(SERVICES, sizeof(*self.order));
    must(self.keys && self.values && self.names && self.order, "no memory");
    must(kl__shared_take(self.map, &err) == KL_OK, "cannot take");
    fill_map(&self);
    kl_shared_get_status(self.map, &status);
    printf("%d services of %d endpoints, %.1f MB a slot\n%-44s %9s %9s\n",
           SERVICES, ENDPOINTS, (double)status.used / 1e6, "", "least",
           "median");
    bench_publish(&self, 1, "publish, 1 service changed");
    bench_publish(&self, 1000, "publish, 1,000 services changed");
    bench_publish(&self, SERVICES, "publish, 10,000 services changed");
    bench_reads(&self, "version of an entry", check_version);
    bench_reads(&self, "pick, any of 10,000, by turns", pick_turn);
    bench_reads(&self, "pick, the same 16 again and again", pick_same);
    bench_reads(&self, "pick, by hash", pick_hash);
    bench_reads(&self, "pick, for a node or a zone", pick_zone);
    bench_reads(&self, "pick, by name", pick_name);
    bench_reads(&self, "get, 64 bytes", get_value);
    bench_reads(&self, "pick of 1,000, 1 excluded", pick_without_one);
    bench_reads(&self, "pick of 1,000, 17 excluded", pick_without_many);
    bench_reads(&self, "pick of 1,000 with weights, 1 excluded",
                pick_weighted_without_one);
    bench_reads(&self, "pick of 1,000 by hash, 1 excluded",
                pick_hash_without_one);
    kl_shared_close(self.map);
    return self.sum == 0;
}
