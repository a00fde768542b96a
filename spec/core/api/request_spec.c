/*
 * request_spec.c - requests that do not block their caller, against a scripted
 * transport: how they complete, are cancelled, closed, freed or tried again,
 * and what happens to a request that is not answered.
 */
#include "client_rig.h"

#include "base/clock.h"
#include "kubelua/memory.h"

#include <malloc.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

enum { MANY = 300, SMALL = 12 * 1024 };

typedef request_rig world;

/* ---- completion ---- */

static void an_answered_request_comes_back_by_its_tag_once(void **state)
{
    world *self = *state;
    kl_request *request;
    kl_reply reply;

    fake_transport_answer(
        self->fake,
        &(fake_answer){.body = "{}", .chunk = 1, .holds_head = true});
    request = request_send_it(self, "GET", "/version");
    assert_false(kl_request_is_complete(request));
    assert_int_equal(kl_request_result(request, &reply, &self->err), KL_EINVAL);
    assert_null(kl_event_queue_next(self->queue));
    assert_true(fake_transport_await(self->fake, 1));
    fake_transport_release(self->fake, 0);
    assert_ptr_equal(request_next_tag(self), self);
    assert_true(kl_request_is_complete(request));
    assert_int_equal(kl_request_result(request, &reply, &self->err), KL_OK);
    assert_int_equal(reply.status, 200);
    assert_string_equal(reply.body, "{}");
    assert_int_equal(reply.retry_after_ms, -1);
    kl_reply_clear(&reply);
    assert_int_equal(kl_request_result(request, &reply, &self->err), KL_EINVAL);
    kl_request_free(request);
    assert_null(kl_event_queue_next(self->queue));
}

static void a_short_answer_needs_a_small_buffer(void **state)
{
    world *self = *state;
    kl_reply reply;

    fake_transport_answer(self->fake, &(fake_answer){.body = "{}"});
    assert_int_equal(
        request_end_of(self, request_send_it(self, "GET", "/"), &reply), KL_OK);
    assert_in_range(malloc_usable_size(reply.body), 3, SMALL);
    kl_reply_clear(&reply);
}

static void a_reply_has_the_headers_of_the_answer(void **state)
{
    world *self = *state;
    kl_reply reply;

    fake_transport_answer(
        self->fake,
        &(fake_answer){.headers = "audit-id:7\nwarning:a\nwarning:b\n"});
    assert_int_equal(
        request_end_of(self, request_send_it(self, "GET", "/"), &reply), KL_OK);
    assert_int_equal(reply.header_count, 4);
    assert_string_equal(reply.headers[1].name, "audit-id");
    assert_string_equal(kl_reply_header(&reply, "Audit-Id"), "7");
    assert_string_equal(kl_reply_header(&reply, "warning"), "a");
    assert_null(kl_reply_header(&reply, "etag"));
    kl_reply_clear(&reply);
    assert_null(kl_reply_header(&reply, "audit-id"));
}

static void a_request_carries_the_headers_that_it_was_given(void **state)
{
    world *self = *state;
    const kl_header more[] = {{"X-Reason", "spec"}, {"If-None-Match", "\"1\""}};
    const kl_call call = {.method = "POST",
                          .target = "/x",
                          .body = "{}",
                          .body_length = 2,
                          .headers = more,
                          .header_count = 2};
    fake_request seen;

    assert_int_equal(
        request_status_of(self, request_send_call(self, &call, self)), 404);
    seen = fake_transport_request(self->fake, 0);
    assert_non_null(strstr(seen.headers, "X-Reason: spec\n"));
    assert_non_null(strstr(seen.headers, "If-None-Match: \"1\"\n"));
    assert_non_null(strstr(seen.headers, "Content-Type: application/json\n"));
    assert_string_equal(seen.body, "{}");
}

