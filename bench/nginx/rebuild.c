/*
 * rebuild.c - how long the owner of a shared map takes to publish it: so many
 * Services with three endpoints each, one of which has changed. Prints the
 * median and the longest of the rounds, in ms. Usage: rebuild [SERVICES
 * [ROUNDS]]
 */
#include "kubelua/shared_serve.h"
#include "kubelua/shared_write.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MAX_ROUNDS = 10000 };

static double read_clock(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void put_service(kl_shared *map, int number, int round)
{
    char name[64], hosts[3][32];
    kl_endpoint endpoints[3];
    kl_shared_key key;
    kl_error err;

    snprintf(name, sizeof(name), "many/s%05d:http", number);
    memset(endpoints, 0, sizeof(endpoints));
    for (int i = 0; i < 3; i++) {
        snprintf(hosts[i], sizeof(hosts[i]), "10.%d.%d.%d", round % 200 + i,
                 number / 250, number % 250 + 1);
        endpoints[i].host = hosts[i];
        endpoints[i].port = 8080;
        endpoints[i].weight = 1;
        endpoints[i].flags = KL_ENDPOINT_READY | KL_ENDPOINT_SERVING;
    }
    if (!kl_shared_key_init(map, "services", name, strlen(name), &key) ||
        kl_shared_put_endpoints(map, &key, endpoints, 3, &err) != KL_OK) {
        fputs("rebuild: put\n", stderr);
        exit(1);
    }
}

static int compare_times(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

int main(int argc, char **argv)
{
    static double times[MAX_ROUNDS];
    int services = argc > 1 ? atoi(argv[1]) : 10000;
    int rounds = argc > 2 ? atoi(argv[2]) : 500;
    kl_serve_options options = {.no_services = true};
    struct timespec look = {0, 1000000};
    kl_shared *map;
    kl_error err;

    map = kl_shared_open(NULL, &err);
    if (rounds < 1 || rounds > MAX_ROUNDS || map == NULL ||
        kl_shared_serve(map, NULL, &options, &err) != KL_OK) {
        fputs("rebuild: no map\n", stderr);
        return 1;
    }
    while (kl_shared_role(map) != KL_ROLE_OWNER) {
        nanosleep(&look, NULL);
    }
    for (int i = 0; i < services; i++) {
        put_service(map, i, 0);
    }
    for (int i = -3; i < rounds; i++) { /* some to warm up */
        double begun;

        put_service(map, (i + 3) % services, i + 4);
        begun = read_clock();
        if (kl_shared_publish(map, &err) != KL_OK) {
            fprintf(stderr, "rebuild: %s\n", err.message);
            return 1;
        }
        if (i >= 0) {
            times[i] = (read_clock() - begun) * 1e3;
        }
    }
    qsort(times, (size_t)rounds, sizeof(times[0]), compare_times);
    printf("%.3f %.3f\n", times[rounds / 2], times[rounds - 1]);
    kl_shared_leave(map);
    kl_shared_close(map);
    return 0;
}
