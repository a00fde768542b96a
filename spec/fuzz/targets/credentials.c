/*
 * credentials.c - what gives a request its credentials and its proxy. The first
 * line names the input: "exec" the answer of a plugin, "time" timestamps,
 * "base64" bytes, "proxy" a server's URL and the environment's proxy and
 * exceptions, a line each.
 */
#include "fuzz.h"

#include "base/base64.h"
#include "base/buf.h"
#include "config/exec_credential.h"
#include "config/proxy.h"
#include "config/timestamp.h"
#include "kubelua/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static bool is_printable(const char *text)
{
    for (; *text != '\0'; text++) {
        if (*text == 0x7F || (unsigned char)*text <= ' ') {
            return false;
        }
    }
    return true;
}

/* The token that was read is the one in the answer's tree. */
static void expect_status(const kl__exec_credential *credential,
                          const kl_doc *doc)
{
    const kl_value *status = kl_value_get(kl_doc_root(doc), "status");
    const kl_value *token = kl_value_get(status, "token");
    size_t length;
    const char *text = kl_value_string(token, &length);

    if (kl_value_type(token) == KL_STRING && length > 0) {
        FUZZ_EXPECT(credential->token != NULL);
        FUZZ_EXPECT(strcmp(credential->token, text) == 0);
        FUZZ_EXPECT(strlen(credential->token) == length);
    } else {
        FUZZ_EXPECT(credential->token == NULL);
    }
}

static void fuzz_exec(fuzz_text text)
{
    char *args[] = {"plugin", NULL};
    const kl__exec exec = {.args = args,
                           .api_version = "client.authentication.k8s.io/v1"};
    kl__exec_credential credential = {.token = NULL};
    kl__buf output = {0};
    kl_error err = {.code = KL_OK};
    kl_doc *doc = kl_doc_parse(text.bytes, text.length, NULL);
    kl_code code;

    kl__buf_append(&output, text.bytes, text.length);
    code = kl__exec_answer_read(&exec, &output, &credential, &err);
    if (code == KL_OK) {
        FUZZ_EXPECT(credential.token != NULL || credential.cert != NULL);
        FUZZ_EXPECT((credential.cert == NULL) == (credential.key == NULL));
        FUZZ_EXPECT(credential.token == NULL || is_printable(credential.token));
        if (doc != NULL) {
            expect_status(&credential, doc);
        }
    } else {
        FUZZ_EXPECT(code == KL_ECONFIG && err.code == code);
        FUZZ_EXPECT(strncmp(err.message, "exec plugin plugin", 18) == 0);
    }
    kl__exec_credential_clear(&credential);
    kl_doc_unref(doc);
    kl__buf_deinit(&output);
}

/* True if the day in the text is the day in UTC: no time zone, no leap
 * second. */
static bool is_plain_day(const char *text)
{
    char last = text[strlen(text) - 1];

    return (last == 'Z' || last == 'z') && strncmp(text + 17, "60", 2) != 0;
}

/* A timestamp that is read, written and read again is the same moment, on the
 * same day. */
static void fuzz_time(fuzz_text text)
{
    while (text.length > 0) {
        char *line = fuzz_string(fuzz_line(&text));
        int64_t ms = 0, again = 0, refresh;

        if (kl__timestamp_parse(line, &ms)) {
            int64_t part = (ms % 1000 + 1000) % 1000;
            time_t seconds = (time_t)((ms - part) / 1000);
            struct tm tm;
            char written[96];

            FUZZ_EXPECT(gmtime_r(&seconds, &tm) != NULL);
            snprintf(written, sizeof(written),
                     "%04d-%02d-%02dT%02d:%02d:%02d.%03dZ", tm.tm_year + 1900,
                     tm.tm_mon + 1, tm.tm_mday, tm.tm_hour, tm.tm_min,
                     tm.tm_sec, (int)part);
            FUZZ_EXPECT(!is_plain_day(line) || strncmp(line, written, 10) == 0);
            /* Times outside of the years 1 to 9999 cannot be written. */
            FUZZ_EXPECT(kl__timestamp_parse(written, &again)
                            ? again == ms
                            : tm.tm_year < 1 - 1900 ||
                                  tm.tm_year > 9999 - 1900);
        }
        refresh = kl__exec_refresh_at(again, ms);
        FUZZ_EXPECT(refresh >= again && (ms <= again || refresh <= ms));
        free(line);
    }
}

static void fuzz_base64(fuzz_text text)
{
    kl__buf plain = {0}, encoded = {0}, again = {0};

    kl__base64_encode(&encoded, text.bytes, text.length);
    FUZZ_EXPECT(kl__base64_decode(
        &plain, encoded.bytes != NULL ? encoded.bytes : "", encoded.length));
    FUZZ_EXPECT(plain.length == text.length);
    FUZZ_EXPECT(text.length == 0 ||
                memcmp(plain.bytes, text.bytes, text.length) == 0);
    kl__buf_reset(&plain);
    if (kl__base64_decode(&plain, text.bytes, text.length)) {
        kl__buf_reset(&encoded);
        kl__base64_encode(&encoded, plain.bytes, plain.length);
        FUZZ_EXPECT(encoded.length <= text.length);
        FUZZ_EXPECT(kl__base64_decode(
            &again, encoded.bytes != NULL ? encoded.bytes : "",
            encoded.length));
        FUZZ_EXPECT(again.length == plain.length);
        FUZZ_EXPECT(again.length == 0 ||
                    memcmp(again.bytes, plain.bytes, again.length) == 0);
    }
    kl__buf_deinit(&plain);
    kl__buf_deinit(&encoded);
    kl__buf_deinit(&again);
}

static void fuzz_proxy(fuzz_text text)
{
    char *server = fuzz_string(fuzz_line(&text)), *proxy_url = NULL;
    char *proxy = fuzz_string(fuzz_line(&text));
    char *except = fuzz_string(fuzz_line(&text));
    kl_error err = {.code = KL_OK};
    kl_code code = kl__proxy_check(proxy, &err);

    FUZZ_EXPECT(code == KL_OK || (code == KL_ECONFIG && *err.message != '\0'));
    if (strncmp(server, "http://", 7) == 0 ||
        strncmp(server, "https://", 8) == 0) {
        setenv("HTTPS_PROXY", proxy, 1);
        setenv("HTTP_PROXY", proxy, 1);
        setenv("NO_PROXY", except, 1);
        code = kl__proxy_from_environment(server, &proxy_url, &err);
        FUZZ_EXPECT(code == KL_OK || code == KL_ECONFIG);
        FUZZ_EXPECT(code == KL_OK || proxy_url == NULL);
        if (proxy_url != NULL) {
            FUZZ_EXPECT(*proxy != '\0');
            FUZZ_EXPECT(kl__proxy_check(proxy_url, NULL) == KL_OK);
            FUZZ_EXPECT(strcmp(except, "*") != 0);
        }
        kl_free(proxy_url);
        unsetenv("HTTPS_PROXY");
        unsetenv("HTTP_PROXY");
        unsetenv("NO_PROXY");
    }
    free(server);
    free(proxy);
    free(except);
}

void fuzz_credentials(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    fuzz_text line = fuzz_line(&text);

    if (fuzz_is(line, "exec")) {
        fuzz_exec(text);
    } else if (fuzz_is(line, "time")) {
        fuzz_time(text);
    } else if (fuzz_is(line, "base64")) {
        fuzz_base64(text);
    } else if (fuzz_is(line, "proxy")) {
        fuzz_proxy(text);
    }
}
