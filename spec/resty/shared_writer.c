/*
 * shared_writer.c - the owner of a shared map in a file, for the specs of
 * lua/resty: it takes the map, does what its arguments say, publishes and ends.
 * Usage: shared_writer FILE COMMAND..., where COMMAND is
 *   endpoints NAME [HOST,PORT,WEIGHT,FLAGS,ZONE,NODE,POD]...
 *   put TABLE KEY VALUE | remove TABLE KEY | complete TABLE | heard | synced |
 *   publish | churn SECONDS NAME
 * and ";" ends each of them.
 */
#include "base/clock.h"
#include "shared/writer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 2000 };

static kl_shared *map;

static void check(kl_code code, const kl_error *err)
{
    if (code != KL_OK) {
        fprintf(stderr, "shared_writer: %s\n", err->message);
        exit(1);
    }
}

static kl_shared_key key_of(const char *table, const char *text)
{
    kl_shared_key key;

    if (!kl_shared_key_init(map, table, text, strlen(text), &key)) {
        fprintf(stderr, "shared_writer: no key: %s %s\n", table, text);
        exit(1);
    }
    return key;
}

/* Cuts the first field off a text; "" becomes NULL. */
static char *next_field(char **text)
{
    char *field = strsep(text, ",");

    return field != NULL && field[0] != '\0' ? field : NULL;
}

static uint16_t next_number(char **text, uint16_t missing)
{
    const char *field = next_field(text);

    return field != NULL ? (uint16_t)strtoul(field, NULL, 10) : missing;
}

static void put_endpoints(char **words, int count)
{
    static kl_endpoint endpoints[MOST];
    kl_shared_key key = key_of("services", words[0]);
    kl_error err;

    for (int i = 1; i < count && i < MOST; i++) {
        char *text = words[i];
        kl_endpoint *endpoint = &endpoints[i - 1];

        endpoint->host = next_field(&text);
        endpoint->port = next_number(&text, 80);
        endpoint->weight = next_number(&text, 1);
        endpoint->flags =
            next_number(&text, KL_ENDPOINT_READY | KL_ENDPOINT_SERVING);
        endpoint->zone = next_field(&text);
        endpoint->node = next_field(&text);
        endpoint->pod = next_field(&text);
    }
    check(
        kl_shared_put_endpoints(map, &key, endpoints, (size_t)count - 1, &err),
        &err);
}

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Publishes without pause: all endpoints of the entry belong to one state. */
static void churn(char **words)
{
    kl_shared_key key = key_of("services", words[1]);
    double end = now() + strtod(words[0], NULL);
    kl_error err;

    for (unsigned state = 0; now() < end; state = (state + 1) % 60000) {
        kl_endpoint endpoints[3];
        char hosts[3][16];

        for (unsigned i = 0; i < 3; i++) {
            snprintf(hosts[i], sizeof(hosts[i]), "10.%u.%u.%u", i, state / 250,
                     state % 250);
            endpoints[i] =
                (kl_endpoint){.host = hosts[i],
                              .port = (uint16_t)(1 + state),
                              .weight = 1,
                              .flags = KL_ENDPOINT_READY | KL_ENDPOINT_SERVING};
        }
        check(kl_shared_put_endpoints(map, &key, endpoints, 3, &err), &err);
        check(kl_shared_publish(map, &err), &err);
    }
}

static void run(char **words, int count)
{
    kl_error err;
    const char *name = words[0];

    if (strcmp(name, "endpoints") == 0 && count >= 2) {
        put_endpoints(words + 1, count - 1);
    } else if (strcmp(name, "put") == 0 && count == 4) {
        kl_shared_key key = key_of(words[1], words[2]);

        check(kl_shared_put(map, &key, words[3], strlen(words[3]), &err), &err);
    } else if (strcmp(name, "remove") == 0 && count == 3) {
        kl_shared_key key = key_of(words[1], words[2]);

        check(kl_shared_remove(map, &key, &err), &err);
    } else if (strcmp(name, "complete") == 0 && count == 2) {
        check(kl_shared_complete(map, words[1], &err), &err);
    } else if (strcmp(name, "heard") == 0) {
        kl__shared_heard(map, kl__clock_now(kl__clock_real()));
    } else if (strcmp(name, "synced") == 0) {
        kl__shared_set_synced(map);
    } else if (strcmp(name, "publish") == 0) {
        check(kl_shared_publish(map, &err), &err);
    } else if (strcmp(name, "churn") == 0 && count == 3) {
        churn(words + 1);
    } else {
        fprintf(stderr, "shared_writer: no such command: %s\n", name);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    kl_code code;
    kl_error err;
    int first = 2;

    map = argc < 2 ? NULL
                   : kl_shared_open(
                         &(kl_shared_options){.path = argv[1], .size = 1 << 20},
                         &err);
    if (map == NULL) {
        fprintf(stderr, "shared_writer: %s\n", argc < 2 ? "?" : err.message);
        return 1;
    }
    check(kl__shared_take(map, &err), &err);
    for (int i = 2; i <= argc; i++) {
        if (i == argc || strcmp(argv[i], ";") == 0) {
            if (i > first) {
                run(argv + first, i - first);
            }
            first = i + 1;
        }
    }
    code = kl_shared_publish(map, &err); /* too large: some is left out */
    check(code == KL_ETOO_LARGE ? KL_OK : code, &err);
    kl__shared_drop(map);
    kl_shared_close(map);
    return 0;
}
