/*
 * status.c - refusals: an HTTP status and seconds on the first line, a body on
 * the others. Whatever the body is, there is a code and a printable message,
 * and the error repeats what a Status says.
 */
#include "fuzz.h"

#include "kubelua/memory.h"
#include "object/status.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const kl_value *object, const char *name)
{
    const kl_value *value = kl_value_get(object, name);

    return kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL)
                                             : NULL;
}

static bool is_status(const kl_value *root)
{
    const char *kind = text_of(root, "kind");

    return kl_value_type(root) == KL_OBJECT && kind != NULL &&
           strcmp(kind, "Status") == 0;
}

static void expect_message(const kl_error *err)
{
    size_t length = strlen(err->message);

    FUZZ_EXPECT(length > 0 && length < sizeof(err->message));
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)err->message[i];

        FUZZ_EXPECT(byte >= ' ' || byte == '\n' || byte == '\t');
        FUZZ_EXPECT(byte != 0x7F);
    }
}

/* Checks the words of a Status that the error must repeat. */
static void expect_words(const kl_error *err, const kl_value *root)
{
    const char *message = text_of(root, "message");
    size_t length = message != NULL ? strlen(message) : 0;

    if (length > 0 && length < 200 && fuzz_is_plain(message, length) &&
        strpbrk(message, "\r\n") == NULL) {
        FUZZ_EXPECT(strstr(err->message, message) != NULL);
    }
}

static void expect_event(const kl_value *root)
{
    kl_error err = {.code = KL_OK};
    kl_code code = kl__status_event_error(root, &err);

    FUZZ_EXPECT(code != KL_OK && err.code == code);
    FUZZ_EXPECT(kl__status_event_error(root, NULL) == code);
    expect_message(&err);
    FUZZ_EXPECT(is_status(root) || (code == KL_EPARSE && err.http_status == 0));
    FUZZ_EXPECT(!is_status(root) ||
                (err.http_status >= 100 && err.http_status < 1000));
}

static void expect_continue(const kl_value *root, const char *body,
                            size_t length)
{
    char *token = kl__status_continue(body, length);
    const char *want = is_status(root)
                           ? text_of(kl_value_get(root, "metadata"), "continue")
                           : NULL;

    FUZZ_EXPECT((token != NULL) == (want != NULL && want[0] != '\0'));
    FUZZ_EXPECT(token == NULL || strcmp(token, want) == 0);
    kl_free(token);
}

void fuzz_status(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    char *line = fuzz_string(fuzz_line(&text)), *rest;
    char *body = fuzz_block(text);
    int status = 400 + (int)(strtoul(line, &rest, 10) % 200);
    long retry_ms = strtol(rest, NULL, 10);
    kl_error err = {.retry_after_ms = -1};
    kl_doc *doc = kl_doc_parse(body, text.length, NULL);
    const kl_value *root = doc != NULL ? kl_doc_root(doc) : NULL;
    kl_code code;

    retry_ms = retry_ms < -1 || retry_ms > INT_MAX ? -1 : retry_ms;
    code = kl__status_error(status, body, text.length, retry_ms, &err);
    FUZZ_EXPECT(code != KL_OK && err.code == code);
    FUZZ_EXPECT(err.http_status == status);
    FUZZ_EXPECT(err.retry_after_ms >= -1);
    FUZZ_EXPECT(retry_ms < 0 || err.retry_after_ms == retry_ms);
    FUZZ_EXPECT(kl__status_error(status, body, text.length, -1, NULL) == code);
    expect_message(&err);
    if (is_status(root)) {
        expect_words(&err, root);
    }
    expect_event(root);
    expect_continue(root, body, text.length);
    kl_doc_unref(doc);
    free(body);
    free(line);
}