static void a_header_that_is_the_clients_own_is_refused(void **state)
{
    static const kl_header bad[] = {
        {"Authorization", "x"}, {"accept", "x"}, {"User-Agent", "x"},
        {"a b", "x"},           {"", "x"},       {"a:", "x"},
        {"a", "x\r\nb: c"},     {"a", NULL}};
    world *self = *state;

    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        const kl_call call = {.method = "GET",
                              .target = "/",
                              .headers = &bad[i],
                              .header_count = 1};

        assert_null(
            kl_client_send(self->client, &call, self->queue, self, &self->err));
        assert_int_equal(self->err.code, KL_EINVAL);
    }
    assert_int_equal(fake_transport_count(self->fake), 0);
}

static void hundreds_are_in_flight_at_once(void **state)
{
    world *self = *state;
    kl_request *requests[MANY];
    char seen[MANY] = {0};

    fake_transport_answer(self->fake,
                          &(fake_answer){.holds_head = true, .times = MANY});
    for (int i = 0; i < MANY; i++) {
        const kl_call call = {.method = "GET", .target = "/"};

        requests[i] = request_send_call(self, &call, &seen[i]);
    }
    assert_true(fake_transport_await(self->fake, MANY));
    for (size_t i = 0; i < MANY; i++) {
        fake_transport_release(self->fake, i);
    }
    for (int i = 0; i < MANY; i++) {
        char *tag = request_next_tag(self);

        *tag = (char)(*tag + 1);
    }
    for (int i = 0; i < MANY; i++) {
        kl_reply reply;

        assert_int_equal(seen[i], 1);
        assert_int_equal(kl_request_result(requests[i], &reply, NULL), KL_OK);
        kl_reply_clear(&reply);
        kl_request_free(requests[i]);
    }
}

/* ---- ends before the answer ---- */

static void a_read_whose_time_is_over_has_timed_out(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/", .timeout_ms = 20};

    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    assert_int_equal(
        request_failure_of(self, request_send_call(self, &call, self)),
        KL_ETIMEOUT);
    assert_int_equal(fake_transport_count(self->fake), 1);
}

static void a_body_that_does_not_end_in_time_is_a_timeout(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/", .timeout_ms = 20};

    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "x", .end = FAKE_HOLD});
    assert_int_equal(
        request_failure_of(self, request_send_call(self, &call, self)),
        KL_ETIMEOUT);
}

static void a_write_that_was_sent_and_not_answered_is_unknown(void **state)
{
    static const char *const writes[] = {"POST", "PUT", "PATCH", "DELETE"};
    world *self = *state;

    for (size_t i = 0; i < sizeof(writes) / sizeof(writes[0]); i++) {
        const kl_call call = {
            .method = writes[i], .target = "/", .timeout_ms = 20};

        fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
        assert_int_equal(
            request_failure_of(self, request_send_call(self, &call, self)),
            KL_EUNKNOWN);
        assert_non_null(strstr(self->err.message, "may have been carried out"));
        assert_int_equal(fake_transport_count(self->fake), i + 1);
    }
}

static void a_write_that_was_not_sent_has_timed_out(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "POST", .target = "/", .timeout_ms = 20};

    fake_transport_answer(self->fake,
                          &(fake_answer){.holds_head = true, .unsent = true});
    assert_int_equal(
        request_failure_of(self, request_send_call(self, &call, self)),
        KL_ETIMEOUT);
}

static void
a_write_on_a_broken_connection_is_unknown_and_sent_once(void **state)
{
    world *self = *state;

    fake_transport_answer(self->fake,
                          &(fake_answer){.failure = KL_EUNAVAILABLE});
    assert_int_equal(
        request_failure_of(self, request_send_it(self, "POST", "/")),
        KL_EUNKNOWN);
    fake_transport_answer(
        self->fake,
        &(fake_answer){.status = 201, .body = "{", .end = FAKE_BREAK});
    assert_int_equal(
        request_failure_of(self, request_send_it(self, "POST", "/")),
        KL_EUNKNOWN);
    assert_int_equal(self->err.http_status, 201);
    assert_int_equal(fake_transport_count(self->fake), 2);
}

