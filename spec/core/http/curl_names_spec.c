/*
 * curl_names_spec.c - a name server that hangs holds up nothing but the request
 * that needs it.
 */
#include "http/transport.h"

#include "hostile_server.h"
#include "http_client.h"

#include "base/clock.h"

#include <dlfcn.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

/* spec/core/cancel holds every call to 50 ms of its own time; this is by the
 * clock of a machine that has other work. */
enum { CANCEL_MS = 1000 };

static int64_t now(void)
{
    return kl__clock_now(kl__clock_real());
}

/* A name server that does not answer: libcurl finds this one first. */
static struct name_server {
    pthread_mutex_t mutex;
    pthread_cond_t cond;
    int asked;
    bool answers;
} name_server = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, false};

__attribute__((visibility("default"))) int
getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
            struct addrinfo **result)
{
    typedef int (*lookup)(const char *, const char *, const struct addrinfo *,
                          struct addrinfo **);
    lookup real;

    if (node == NULL || strcmp(node, "hangs.invalid") != 0) {
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
        return real(node, service, hints, result);
    }
    pthread_mutex_lock(&name_server.mutex);
    name_server.asked++;
    pthread_cond_broadcast(&name_server.cond);
    while (!name_server.answers) {
        pthread_cond_wait(&name_server.cond, &name_server.mutex);
    }
    name_server.asked--;
    pthread_cond_broadcast(&name_server.cond);
    pthread_mutex_unlock(&name_server.mutex);
    return EAI_FAIL;
}

static void await_asked(int asked)
{
    pthread_mutex_lock(&name_server.mutex);
    while (name_server.asked != asked) {
        pthread_cond_wait(&name_server.cond, &name_server.mutex);
    }
    pthread_mutex_unlock(&name_server.mutex);
}

static void a_dns_server_that_hangs_delays_no_other_request(void **state)
{
    fixture *f = *state;
    kl__stream *stream = get(f->transport, "http://hangs.invalid", "/");
    int64_t began_ms;

    await_asked(1);
    /* The stream closes at once; the transport goes on, and ends at once. */
    began_ms = now();
    kl__stream_close(stream);
    assert_in_range(now() - began_ms, 0, CANCEL_MS);
    hostile_on(f->server, "", STEPS(HOSTILE_ANSWER(200, "{}")));
    assert_int_equal(read_to_end(ask(f, "/"), NULL, NULL), KL_OK);
    stream = get(f->transport, "http://hangs.invalid", "/");
    await_asked(2);
    kl__stream_close(stream);
    began_ms = now();
    end_transport(f->transport);
    f->transport = NULL;
    assert_in_range(now() - began_ms, 0, 2000); /* and it is not this slow */
    pthread_mutex_lock(&name_server.mutex);
    name_server.answers = true;
    pthread_cond_broadcast(&name_server.cond);
    pthread_mutex_unlock(&name_server.mutex);
    await_asked(0);
}

int main(void)
{
    const struct CMUnitTest specs[] = {
        cmocka_unit_test_setup_teardown(
            a_dns_server_that_hangs_delays_no_other_request, set_up, tear_down),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
