/*
 * sim_protobuf_spec.c - answers in protobuf: they equal the JSON answers, and
 * lists and watches come in pieces.
 */
#include "fault_rig.h"

#include "base/mem.h"
#include "failing_alloc.h"
#include "protobuf_reader.h"
#include "sim/core/schema/schema.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PROTOBUF "application/vnd.kubernetes.protobuf"
#define PARTIAL ";as=PartialObjectMetadata;v=v1;g=meta.k8s.io"
#define PARTIALS ";as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
#define DISCOVERY ";g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

/* --- What is answered at once. -------------------------------------------- */

static sim_reply get(kl_sim *sim, const char *target, const char *accept)
{
    const kl_call call = {.method = "GET", .target = target, .accept = accept};
    sim_reply reply = {0};

    assert_int_equal(kl_sim_call(sim, &call, &reply.raw, NULL), KL_OK);
    reply.status = reply.raw.status;
    return reply;
}

/* Takes out what items say in JSON alone: of which kind they are. */
static void drop_kinds(kl__node *list)
{
    kl__node_iter iter = {0};
    kl__node *item;

    while ((item = kl__node_next(kl__node_get(list, "items"), &iter, NULL,
                                 NULL)) != NULL) {
        kl__node_remove(item, "kind");
        kl__node_remove(item, "apiVersion");
    }
}

/* Asserts that both forms say the same; `shape`: parameters of Accept. */
static void expect_same(kl_sim *sim, const char *target, const char *shape)
{
    kl__edit *edit = kl__edit_new(NULL);
    char accept[2][256];
    sim_reply json, protobuf;
    kl__node *wanted, *got;
    kl_error err = {0};

    snprintf(accept[0], sizeof(accept[0]), "application/json%s", shape);
    snprintf(accept[1], sizeof(accept[1]), PROTOBUF "%s", shape);
    json = get(sim, target, accept[0]);
    protobuf = get(sim, target, accept[1]);
    wanted = kl__edit_parse(edit, json.raw.body, json.raw.body_length, NULL);
    got = protobuf_read_object(
        edit, kl__wire_of(protobuf.raw.body, protobuf.raw.body_length), &err);
    if (got == NULL) {
        fail_msg("%s: %s", target, err.message);
    }
    if (kl__node_text(wanted, "apiVersion") == NULL) { /* of discovery */
        kl__node_put(edit, wanted, "apiVersion", kl__edit_text(edit, ""));
    }
    drop_kinds(wanted);
    if (!kl__node_equal(wanted, got)) {
        fail_msg("%s: %s\n%s", target, kl__node_json(got, NULL, NULL),
                 json.raw.body);
    }
    assert_int_equal(json.status, protobuf.status);
    assert_memory_equal(protobuf.raw.content_type, PROTOBUF, strlen(PROTOBUF));
    kl__edit_free(edit);
    sim_reply_clear(&json);
    sim_reply_clear(&protobuf);
}

static void answers_in_protobuf_equal_those_in_json(void **state)
{
    sim_rig *f = *state;

    sim_add(f->sim, "a");
    sim_touch(f->sim, "a", "x");
    sim_add(f->sim, "b");
    expect_same(f->sim, FAULT_OBJECTS "/a", "");
    expect_same(f->sim, FAULT_OBJECTS "/none", "");
    expect_same(f->sim, FAULT_OBJECTS, "");
    expect_same(f->sim, FAULT_OBJECTS "?limit=1", "");
    expect_same(f->sim, FAULT_OBJECTS "/a", PARTIAL);
    expect_same(f->sim, FAULT_OBJECTS, PARTIALS);
    expect_same(f->sim, "/api/v1/namespaces", "");
    expect_same(f->sim, "/api", "");
    expect_same(f->sim, "/apis", "");
    expect_same(f->sim, "/apis/apps/v1", "");
    expect_same(f->sim, "/apis", DISCOVERY);
}

