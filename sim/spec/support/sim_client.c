/*
 * sim_client.c - see sim_client.h.
 */
#include "sim_client.h"

#include "base/buf.h"
#include "base/clock.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

enum { SILENCE_MS = 60 };

sim_reply sim_ask(kl_sim *sim, const char *method, const char *target,
                  const char *body)
{
    const kl_call call = {.method = method,
                          .target = target,
                          .body = body,
                          .body_length = body != NULL ? strlen(body) : 0,
                          .content_type = strcmp(method, "PATCH") == 0
                                              ? "application/merge-patch+json"
                                              : NULL};
    sim_reply reply = {0};
    kl_error err = {0};

    if (kl_sim_call(sim, &call, &reply.raw, &err) != KL_OK) {
        fail_msg("%s %s: %s", method, target, err.message);
    }
    reply.status = reply.raw.status;
    reply.doc = kl_doc_parse(reply.raw.body, reply.raw.body_length, NULL);
    return reply;
}

void sim_reply_clear(sim_reply *reply)
{
    kl_doc_unref(reply->doc);
    kl_reply_clear(&reply->raw);
    reply->doc = NULL;
}

const char *sim_text(const kl_doc *doc, const char *path)
{
    static _Thread_local char text[8192];
    kl_path *compiled = kl_path_parse(path, NULL);
    const kl_value *value =
        doc != NULL ? kl_path_first(compiled, kl_doc_root(doc)) : NULL;
    char *json;

    assert_non_null(compiled);
    text[0] = '\0';
    if (kl_value_type(value) == KL_STRING) {
        snprintf(text, sizeof(text), "%s", kl_value_string(value, NULL));
    } else if (value != NULL) {
        json = kl_value_json(value, NULL, NULL);
        snprintf(text, sizeof(text), "%s", json);
        kl_free(json);
    }
    kl_path_free(compiled);
    return text;
}

void sim_expect(kl_sim *sim, const char *method, const char *target,
                const char *body, int status)
{
    sim_reply reply = sim_ask(sim, method, target, body);

    if (reply.status != status) {
        fail_msg("%s %s: %d, not %d: %s", method, target, reply.status, status,
                 reply.raw.body);
    }
    sim_reply_clear(&reply);
}

void sim_add(kl_sim *sim, const char *name)
{
    char body[512];

    snprintf(body, sizeof(body), "{\"metadata\":{\"name\":\"%s\"}}", name);
    sim_expect(sim, "POST", "/api/v1/namespaces/default/configmaps", body, 201);
}

void sim_touch(kl_sim *sim, const char *name, const char *value)
{
    char target[512], body[512];

    snprintf(target, sizeof(target), "/api/v1/namespaces/default/configmaps/%s",
             name);
    snprintf(body, sizeof(body), "{\"data\":{\"k\":\"%s\"}}", value);
    sim_expect(sim, "PATCH", target, body, 200);
}

static int64_t deadline(int ms)
{
    return kl__clock_now(kl__clock_real()) + ms;
}

void sim_watch_open(sim_watch *watch, kl_transport *transport,
                    const char *base_url, const char *target)
{
    sim_watch_open_as(watch, transport, base_url, target, NULL);
}

void sim_watch_open_as(sim_watch *watch, kl_transport *transport,
                       const char *base_url, const char *target,
                       const char *accept)
{
    const kl__header header = {"Accept", accept};
    const kl__request request = {.method = "GET",
                                 .base_url = base_url,
                                 .target = target,
                                 .headers = &header,
                                 .header_count = accept != NULL};
    kl__response response;
    kl_error err = {0};

    memset(watch, 0, sizeof(*watch));
    watch->stream = kl__transport_open(transport, &request, &err);
    if (watch->stream == NULL ||
        kl__stream_response(watch->stream, &response,
                            deadline(SIM_CLIENT_PATIENCE_MS), NULL,
                            &err) != KL_OK) {
        fail_msg("GET %s: %s", target, err.message);
    }
    watch->status = response.status;
}

/* Reads until there is a whole line. KL_OK without a line: the stream has
 * ended. */
static kl_code read_line(sim_watch *watch, int patience_ms, char **newline,
                         kl_error *err)
{
    int64_t until = deadline(patience_ms);
    char chunk[4096];

    for (;;) {
        size_t length = 0;
        kl_code code;

        *newline = watch->bytes.length != 0
                       ? memchr(watch->bytes.bytes, '\n', watch->bytes.length)
                       : NULL;
        if (*newline != NULL) {
            return KL_OK;
        }
        code = kl__stream_read(watch->stream, chunk, sizeof(chunk), &length,
                               until, NULL, err);
        if (code != KL_OK || length == 0) {
            return code;
        }
        kl__buf_append(&watch->bytes, chunk, length);
    }
}

const char *sim_watch_next(sim_watch *watch)
{
    kl_error err = {0};
    char *newline;

    kl_doc_unref(watch->event);
    watch->event = NULL;
    if (read_line(watch, SIM_CLIENT_PATIENCE_MS, &newline, &err) != KL_OK) {
        fail_msg("reading a watch: %s", err.message);
    }
    if (newline == NULL) {
        assert_int_equal(watch->bytes.length, 0);
        return "";
    }
    watch->event = kl_doc_parse(watch->bytes.bytes,
                                (size_t)(newline - watch->bytes.bytes), &err);
    if (watch->event == NULL) {
        fail_msg("an event: %s", err.message);
    }
    kl__buf_consume(&watch->bytes, (size_t)(newline - watch->bytes.bytes) + 1);
    return kl_value_string(kl_value_get(kl_doc_root(watch->event), "type"),
                           NULL);
}

kl_code sim_watch_failure(sim_watch *watch, kl_error *err)
{
    char *newline;
    kl_code code = read_line(watch, SIM_CLIENT_PATIENCE_MS, &newline, err);

    assert_null(newline);
    return code;
}

void sim_watch_expect(sim_watch *watch, const char *type, const char *name)
{
    assert_string_equal(sim_watch_next(watch), type);
    assert_string_equal(sim_text(watch->event, "object.metadata.name"), name);
}

void sim_watch_expect_silence(sim_watch *watch)
{
    char *newline;

    assert_int_equal(read_line(watch, SILENCE_MS, &newline, NULL), KL_ETIMEOUT);
    assert_null(newline);
}

void sim_watch_close(sim_watch *watch)
{
    kl__stream_close(watch->stream);
    kl__buf_deinit(&watch->bytes);
    kl_doc_unref(watch->event);
    memset(watch, 0, sizeof(*watch));
}

void sim_expect_nothing_lives(void)
{
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        if (kl_live_count((kl_live_kind)kind) != 0) {
            fail_msg("%ld %s live", kl_live_count((kl_live_kind)kind),
                     kl_live_name((kl_live_kind)kind));
        }
    }
}
