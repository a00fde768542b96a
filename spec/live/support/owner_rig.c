/*
 * owner_rig.c - see owner_rig.h.
 */
#include "owner_rig.h"

#include "base/buf.h"
#include "base/clock.h"
#include "sim_client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

static void load(kl_sim *sim, kl__buf *json)
{
    kl_error err;

    if (kl_sim_load(sim, json->bytes, json->length, &err) != KL_OK) {
        fail_msg("%s: %s", json->bytes, err.message);
    }
    kl__buf_deinit(json);
}

void owner_service(kl_sim *sim, const char *name)
{
    kl__buf json = {0};

    kl__buf_printf(&json,
                   "{\"apiVersion\":\"v1\",\"kind\":\"Service\",\"metadata\":{"
                   "\"namespace\":\"web\",\"name\":\"%s\"},\"spec\":{\"ports\":"
                   "[{\"name\":\"http\",\"port\":80}]}}",
                   name);
    load(sim, &json);
}

void owner_slice(kl_sim *sim, const char *name, const char *service,
                 const char *endpoints)
{
    kl__buf json = {0};
    const char *comma = "";

    kl__buf_printf(&json,
                   "{\"apiVersion\":\"discovery.k8s.io/v1\",\"kind\":"
                   "\"EndpointSlice\",\"metadata\":{\"namespace\":\"web\","
                   "\"name\":\"%s\",\"labels\":{\"kubernetes.io/service-name\":"
                   "\"%s\"}},\"addressType\":\"IPv4\",\"ports\":[{\"name\":"
                   "\"http\",\"port\":8080}],\"endpoints\":[",
                   name, service);
    while (*endpoints != '\0') {
        bool ready = *endpoints != '!';
        int length;

        endpoints += ready ? 0 : 1;
        length = (int)strcspn(endpoints, " ");
        kl__buf_printf(&json,
                       "%s{\"addresses\":[\"%.*s\"],\"conditions\":{\"ready\":"
                       "%s}}",
                       comma, length, endpoints, ready ? "true" : "false");
        comma = ",";
        endpoints += length;
        endpoints += *endpoints == ' ' ? 1 : 0;
    }
    kl__buf_puts(&json, "]}");
    load(sim, &json);
}

void owner_delete_service(kl_sim *sim, const char *name)
{
    char target[128];

    snprintf(target, sizeof(target), "/api/v1/namespaces/web/services/%s",
             name);
    sim_expect(sim, "DELETE", target, NULL, 200);
}

void owner_delete_slice(kl_sim *sim, const char *name)
{
    char target[128];

    snprintf(target, sizeof(target),
             "/apis/discovery.k8s.io/v1/namespaces/web/endpointslices/%s",
             name);
    sim_expect(sim, "DELETE", target, NULL, 200);
}

static int compare_texts(const void *left, const void *right)
{
    return strcmp(left, right);
}

const char *owner_text(const kl_shared *map, const char *name)
{
    static char text[8192];
    char key_text[128], hosts[64][KL_SHARED_HOST_MAX + 2];
    kl_pick picks[64];
    kl_shared_key key;
    kl_shared_result result;
    uint32_t count = 0;

    snprintf(key_text, sizeof(key_text), "web/%s:http", name);
    assert_true(
        kl_shared_key_init(map, "services", key_text, strlen(key_text), &key));
    result = kl_shared_endpoints(map, &key, picks, 64, &count);
    if (result != KL_SHARED_OK) {
        return kl_shared_result_name(result);
    }
    text[0] = '\0';
    for (uint32_t i = 0; i < count; i++) {
        assert_int_equal(picks[i].port, 8080);
        snprintf(hosts[i], sizeof(hosts[i]), "%s%s",
                 (picks[i].flags & KL_ENDPOINT_READY) != 0 ? "" : "!",
                 picks[i].host);
    }
    qsort(hosts, count, sizeof(hosts[0]), compare_texts);
    for (uint32_t i = 0; i < count; i++) {
        size_t used = strlen(text);

        snprintf(text + used, sizeof(text) - used, "%s%s", i > 0 ? " " : "",
                 hosts[i]);
    }
    return text;
}

void owner_await_claim(bool (*claim)(const void *context), const void *context,
                       const char *what)
{
    int64_t end = kl__clock_now(kl__clock_real()) + OWNER_PATIENCE_MS;

    while (!claim(context)) {
        if (kl__clock_now(kl__clock_real()) > end) {
            fail_msg("in vain: %s", what);
        }
        nanosleep(&(struct timespec){.tv_nsec = 500000}, NULL);
    }
}

typedef struct expected {
    const kl_shared *map;
    const char *name;
    const char *text;
} expected;

static bool is_expected(const void *context)
{
    const expected *self = context;

    return strcmp(owner_text(self->map, self->name), self->text) == 0;
}

void owner_await(const kl_shared *map, const char *name, const char *text)
{
    const expected context = {map, name, text};
    char what[256];

    snprintf(what, sizeof(what), "%s is to be %s, and was %s", name, text,
             owner_text(map, name));
    owner_await_claim(is_expected, &context, what);
}

void owner_await_age(const kl_shared *map, int64_t more_ms, const char *name,
                     const char *text)
{
    int64_t end = kl__clock_now(kl__clock_real()) + OWNER_PATIENCE_MS;
    int64_t age = kl_shared_age_ms(map);

    assert_true(age >= 0);
    while (kl_shared_age_ms(map) < age + more_ms) {
        assert_string_equal(owner_text(map, name), text);
        assert_true(kl__clock_now(kl__clock_real()) < end);
    }
}