static void a_request_that_is_refused_a_connection_is_unavailable(void **state)
{
    static const char *const methods[] = {"GET", "POST"};
    world *self = *state;

    for (size_t i = 0; i < 2; i++) {
        fake_transport_answer(
            self->fake,
            &(fake_answer){.failure = KL_EUNAVAILABLE, .unsent = true});
        assert_int_equal(
            request_failure_of(self, request_send_it(self, methods[i], "/")),
            KL_EUNAVAILABLE);
        assert_int_equal(fake_transport_count(self->fake), i + 1);
    }
}

#define SPEC(name)                                            \
    cmocka_unit_test_setup_teardown(name, request_rig_set_up, \
                                    request_rig_tear_down)

/* ---- cancel, close, free ---- */

static void cancelling_ends_a_request_in_flight(void **state)
{
    world *self = *state;
    kl_request *get, *post, *unsent;

    fake_transport_answer(self->fake,
                          &(fake_answer){.holds_head = true, .times = 2});
    fake_transport_answer(self->fake,
                          &(fake_answer){.holds_head = true, .unsent = true});
    get = request_send_it(self, "GET", "/");
    assert_true(fake_transport_await_reader(self->fake, 0));
    kl_request_cancel(get);
    assert_int_equal(request_failure_of(self, get), KL_ECANCELED);
    post = request_send_it(self, "POST", "/");
    assert_true(fake_transport_await_reader(self->fake, 1));
    kl_request_cancel(post);
    kl_request_cancel(post);
    assert_int_equal(request_failure_of(self, post), KL_EUNKNOWN);
    unsent = request_send_it(self, "POST", "/");
    assert_true(fake_transport_await_reader(self->fake, 2));
    kl_request_cancel(unsent);
    assert_int_equal(request_failure_of(self, unsent), KL_ECANCELED);
    for (size_t i = 0; i < 3; i++) {
        assert_true(fake_transport_request(self->fake, i).is_closed);
    }
}

static void cancelling_what_is_complete_changes_nothing(void **state)
{
    world *self = *state;
    kl_request *request = request_send_it(self, "GET", "/");

    assert_int_equal(kl_request_wait(request, -1), KL_OK);
    kl_request_cancel(request);
    assert_int_equal(request_status_of(self, request), 404);
}

static void closing_the_client_ends_all_of_its_requests(void **state)
{
    world *self = *state;
    kl_request *requests[MANY];
    char tags[MANY] = {0};
    int64_t began_ms;

    fake_transport_answer(self->fake,
                          &(fake_answer){.holds_head = true, .times = MANY});
    for (int i = 0; i < MANY; i++) {
        const kl_call call = {.method = i % 2 == 0 ? "GET" : "POST",
                              .target = "/"};

        requests[i] = request_send_call(self, &call, &tags[i]);
    }
    assert_true(fake_transport_await_reader(self->fake, MANY - 1));
    began_ms = kl__clock_now(kl__clock_real());
    kl_client_close(self->client);
    for (int i = 0; i < MANY; i++) {
        char *tag = request_next_tag(self);

        *tag = (char)(*tag + 1);
    }
    assert_true(kl__clock_now(kl__clock_real()) - began_ms < 2000);
    for (int i = 0; i < MANY; i++) {
        kl_reply reply;

        assert_int_equal(tags[i], 1);
        assert_int_equal(kl_request_result(requests[i], &reply, NULL),
                         i % 2 == 0 ? KL_ECLOSED : KL_EUNKNOWN);
        kl_request_free(requests[i]);
    }
    assert_null(kl_client_send(self->client,
                               &(kl_call){.method = "GET", .target = "/"},
                               self->queue, self, &self->err));
    assert_int_equal(self->err.code, KL_ECLOSED);
}

static void a_request_is_freed_in_flight_and_says_nothing_more(void **state)
{
    world *self = *state;
    kl_request *request;

    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    request = request_send_it(self, "POST", "/");
    assert_true(fake_transport_await_reader(self->fake, 0));
    kl_request_free(request);
    kl_request_free(NULL);
    /* A later one is told of; this one is not. */
    assert_int_equal(request_status_of(self, request_send_it(self, "GET", "/")),
                     404);
    assert_null(kl_event_queue_next(self->queue));
}

