/*
 * status_spec.c - whatever a server answers when it refuses becomes the right
 * code, the right wait, and a message that says what to do.
 */
#include "base/mem.h"
#include "failing_alloc.h"
#include "kubelua/memory.h"
#include "object/status.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static kl_code answer(int http_status, const char *body, kl_error *err)
{
    return kl__status_error(http_status, body, strlen(body), -1, err);
}

static kl_code reason(int http_status, const char *name)
{
    char body[200];
    kl_error err = {0};
    kl_code code;

    snprintf(body, sizeof(body),
             "{\"kind\":\"Status\",\"message\":\"m\",\"reason\":\"%s\"}", name);
    code = answer(http_status, body, &err);
    assert_int_equal(err.code, code);
    assert_int_equal(err.http_status, http_status);
    return code;
}

static void the_reason_takes_precedence_over_the_http_status(void **state)
{
    (void)state;
    assert_int_equal(reason(400, "BadRequest"), KL_EBAD_REQUEST);
    assert_int_equal(reason(401, "Unauthorized"), KL_EUNAUTHORIZED);
    assert_int_equal(reason(403, "Forbidden"), KL_EFORBIDDEN);
    assert_int_equal(reason(404, "NotFound"), KL_ENOT_FOUND);
    assert_int_equal(reason(405, "MethodNotAllowed"), KL_ENOT_ALLOWED);
    assert_int_equal(reason(409, "AlreadyExists"), KL_EALREADY_EXISTS);
    assert_int_equal(reason(409, "Conflict"), KL_ECONFLICT);
    assert_int_equal(reason(410, "Expired"), KL_EGONE);
    assert_int_equal(reason(400, "Gone"), KL_EGONE);
    assert_int_equal(reason(413, "RequestEntityTooLarge"), KL_ETOO_LARGE);
    assert_int_equal(reason(422, "Invalid"), KL_EINVALID);
    assert_int_equal(reason(429, "TooManyRequests"), KL_ETOO_MANY_REQUESTS);
    assert_int_equal(reason(500, "InternalError"), KL_EINTERNAL);
    assert_int_equal(reason(500, "ServerTimeout"), KL_EUNAVAILABLE);
    assert_int_equal(reason(503, "ServiceUnavailable"), KL_EUNAVAILABLE);
    assert_int_equal(reason(504, "Timeout"), KL_EUNAVAILABLE);
    assert_int_equal(reason(409, "OfALaterServer"), KL_ECONFLICT);
}

static void the_http_status_decides_without_a_reason(void **state)
{
    const struct {
        int status;
        kl_code code;
    } expected[] = {
        {400, KL_EBAD_REQUEST}, {401, KL_EUNAUTHORIZED},
        {403, KL_EFORBIDDEN},   {404, KL_ENOT_FOUND},
        {405, KL_ENOT_ALLOWED}, {409, KL_ECONFLICT},
        {410, KL_EGONE},        {418, KL_EBAD_REQUEST},
        {422, KL_EINVALID},     {429, KL_ETOO_MANY_REQUESTS},
        {500, KL_EINTERNAL},    {502, KL_EUNAVAILABLE},
        {503, KL_EUNAVAILABLE}, {504, KL_EUNAVAILABLE},
        {599, KL_EINTERNAL},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++) {
        assert_int_equal(answer(expected[i].status, "", NULL),
                         expected[i].code);
        assert_int_equal(answer(expected[i].status, "{\"a\":1}", NULL),
                         expected[i].code);
    }
    assert_int_equal(kl__status_error(503, NULL, 0, -1, NULL), KL_EUNAVAILABLE);
}

static void a_too_large_version_is_known_by_cause_or_message(void **state)
{
    kl_error err = {0};

    (void)state;
    assert_int_equal(
        answer(504,
               "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"message\":\"x\","
               "\"details\":{\"causes\":[{\"reason\":\"Other\"},"
               "{\"reason\":\"ResourceVersionTooLarge\"}],"
               "\"retryAfterSeconds\":1},\"code\":504}",
               &err),
        KL_EVERSION_AHEAD);
    assert_int_equal(err.retry_after_ms, 1000);
    assert_int_equal(
        answer(504,
               "{\"kind\":\"Status\",\"reason\":\"Timeout\",\"message\":"
               "\"Timeout: Too large resource version: 200, current: 100\"}",
               &err),
        KL_EVERSION_AHEAD);
}

