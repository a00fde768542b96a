/*
 * rebuild.c - how long the owner of a shared map takes when all of 10,000
 * Services have changed at once, as after an outage: from EndpointSlices that
 * were read to a published generation. Each Service has one named port, so
 * three entries, and three endpoints with a zone and a node. Prints a line for
 * each part: name, least and median of the rounds, in ms of CPU.
 */
#include "kubelua/object.h"
#include "kubelua/shared_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* core/shared/writer.h, routes.h, owner_feed.h; the public way to put Services
 * watches a cluster. */
typedef struct kl__routes kl__routes;
kl_code kl__shared_take(kl_shared *map, kl_error *err);
kl__routes *kl__routes_new(const void *policy, kl_error *err);
void kl__routes_free(kl__routes *routes);
kl_code kl__routes_put_service(kl__routes *routes, kl_object *service,
                               kl_error *err);
kl_code kl__routes_put_slice(kl__routes *routes, kl_object *slice,
                             kl_error *err);
kl_code kl__put_routes(kl__routes *routes, kl_shared *map, void *keeping,
                       kl_error *err);

enum { SERVICES = 10000, ROUNDS = 41, WARMING = 4, STATES = 2 };

static void end_with(const char *why)
{
    fprintf(stderr, "rebuild: %s\n", why);
    exit(1);
}

static double read_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static kl_object *parse_object(const char *json)
{
    kl_error err;
    kl_object *object = kl_object_parse(json, strlen(json), NULL, &err);

    if (object == NULL) {
        end_with(err.message);
    }
    return object;
}

static void put_service(kl__routes *routes, int number)
{
    char json[512];
    kl_object *object;

    snprintf(json, sizeof(json),
             "{\"metadata\":{\"namespace\":\"many\",\"name\":\"s%05d\"},"
             "\"spec\":{\"ports\":[{\"name\":\"http\",\"port\":80}]}}",
             number);
    object = parse_object(json);
    if (kl__routes_put_service(routes, object, NULL) != KL_OK) {
        end_with("no memory");
    }
    kl_object_unref(object);
}

static kl_object *make_slice(int number, int state)
{
    char json[2048];
    int length = snprintf(
        json, sizeof(json),
        "{\"metadata\":{\"namespace\":\"many\",\"name\":\"s%05d-x\",\"labels\":"
        "{\"kubernetes.io/service-name\":\"s%05d\"}},\"addressType\":\"IPv4\","
        "\"ports\":[{\"name\":\"http\",\"port\":8080}],\"endpoints\":[",
        number, number);

    for (int i = 0; i < 3; i++) {
        length += snprintf(
            json + length, sizeof(json) - (size_t)length,
            "%s{\"addresses\":[\"10.%d.%d.%d\"],\"nodeName\":\"node-%d\","
            "\"zone\":\"zone-%d\",\"conditions\":{\"ready\":true}}",
            i > 0 ? "," : "", i + 3 * state, number / 250, number % 250 + 1,
            (number + i) % 100, i);
    }
    snprintf(json + length, sizeof(json) - (size_t)length, "]}");
    return parse_object(json);
}