static void a_complete_request_that_is_freed_leaves_its_queue(void **state)
{
    world *self = *state;
    kl_request *request = request_send_it(self, "GET", "/");

    assert_int_equal(kl_request_wait(request, -1), KL_OK);
    kl_request_free(request);
    assert_null(kl_event_queue_next(self->queue));
}

static void a_request_keeps_its_client_and_its_queue(void **state)
{
    world *self = *state;
    kl_request *request;
    kl_reply reply;

    fake_transport_answer(self->fake, &(fake_answer){.holds_head = true});
    request = request_send_it(self, "GET", "/");
    assert_true(fake_transport_await_reader(self->fake, 0));
    kl_client_unref(self->client);
    kl_event_queue_free(self->queue);
    self->client = NULL;
    self->queue = NULL;
    fake_transport_release(self->fake, 0);
    assert_int_equal(kl_request_wait(request, -1), KL_OK);
    assert_int_equal(kl_request_result(request, &reply, NULL), KL_OK);
    kl_reply_clear(&reply);
    kl_request_free(request);
}

static void a_request_in_a_queue_needs_a_tag(void **state)
{
    world *self = *state;
    const kl_call call = {.method = "GET", .target = "/"};

    assert_null(
        kl_client_send(self->client, &call, self->queue, NULL, &self->err));
    assert_int_equal(self->err.code, KL_EINVAL);
}

/* ---- tried again ---- */

static void a_read_on_a_broken_connection_is_tried_again(void **state)
{
    world *self = *state;

    fake_transport_answer(self->fake,
                          &(fake_answer){.failure = KL_EUNAVAILABLE});
    fake_transport_answer(self->fake,
                          &(fake_answer){.body = "half", .end = FAKE_BREAK});
    fake_transport_answer(self->fake, &(fake_answer){.body = "whole"});
    assert_int_equal(request_status_of(self, request_send_it(self, "GET", "/")),
                     200);
    assert_int_equal(fake_transport_count(self->fake), 3);
}

static void a_429_or_503_with_retry_after_is_tried_again(void **state)
{
    world *self = *state;
    kl_reply reply;

    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 429, .retry_after_ms = 1});
    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 503, .retry_after_ms = 1});
    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 201, .body = "made"});
    assert_int_equal(
        request_end_of(self, request_send_it(self, "POST", "/"), &reply),
        KL_OK);
    assert_int_equal(reply.status, 201);
    assert_string_equal(reply.body, "made");
    kl_reply_clear(&reply);
    assert_int_equal(fake_transport_count(self->fake), 3);
}

static void with_no_retry_a_429_is_an_answer(void **state)
{
    world *self = *state;
    kl_call call = {.method = "POST", .target = "/", .no_retry = true};
    kl_reply reply;

    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 429, .retry_after_ms = 1});
    assert_int_equal(
        request_end_of(self, request_send_call(self, &call, self), &reply),
        KL_OK);
    assert_int_equal(reply.status, 429);
    assert_int_equal(reply.retry_after_ms, 1);
    kl_reply_clear(&reply);
    call.method = "GET";
    fake_transport_answer(self->fake,
                          &(fake_answer){.failure = KL_EUNAVAILABLE});
    assert_int_equal(
        request_failure_of(self, request_send_call(self, &call, self)),
        KL_EUNAVAILABLE);
    /* Nor without a Retry-After. */
    fake_transport_answer(self->fake, &(fake_answer){.status = 503});
    assert_int_equal(request_status_of(self, request_send_it(self, "GET", "/")),
                     503);
    assert_int_equal(fake_transport_count(self->fake), 3);
}