static void the_header_tells_how_long_to_wait_before_the_body_does(void **state)
{
    static const char body[] = "{\"kind\":\"Status\",\"reason\":"
                               "\"TooManyRequests\",\"message\":\"m\","
                               "\"details\":{\"retryAfterSeconds\":7}}";
    kl_error err = {0};

    (void)state;
    kl__status_error(429, body, sizeof(body) - 1, 3000, &err);
    assert_int_equal(err.retry_after_ms, 3000);
    kl__status_error(429, body, sizeof(body) - 1, -1, &err);
    assert_int_equal(err.retry_after_ms, 7000);
    kl__status_error(429, "later", 5, 0, &err);
    assert_int_equal(err.retry_after_ms, 0);
    answer(429, "later", &err);
    assert_int_equal(err.retry_after_ms, -1);
    answer(429,
           "{\"kind\":\"Status\",\"details\":{\"retryAfterSeconds\":"
           "9223372036854775807}}",
           &err);
    assert_int_equal(err.retry_after_ms, 24L * 3600 * 1000);
}

static void says(const kl_error *err, const char *text)
{
    if (strstr(err->message, text) == NULL) {
        fail_msg("\"%s\" lacks \"%s\"", err->message, text);
    }
}

static void a_403_names_the_rbac_remedy(void **state)
{
    kl_error err = {0};

    (void)state;
    answer(403,
           "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":\"pods "
           "is forbidden: User \\\"eve\\\" cannot list resource \\\"pods\\\" "
           "in API group \\\"\\\" at the cluster scope\"}",
           &err);
    says(&err, "HTTP 403: pods is forbidden: User \"eve\" cannot list");
    says(&err, "RBAC must allow it");
    says(&err, "the verbs list and watch");
    answer(403,
           "{\"kind\":\"Status\",\"reason\":\"Forbidden\",\"message\":"
           "\"exceeded quota: q\"}",
           &err);
    assert_null(strstr(err.message, "RBAC"));
    answer(401, "{\"kind\":\"Status\",\"message\":\"Unauthorized\"}", &err);
    says(&err, "look at the token");
}

static void a_long_message_is_cut_so_that_the_remedy_fits(void **state)
{
    char body[3000] = "{\"kind\":\"Status\",\"message\":\"a cannot ";
    kl_error err = {0};

    (void)state;
    memset(body + strlen(body), 'x', 2000);
    strcat(body, "\"}");
    answer(403, body, &err);
    says(&err, "what is allowed");
    body[0] = ' ';
    answer(401, body, &err);
    says(&err, "for another cluster");
}

static void a_body_that_is_not_a_status_is_quoted(void **state)
{
    kl_error err = {0};

    (void)state;
    answer(429, "Too many requests, please try again later.\n", &err);
    assert_string_equal(err.message,
                        "HTTP 429: Too many requests, please try again later.");
    answer(502, "\r\n<html>\r\n<head><title>502 Bad\r\n Gateway</title></head>",
           &err);
    says(&err, "HTTP 502: an HTML page");
    says(&err, ": 502 Bad Gateway");
    answer(502, "<!doctype html>oops<title>", &err);
    says(&err, "an HTML page");
    answer(500, "one\ntwo", &err);
    assert_string_equal(err.message, "HTTP 500: one");
    answer(500, "{\"error\":\"no\x1b[31m\"}", &err);
    assert_string_equal(err.message, "HTTP 500: {\"error\":\"no?[31m\"}");
    answer(503, " \n", &err);
    says(&err, "without a body");
    answer(500,
           "{\"kind\":\"Status\",\"message\":"
           "\"a\\u001bb\\nc\\u0000\\u202ed:\\n  e\"}",
           &err);
    assert_string_equal(err.message, "HTTP 500: a\\x1bb\\nc\\0\\u202ed:\n  e");
    answer(500, "{\"kind\":\"Status\"}", &err);
    says(&err, "no reason");
}

static void plain_http_to_a_tls_port_names_the_remedy(void **state)
{
    kl_error err = {0};

    (void)state;
    answer(400, "Client sent an HTTP request to an HTTPS server.\n", &err);
    says(&err, "to an HTTPS server.\n    The port is for TLS");
    answer(400,
           "<html><title>400 The plain HTTP request was sent to HTTPS port"
           "</title></html>",
           &err);
    says(&err, "HTTPS port\n    The port is for TLS: use https://");
    answer(400, "no", &err);
    assert_string_equal(err.message, "HTTP 400: no");
}

