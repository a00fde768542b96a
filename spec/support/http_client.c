/*
 * http_client.c - see http_client.h.
 */
#include "http_client.h"

#include "base/clock.h"
#include "kubelua/memory.h"
#include "kubelua/client.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

int64_t soon(void)
{
    return kl__clock_now(kl__clock_real()) + 60000;
}

bool clients_share_a_thread(void)
{
    return getenv("KUBELUA_CARRIED") != NULL;
}

kl_transport *new_transport(void)
{
    kl_error err;
    kl_transport *transport =
        kl__curl_transport_new(clients_share_a_thread(), &err);

    assert_non_null(transport);
    return transport;
}

kl__stream *get(kl_transport *transport, const char *url, const char *target)
{
    kl__request request = {.method = "GET", .base_url = url, .target = target};
    kl_error err;
    kl__stream *stream = kl__transport_open(transport, &request, &err);

    assert_non_null(stream);
    return stream;
}

kl__response await_head(kl__stream *stream)
{
    kl__response response = {0};
    kl_error err = {0};
    kl_code code = kl__stream_response(stream, &response, soon(), NULL, &err);

    if (code != KL_OK) {
        print_error("no head: %s: %s\n", kl_code_name(code), err.message);
    }
    assert_int_equal(code, KL_OK);
    return response;
}

kl_code read_to_end(kl__stream *stream, kl__buf *body, kl_error *err)
{
    char bytes[8192];
    size_t length;
    kl_code code;

    do {
        code = kl__stream_read(stream, bytes, sizeof(bytes), &length, soon(),
                               NULL, err);
        if (body != NULL) {
            kl__buf_append(body, bytes, length);
        }
    } while (code == KL_OK && length > 0);
    kl__stream_close(stream);
    return code;
}

void end_transport(kl_transport *transport)
{
    kl_transport_unref(transport);
    assert_int_equal(kl_live_count(KL_LIVE_STREAM), 0);
    assert_int_equal(kl_live_count(KL_LIVE_THREAD), 0);
}

int set_up(void **state)
{
    fixture *f = calloc(1, sizeof(*f));

    assert_non_null(f);
    f->server = hostile_new(NULL);
    f->transport = new_transport();
    *state = f;
    return 0;
}

int tear_down(void **state)
{
    fixture *f = *state;
    kl_transport *transport = f->transport;

    hostile_free(f->server);
    free(f);
    end_transport(transport); /* the last step, as it may fail the test */
    return 0;
}

kl__stream *ask(fixture *f, const char *target)
{
    return get(f->transport, hostile_url(f->server), target);
}