static void a_request_is_not_sent_after_send_by_ms(void **state)
{
    world *self = *state;
    kl_call call = {
        .method = "POST", .target = "/", .send_by_ms = kl__boottime_ms()};

    assert_int_equal(
        request_failure_of(self, request_send_call(self, &call, self)),
        KL_ETIMEOUT);
    assert_int_equal(fake_transport_count(self->fake), 0);
    /* Nor by a later try. */
    call.send_by_ms = kl__boottime_ms() + 300;
    fake_transport_answer(self->fake,
                          &(fake_answer){.status = 429, .retry_after_ms = 400});
    assert_int_equal(
        request_failure_of(self, request_send_call(self, &call, self)),
        KL_ETIMEOUT);
    assert_int_equal(fake_transport_count(self->fake), 1);
    call.send_by_ms = kl__boottime_ms() + 60000;
    fake_transport_answer(self->fake, &(fake_answer){.status = 200});
    assert_int_equal(
        request_status_of(self, request_send_call(self, &call, self)), 200);
}

static void a_retry_after_beyond_the_timeout_is_not_waited_for(void **state)
{
    world *self = *state;
    kl_reply reply;

    fake_transport_answer(
        self->fake, &(fake_answer){.status = 429, .retry_after_ms = 60000});
    assert_int_equal(
        request_end_of(self, request_send_it(self, "GET", "/"), &reply), KL_OK);
    assert_int_equal(reply.status, 429);
    assert_int_equal(reply.retry_after_ms, 60000);
    kl_reply_clear(&reply);
}

static void a_pausing_request_ends_as_not_sent(void **state)
{
    world *self = *state;
    kl_request *one, *two;
    char tag;
    kl_reply reply;
    const kl_call call = {.method = "POST", .target = "/"};

    fake_transport_answer(
        self->fake,
        &(fake_answer){.status = 429, .retry_after_ms = 20000, .times = 2});
    one = request_send_call(self, &call, self);
    two = request_send_call(self, &call, &tag);
    assert_true(fake_transport_await_closed(self->fake, 0));
    assert_true(fake_transport_await_closed(self->fake, 1));
    kl_request_cancel(one);
    assert_int_equal(kl_request_wait(one, -1), KL_OK);
    kl_client_close(self->client);
    assert_int_equal(kl_request_wait(two, -1), KL_OK);
    assert_int_equal(kl_request_result(two, &reply, NULL), KL_ECLOSED);
    kl_request_free(two);
    assert_int_equal(kl_request_result(one, &reply, NULL), KL_ECANCELED);
    kl_request_free(one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPEC(an_answered_request_comes_back_by_its_tag_once),
        SPEC(a_short_answer_needs_a_small_buffer),
        SPEC(a_reply_has_the_headers_of_the_answer),
        SPEC(a_request_carries_the_headers_that_it_was_given),
        SPEC(a_header_that_is_the_clients_own_is_refused),
        SPEC(hundreds_are_in_flight_at_once),
        SPEC(a_read_whose_time_is_over_has_timed_out),
        SPEC(a_body_that_does_not_end_in_time_is_a_timeout),
        SPEC(a_write_that_was_sent_and_not_answered_is_unknown),
        SPEC(a_write_that_was_not_sent_has_timed_out),
        SPEC(a_write_on_a_broken_connection_is_unknown_and_sent_once),
        SPEC(a_request_that_is_refused_a_connection_is_unavailable),
        SPEC(cancelling_ends_a_request_in_flight),
        SPEC(cancelling_what_is_complete_changes_nothing),
        SPEC(closing_the_client_ends_all_of_its_requests),
        SPEC(a_request_is_freed_in_flight_and_says_nothing_more),
        SPEC(a_complete_request_that_is_freed_leaves_its_queue),
        SPEC(a_request_keeps_its_client_and_its_queue),
        SPEC(a_request_in_a_queue_needs_a_tag),
        SPEC(a_read_on_a_broken_connection_is_tried_again),
        SPEC(a_429_or_503_with_retry_after_is_tried_again),
        SPEC(with_no_retry_a_429_is_an_answer),
        SPEC(a_request_is_not_sent_after_send_by_ms),
        SPEC(a_retry_after_beyond_the_timeout_is_not_waited_for),
        SPEC(a_pausing_request_ends_as_not_sent),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