static kl_shared *open_owned(void)
{
    const kl_shared_options options = {.size = (size_t)256 << 20};
    kl_error err;
    kl_shared *map = kl_shared_open(&options, &err);

    if (map == NULL || kl__shared_take(map, &err) != KL_OK) {
        end_with(err.message);
    }
    return map;
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

static void report(const char *name, double *rounds)
{
    qsort(rounds, ROUNDS, sizeof(*rounds), compare_times);
    printf("%-44s %9.2f %9.2f ms\n", name, rounds[0], rounds[ROUNDS / 2]);
}

/* One Service with three ports and 1,000 endpoints, whose annotation of 1,000
 * weights has changed: from the object to changes for a publish. */
static void bench_weights(void)
{
    enum { ENDPOINTS = 1000 };
    static char json[262144];
    double rounds[ROUNDS];
    kl__routes *routes = kl__routes_new(NULL, NULL);
    kl_shared *map = open_owned();
    kl_object *service, *slice;
    int at = sprintf(json, "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b\","
                           "\"annotations\":{\"kubelua.dev/weights\":\"");

    for (int i = 0; i < ENDPOINTS; i++) {
        at += sprintf(json + at, "pod-%d=%d,", i, 1 + i % 9);
    }
    sprintf(json + at,
            "\"}},\"spec\":{\"ports\":[{\"name\":\"a\",\"port\":1},"
            "{\"name\":\"b\",\"port\":2},{\"name\":\"c\",\"port\":3}]}}");
    service = parse_object(json);
    at = sprintf(
        json,
        "{\"metadata\":{\"namespace\":\"a\",\"name\":\"b-1\",\"labels\":{"
        "\"kubernetes.io/service-name\":\"b\"}},\"addressType\":\"IPv4\","
        "\"ports\":[{\"name\":\"a\",\"port\":1},{\"name\":\"b\",\"port\":2},"
        "{\"name\":\"c\",\"port\":3}],\"endpoints\":[");
    for (int i = 0; i < ENDPOINTS; i++) {
        at += sprintf(json + at,
                      "%s{\"addresses\":[\"10.8.%d.%d\"],\"targetRef\":{"
                      "\"name\":\"pod-%d\"}}",
                      i > 0 ? "," : "", i / 250, i % 250, i);
    }
    sprintf(json + at, "]}");
    slice = parse_object(json);
    if (routes == NULL || kl__routes_put_slice(routes, slice, NULL) != KL_OK) {
        end_with("no memory");
    }
    for (int i = 0; i < ROUNDS; i++) {
        double begun = read_clock();

        kl__routes_put_service(routes, service, NULL);
        if (kl__put_routes(routes, map, NULL, NULL) != KL_OK) {
            end_with("cannot put");
        }
        rounds[i] = read_clock() - begun;
        kl_shared_publish(map, NULL);
    }
    report("weights: 1,000 rules, 1,000 endpoints, 3 ports", rounds);
    kl_object_unref(service);
    kl_object_unref(slice);
    kl__routes_free(routes);
    kl_shared_close(map);
}

typedef struct times {
    double puts[ROUNDS], publishes[ROUNDS], both[ROUNDS];
} times;

static void run_round(kl__routes *routes, kl_shared *map, times *to, int at)
{
    double begun = read_clock(), has_put, ended;
    kl_error err;

    if (kl__put_routes(routes, map, NULL, &err) != KL_OK) {
        end_with(err.message);
    }
    has_put = read_clock();
    if (kl_shared_publish(map, &err) != KL_OK) {
        end_with(err.message);
    }
    ended = read_clock();
    to->puts[at] = has_put - begun;
    to->publishes[at] = ended - has_put;
    to->both[at] = ended - begun;
}

int main(void)
{
    static kl_object *slices[STATES][SERVICES];
    static times found;
    kl__routes *routes = kl__routes_new(NULL, NULL);
    kl_shared *map = open_owned();

    if (routes == NULL) {
        end_with("no memory");
    }
    for (int i = 0; i < SERVICES; i++) {
        put_service(routes, i);
        for (int state = 0; state < STATES; state++) {
            slices[state][i] = make_slice(i, state);
        }
    }
    for (int i = -WARMING; i < ROUNDS; i++) {
        for (int k = 0; k < SERVICES; k++) {
            kl__routes_put_slice(routes, slices[(i + WARMING) % STATES][k],
                                 NULL);
        }
        run_round(routes, map, &found, i < 0 ? 0 : i);
    }
    report("merge and put, 10,000 services changed", found.puts);
    report("publish, their 30,000 entries", found.publishes);
    report("both", found.both);
    for (int i = 0; i < SERVICES; i++) {
        for (int state = 0; state < STATES; state++) {
            kl_object_unref(slices[state][i]);
        }
    }
    kl__routes_free(routes);
    kl_shared_close(map);
    bench_weights();
    return 0;
}
