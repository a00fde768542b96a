/*
 * http.c - heads of responses, line by line; and after a line of "--" texts
 * that are encoded into a URL and decoded again, and versions that have an
 * order.
 */
#include "fuzz.h"

#include "base/buf.h"
#include "http/head.h"
#include "http/url.h"
#include "kubelua/object.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static void expect_field(const char *text, size_t size)
{
    FUZZ_EXPECT(memchr(text, '\0', size) != NULL);
}

static void expect_head(fuzz_text lines)
{
    kl__head head = {0}, done;
    bool complete = false;

    while (lines.length > 0) {
        fuzz_text line = fuzz_line(&lines);
        char *block = fuzz_block(line);
        bool ended = kl__head_line(&head, block, line.length);
        size_t length = line.length;

        free(block);
        while (length > 0 && strchr("\r\n", line.bytes[length - 1]) != NULL &&
               line.bytes[length - 1] != '\0') {
            length--;
        }
        FUZZ_EXPECT(!ended ||
                    (!complete && length == 0 && head.response.status >= 200));
        if (complete) { /* trailers change nothing */
            FUZZ_EXPECT(memcmp(&head, &done, sizeof(head)) == 0);
        }
        complete = complete || ended;
        done = head;
        FUZZ_EXPECT(head.complete == complete);
        FUZZ_EXPECT(head.response.retry_after_ms >= -1);
        expect_field(head.response.content_type,
                     sizeof(head.response.content_type));
        expect_field(head.response.warnings, sizeof(head.response.warnings));
    }
}

/* Encoded text is plain and decodes to the same text; decoding never makes a
 * text longer. */
static void expect_url(const char *text)
{
    kl__buf url = {0};
    char *copy;
    size_t length;

    kl__buf_puts(&url, "/p");
    kl__url_query(&url, "a", text);
    kl__url_query(&url, text, "b");
    kl__url_query(&url, "c", NULL);
    FUZZ_EXPECT(strncmp(url.bytes, "/p?a=", 5) == 0);
    FUZZ_EXPECT(strchr(url.bytes + 3, '?') == NULL);
    FUZZ_EXPECT(strpbrk(url.bytes + 1, " #+/\"\r\n") == NULL);
    kl__buf_reset(&url);
    kl__url_encode(&url, text);
    copy = fuzz_string((fuzz_text){url.bytes, url.length});
    length = kl__url_decode(copy);
    FUZZ_EXPECT(length == strlen(text) && strcmp(copy, text) == 0);
    free(copy);
    copy = fuzz_string((fuzz_text){text, strlen(text)});
    FUZZ_EXPECT(kl__url_decode(copy) <= strlen(text));
    free(copy);
    kl__buf_deinit(&url);
}

static bool is_number(const char *text)
{
    return *text != '\0' && text[strspn(text, "0123456789")] == '\0';
}

static void expect_order(const char *a, const char *b)
{
    int order = kl_version_compare(a, b);

    if (!is_number(a) || !is_number(b)) {
        FUZZ_EXPECT(order == (strcmp(a, b) == 0 ? 0 : INT_MIN));
        return;
    }
    FUZZ_EXPECT(order == -kl_version_compare(b, a));
    if (strlen(a) < 19 && strlen(b) < 19) {
        long long x = strtoll(a, NULL, 10), y = strtoll(b, NULL, 10);

        FUZZ_EXPECT((order > 0) == (x > y) && (order < 0) == (x < y));
    }
}

void fuzz_http(const char *bytes, size_t length)
{
    fuzz_text text = {bytes, length};
    char *last = fuzz_string((fuzz_text){"0", 1});

    expect_head(fuzz_part(&text, "--"));
    while (text.length > 0) {
        char *line = fuzz_string(fuzz_line(&text));

        expect_url(line);
        expect_order(last, line);
        expect_order(line, line);
        free(last);
        last = line;
    }
    free(last);
}