/* The API server's own 404 has a body, and no page. */
static void a_404_of_another_server_names_the_remedy(void **state)
{
    kl_error err = {0};

    (void)state;
    answer(404, "", &err);
    says(&err,
         "without a body\n    This is no answer of an API server: look at");
    answer(404, "<html><title>404 Not Found</title></html>", &err);
    says(&err, ": 404 Not Found\n    This is no answer of an API server");
    says(&err, "the path");
    answer(404, "404 page not found\n", &err);
    assert_string_equal(err.message, "HTTP 404: 404 page not found");
    answer(503, "<html><title>busy</title></html>", &err);
    assert_null(strstr(err.message, "answer of an API"));
}

static kl_code event(const char *json, kl_error *err)
{
    kl_doc *doc = kl_doc_parse(json, strlen(json), NULL);
    kl_code code = kl__status_event_error(kl_doc_root(doc), err);

    kl_doc_unref(doc);
    return code;
}

static void an_error_event_takes_its_code_from_the_status(void **state)
{
    kl_error err = {0};

    (void)state;
    assert_int_equal(event("{\"kind\":\"Status\",\"reason\":\"Expired\","
                           "\"message\":\"too old resource version: 5 (9)\","
                           "\"code\":410}",
                           &err),
                     KL_EGONE);
    assert_int_equal(err.http_status, 410);
    says(&err, "too old resource version: 5 (9)");
    assert_int_equal(event("{\"kind\":\"Status\",\"code\":410}", &err),
                     KL_EGONE);
    assert_int_equal(event("{\"kind\":\"Status\"}", &err), KL_EINTERNAL);
    assert_int_equal(event("{\"kind\":\"Pod\"}", &err), KL_EPARSE);
    assert_int_equal(kl__status_event_error(NULL, &err), KL_EPARSE);
}

static void the_continue_token_of_a_410_is_read(void **state)
{
    static const char body[] = "{\"kind\":\"Status\",\"metadata\":"
                               "{\"continue\":\"abc\"},\"code\":410}";
    char *token = kl__status_continue(body, sizeof(body) - 1);

    (void)state;
    assert_string_equal(token, "abc");
    kl__free(token);
    assert_null(kl__status_continue("{\"kind\":\"Status\"}", 17));
    assert_null(kl__status_continue("<html>", 6));
    assert_null(kl__status_continue(NULL, 0));
}

static kl_code describe(void *context)
{
    static const char body[] = "{\"kind\":\"Status\",\"metadata\":"
                               "{\"continue\":\"abc\"},\"reason\":\"Gone\"}";
    kl_error err = {0};
    char *token;

    (void)context;
    /* The code is right even where there is no memory to read the reason. */
    assert_int_equal(answer(410, body, &err), KL_EGONE);
    token = kl__status_continue(body, sizeof(body) - 1);
    kl__free(token);
    return token != NULL ? KL_OK : KL_ENOMEM;
}

static void running_out_of_memory_still_gives_the_code(void **state)
{
    (void)state;
    assert_true(failing_alloc_each(describe, NULL) >= 7);
    assert_int_equal(kl_live_count(KL_LIVE_DOC), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_reason_takes_precedence_over_the_http_status),
        cmocka_unit_test(the_http_status_decides_without_a_reason),
        cmocka_unit_test(a_too_large_version_is_known_by_cause_or_message),
        cmocka_unit_test(
            the_header_tells_how_long_to_wait_before_the_body_does),
        cmocka_unit_test(a_403_names_the_rbac_remedy),
        cmocka_unit_test(a_long_message_is_cut_so_that_the_remedy_fits),
        cmocka_unit_test(a_body_that_is_not_a_status_is_quoted),
        cmocka_unit_test(plain_http_to_a_tls_port_names_the_remedy),
        cmocka_unit_test(a_404_of_another_server_names_the_remedy),
        cmocka_unit_test(an_error_event_takes_its_code_from_the_status),
        cmocka_unit_test(the_continue_token_of_a_410_is_read),
        cmocka_unit_test(running_out_of_memory_still_gives_the_code),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