static void a_list_is_sent_as_it_is_made(void **state)
{
    enum { COUNT = 300 };
    sim_rig *f = *state;
    char body[2048], text[1024];

    memset(text, 'x', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    for (int i = 0; i < COUNT; i++) {
        snprintf(body, sizeof(body),
                 "{\"metadata\":{\"name\":\"m%d\"},\"data\":{\"x\":\"%s\"}}", i,
                 text);
        sim_expect(f->sim, "POST", FAULT_OBJECTS, body, 201);
    }
    expect_same(f->sim, FAULT_OBJECTS, "");
    expect_same(f->sim, FAULT_OBJECTS "?limit=200", "");
}

static void the_body_of_a_fault_is_sent_unchanged(void **state)
{
    sim_rig *f = *state;
    const kl_sim_failure with_body = {"get", 1, 500, 0, "{\"no\": \"more\"}"};
    const kl_sim_failure without = {"get", 1, 503, 0, NULL};
    kl__edit *edit = kl__edit_new(NULL);
    kl__buf body = {0};
    kl__node *status;

    kl_sim_fail(f->sim, &with_body, NULL);
    assert_int_equal(fault_body_as(f, FAULT_OBJECTS "/a", PROTOBUF,
                                   SIM_CLIENT_PATIENCE_MS, &body),
                     KL_OK);
    assert_string_equal(body.bytes, "{\"no\": \"more\"}");
    kl__buf_reset(&body);
    kl_sim_fail(f->sim, &without, NULL);
    fault_body_as(f, FAULT_OBJECTS "/a", PROTOBUF, SIM_CLIENT_PATIENCE_MS,
                  &body);
    status =
        protobuf_read_object(edit, kl__wire_of(body.bytes, body.length), NULL);
    assert_string_equal(kl__node_text(status, "reason"), "ServiceUnavailable");
    kl__buf_deinit(&body);
    kl__edit_free(edit);
}

/* --- Out of memory. ------------------------------------------------------- */

typedef struct asked {
    sim_rig *rig;
    const char *target;
} asked;

/* All of an answer, which ends by itself. */
static kl_code read_all(void *context)
{
    const asked *a = context;
    const kl__header header = {"Accept", PROTOBUF};
    const kl__request request = {.method = "GET",
                                 .base_url = "",
                                 .target = a->target,
                                 .headers = &header,
                                 .header_count = 1};
    kl_error err = {0};
    kl__stream *stream = kl__transport_open(a->rig->transport, &request, &err);
    kl__response response;
    char chunk[256];
    size_t length = 1;

    if (stream != NULL) {
        kl__stream_response(stream, &response, -1, NULL, &err);
    }
    while (err.code == KL_OK && length != 0) {
        kl__stream_read(stream, chunk, sizeof(chunk), &length, -1, NULL, &err);
    }
    kl__stream_close(stream);
    kl_sim_requests_clear(a->rig->sim); /* what is remembered is no leak */
    return err.code;
}

static void an_answer_can_run_out_of_memory(void **state)
{
    static const char *const targets[] = {
        FAULT_OBJECTS "/a",
        FAULT_OBJECTS "/none",
        FAULT_OBJECTS,
        "/apis",
        FAULT_OBJECTS "?watch=1&timeoutSeconds=-1",
    };
    asked a = {.rig = *state};

    sim_add(a.rig->sim, "a");
    sim_add(a.rig->sim, "b");
    for (size_t i = 0; i < sizeof(targets) / sizeof(targets[0]); i++) {
        a.target = targets[i];
        assert_int_equal(read_all(&a), KL_OK); /* reads the schemas */
        failing_alloc_each(read_all, &a);
    }
}

#define TEST(name) \
    cmocka_unit_test_setup_teardown(name, sim_rig_set_up, sim_rig_tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(answers_in_protobuf_equal_those_in_json),
        TEST(a_list_is_sent_as_it_is_made),
        TEST(the_body_of_a_fault_is_sent_unchanged),
        TEST(an_answer_can_run_out_of_memory),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
