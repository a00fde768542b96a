/*
 * kube_script.c - see kube_script.h: the server's side: requests and their
 * kinds, texts of answers, and the start and end of both sides.
 */
#include "kube_script.h"

#include "kubelua/memory.h"

#include <dirent.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include <cmocka.h>

enum { PATIENCE_MS = 60000, TEXTS_MAX = 1024, SEND_BUFFER = 1024 * 1024 };

static bool is_in_line(const char *request, const char *text)
{
    const char *found = strstr(request, text);

    return found != NULL && found < strstr(request, "\r\n");
}

static const char *sort(const char *request)
{
    static const struct {
        const char *text;
        const char *kind;
    } kinds[] = {
        {"sendInitialEvents=true", "stream"},
        {"watch=true", "watch"},
        {"continue=", "page"},
        {"/nodes", "list"},
        {"/api ", "api"},
        {"/apis ", "apis"},
        {"/api", "resources"},
    };

    for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
        if (is_in_line(request, kinds[i].text)) {
            return kinds[i].kind;
        }
    }
    return "other";
}

void kube_on(kube *k, const char *kind, const hostile_step *steps, size_t count)
{
    hostile_on(k->server, kind, steps, count);
}

void kube_always(kube *k, const char *kind, const hostile_step *steps,
                 size_t count)
{
    hostile_always(k->server, kind, steps, count);
}

void kube_requests(kube *k, const char *kind, size_t count)
{
    (void)hostile_await_requests(k->server, kind, count);
    assert_int_equal(hostile_requests(k->server, kind), count);
}

static void check_asked(kube *k, const char *kind, size_t number,
                        const char *text, bool expected)
{
    const char *request = hostile_request_of(k->server, kind, number);

    assert_non_null(request);
    if (is_in_line(request, text) != expected) {
        fail_msg("%s %zu %s \"%s\": %s", kind, number,
                 expected ? "lacks" : "has", text, request);
    }
}

void kube_asked(kube *k, const char *kind, size_t number, const char *text)
{
    check_asked(k, kind, number, text, true);
}

void kube_not_asked(kube *k, const char *kind, size_t number, const char *text)
{
    check_asked(k, kind, number, text, false);
}

/* ---- texts ---- */

static kl__buf *new_text(kube *k)
{
    assert_true(k->text_count < TEXTS_MAX);
    return &k->texts[k->text_count++];
}

const char *kube_chunked(kube *k, const char *text, size_t size, unsigned seed)
{
    kl__buf *body = new_text(k);
    size_t length = strlen(text);

    for (size_t at = 0; at < length;) {
        size_t chunk;

        seed = seed * 1103515245u + 12345u;
        chunk = size != 0 ? size : 1 + (seed >> 16) % 64;
        chunk = chunk < length - at ? chunk : length - at;
        kl__buf_printf(body, "%zx\r\n", chunk);
        kl__buf_append(body, text + at, chunk);
        kl__buf_puts(body, "\r\n");
        at += chunk;
    }
    kl__buf_puts(body, "0\r\n\r\n");
    return body->bytes;
}

hostile_step kube_gzip(kube *k, const char *text)
{
    kl__buf *member = new_text(k);
    hostile_step step = HOSTILE_CHUNK(NULL);
    z_stream z = {0};
    size_t bound;

    assert_int_equal(
        deflateInit2(&z, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY), Z_OK);
    bound = deflateBound(&z, strlen(text)) + 32;
    z.next_in = (Bytef *)(uintptr_t)text;
    z.avail_in = (uInt)strlen(text);
    z.next_out = (Bytef *)kl__buf_reserve(member, bound);
    z.avail_out = (uInt)bound;
    assert_int_equal(deflate(&z, Z_FINISH), Z_STREAM_END);
    step.bytes = member->bytes;
    step.length = z.total_out;
    deflateEnd(&z);
    return step;
}

const char *kube_repeated(kube *k, const char *before, const char *text,
                          size_t times, const char *after)
{
    kl__buf *all = new_text(k);

    kl__buf_puts(all, before);
    for (size_t i = 0; i < times; i++) {
        kl__buf_puts(all, text);
    }
    kl__buf_puts(all, after);
    assert_false(all->failed);
    return all->bytes;
}

/* ---- life ---- */

kube *kube_new(void)
{
    kube *k = calloc(1, sizeof(*k));

    assert_non_null(k);
    k->server = hostile_new(&(hostile_options){.send_buffer = SEND_BUFFER});
    hostile_sort(k->server, sort);
    k->patience_ms = PATIENCE_MS;
    k->options.resource = "nodes";
    k->options.no_streaming_list = true;
    k->texts = calloc(TEXTS_MAX, sizeof(*k->texts));
    assert_non_null(k->texts);
    return k;
}

void kube_free(kube *k)
{
    hostile_free(k->server);
    for (size_t i = 0; i < k->text_count; i++) {
        kl__buf_deinit(&k->texts[i]);
    }
    kl__buf_deinit(&k->told);
    free(k->texts);
    free(k);
}

int kube_descriptors(void)
{
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;

    assert_non_null(folder);
    while (readdir(folder) != NULL) {
        count++;
    }
    closedir(folder);
    return count;
}

void kube_nothing_lives(void)
{
    for (int kind = 0; kind < KL_LIVE_KINDS; kind++) {
        assert_int_equal(kl_live_count((kl_live_kind)kind), 0);
    }
}

int kube_setup(void **state)
{
    int descriptors = kube_descriptors();
    kube *k = kube_new();

    k->descriptors = descriptors;
    *state = k;
    return 0;
}

int kube_teardown(void **state)
{
    kube *k = *state;
    int descriptors = k->descriptors;

    if (k->client != NULL) {
        kube_close(k);
    }
    kube_nothing_lives();
    kube_free(k);
    assert_int_equal(kube_descriptors(), descriptors);
    return 0;
}

kube *kube_renew(void **state)
{
    assert_int_equal(kube_teardown(state), 0);
    assert_int_equal(kube_setup(state), 0);
    return *state;
}
