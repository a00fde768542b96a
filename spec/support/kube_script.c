/*
 * kube_script.c - see kube_script.h: the server's side, with requests, their
 * kinds and the texts of answers; the user's, with client, informer and
 * subscription; and peers.
 */
#include "kube_script.h"
#include "http_client.h"

#include "api/list_watch.h"
#include "informer/informer.h"
#include "kubelua/config.h"
#include "kubelua/memory.h"

#include <arpa/inet.h>
#include <dirent.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

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

void kube_log_in(kube *k, const char *plugin)
{
    certificate authority = certificate_authority("kubelua test");
    certificate identity =
        certificate_sign(&authority, &(certificate_options){.ip = "127.0.0.1"});

    hostile_free(k->server);
    k->server = hostile_new(&(hostile_options){.identity = &identity});
    hostile_sort(k->server, sort);
    k->plugin = plugin;
    certificate_clear(&identity);
    certificate_clear(&authority);
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

enum { CLOSE_MS = 1000 };

static const char core_group[] =
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
    "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[{\"metadata\":{},"
    "\"versions\":[{\"version\":\"v1\",\"resources\":[{\"resource\":\"nodes\","
    "\"responseKind\":{\"group\":\"\",\"version\":\"v1\",\"kind\":\"Node\"},"
    "\"scope\":\"Cluster\",\"singularResource\":\"node\",\"verbs\":[\"get\","
    "\"list\",\"watch\"],\"shortNames\":[\"no\"]}]}]}]}";
static const char no_groups[] =
    "{\"kind\":\"APIGroupDiscoveryList\",\"apiVersion\":"
    "\"apidiscovery.k8s.io/v2\",\"metadata\":{},\"items\":[]}";

static int64_t real_now(void)
{
    return kl__clock_now(kl__clock_real());
}

/* ---- life ---- */

static void open_informer(kube *k)
{
    kl_error err = {0};

    if (k->leaps) {
        kl__list_watch_options options = {.resource = k->options.resource};
        kl__list_watch *source = kl__list_watch_new(k->client, &options, &err);

        assert_non_null(source);
        k->clock = kl__clock_fake(0);
        kl__clock_fake_leap(k->clock);
        k->informer = kl__informer_over(source, k->clock, &k->options, &err);
    } else {
        k->informer = kl_informer_open(k->client, &k->options, &err);
    }
    assert_non_null(k->informer);
}

/* The text of a kubeconfig whose plugin runs `k->plugin`. */
static const char *plugin_text(kube *k)
{
    kl__buf *text = new_text(k);

    kl__buf_printf(
        text,
        "current-context: x\n"
        "contexts: [{name: x, context: {cluster: c, user: u}}]\n"
        "clusters: [{name: c, cluster: {server: \"%s\", "
        "insecure-skip-tls-verify: true}}]\n"
        "users: [{name: u, user: {exec: {command: sh, interactiveMode: Never, "
        "apiVersion: client.authentication.k8s.io/v1, args: [-c, '%s; echo "
        "\"{\\\"kind\\\": \\\"ExecCredential\\\", \\\"apiVersion\\\": "
        "\\\"client.authentication.k8s.io/v1\\\", \\\"status\\\": "
        "{\\\"token\\\": \\\"t\\\"}}\"']}}}]\n",
        hostile_url(k->server), k->plugin);
    assert_false(text->failed);
    return text->bytes;
}

void kube_open(kube *k)
{
    kl_config_options config_options = {
        .server = hostile_url(k->server),
        .kubeconfig_text = k->plugin != NULL ? plugin_text(k) : NULL};
    kl_client_options client_options = {.shares_thread =
                                            clients_share_a_thread()};

    kube_always(k, "api", ANSWER(200, core_group));
    kube_always(k, "apis", ANSWER(200, no_groups));
    hostile_on_accept(k->server, STEPS(HOSTILE_GATE("subscribed")));
    client_options.config = kl_config_load(&config_options, NULL);
    assert_non_null(client_options.config);
    k->client = kl_client_new(&client_options, NULL);
    kl_config_unref(client_options.config);
    assert_non_null(k->client);
    open_informer(k);
    k->queue = kl_event_queue_new(NULL);
    assert_non_null(k->queue);
    k->registration =
        kl_informer_subscribe(k->informer, k->queue, k, NULL, NULL);
    assert_non_null(k->registration);
    hostile_open_gate(k->server, "subscribed");
}

void kube_close(kube *k)
{
    int64_t began = real_now();

    kl_registration_remove(k->registration);
    kl_informer_close(k->informer);
    kl_event_queue_free(k->queue);
    kl_client_unref(k->client);
    assert_in_range(real_now() - began, 0, CLOSE_MS);
    kl__clock_fake_free(k->clock);
    k->registration = NULL;
    k->informer = NULL;
    k->queue = NULL;
    k->client = NULL;
    k->clock = NULL;
}

/* ---- events ---- */

static void write_word(kube *k, const kl_event *event)
{
    const char *key =
        event->object != NULL ? kl_object_key(event->object) : NULL;
    const char *version =
        event->object != NULL ? kl_object_resource_version(event->object) : "";

    if (k->told.length > 0) {
        kl__buf_puts(&k->told, " ");
    }
    switch (event->type) {
    case KL_EVENT_ADD:
        kl__buf_printf(&k->told, "%s%s@%s", event->initial ? "*" : "+", key,
                       version);
        break;
    case KL_EVENT_UPDATE:
        kl__buf_printf(&k->told, "~%s@%s>%s", key,
                       kl_object_resource_version(event->old), version);
        break;
    case KL_EVENT_DELETE:
        kl__buf_printf(&k->told, "%s%s@%s", event->unknown ? "?" : "-", key,
                       version);
        break;
    case KL_EVENT_SYNCED:
        kl__buf_puts(&k->told, "synced");
        break;
    case KL_EVENT_ERROR:
        kl__buf_printf(&k->told, "!%s", kl_code_name(event->error->code));
        k->error = *event->error;
        break;
    }
}

/* Takes the next event, if there is one. */
static bool take_event(kube *k)
{
    kl_event event;

    if (!kl_registration_next(k->registration, &event)) {
        return false;
    }
    write_word(k, &event);
    kl_registration_done(k->registration, &event);
    return true;
}

static void compare(const kube *k, const char *expected)
{
    if (strcmp(k->told.bytes, expected) != 0) {
        kl_informer_status status = kube_status(k);

        print_error("%s, told \"%s\", status \"%s\"\n",
                    kl_informer_state_name(status.state), k->error.message,
                    status.error.message);
    }
    assert_string_equal(k->told.bytes, expected);
}

/* Takes one event, waiting for it until the deadline; false: none came. */
static bool await_event(kube *k, int64_t deadline)
{
    while (!take_event(k)) {
        int64_t left = deadline - real_now();

        if (kl_event_queue_next(k->queue) == NULL &&
            (left <= 0 || kl_event_queue_wait(k->queue, left) != KL_OK)) {
            return false;
        }
    }
    return true;
}

void kube_told(kube *k, const char *expected)
{
    int64_t deadline = real_now() + k->patience_ms;

    kl__buf_puts(&k->told, "");
    while (k->told.length < strlen(expected) && await_event(k, deadline)) {
    }
    compare(k, expected);
}

void kube_told_at_last(kube *k, const char *word)
{
    int64_t deadline = real_now() + k->patience_ms;
    size_t length = strlen(word);

    while (await_event(k, deadline)) {
        if (k->told.length >= length &&
            strcmp(k->told.bytes + k->told.length - length, word) == 0) {
            return;
        }
    }
    compare(k, word);
}

void kube_told_no_more(kube *k, const char *expected)
{
    while (take_event(k)) {
    }
    compare(k, expected);
}

void kube_reason(const kube *k, const char *text)
{
    if (strstr(k->error.message, text) == NULL) {
        print_error("told: %s\n", k->error.message);
    }
    assert_non_null(strstr(k->error.message, text));
}

/* ---- the cache and the status ---- */

void kube_cache(const kube *k, const char *expected, const char *version)
{
    kl_object_list list = {0};
    kl__buf text = {0};
    char now[64];

    assert_int_equal(kl_informer_list(k->informer, NULL, NULL, &list, NULL),
                     KL_OK);
    kl__buf_puts(&text, "");
    for (size_t i = 0; i < list.count; i++) {
        kl__buf_printf(&text, "%s%s@%s", i > 0 ? " " : "",
                       kl_object_key(list.items[i]),
                       kl_object_resource_version(list.items[i]));
    }
    kl_object_list_clear(&list);
    assert_string_equal(text.bytes, expected);
    kl__buf_deinit(&text);
    kl_informer_resource_version(k->informer, now, sizeof(now));
    assert_string_equal(now, version);
}

/* A change of status sends no signal, so it is polled. */
static void await_status(const kube *k,
                         bool (*is_so)(const kl_informer_status *status,
                                       kl_informer_state state),
                         kl_informer_state state)
{
    int64_t deadline = real_now() + k->patience_ms;
    struct timespec pause = {0, 1000000};
    kl_informer_status status = kube_status(k);

    while (!is_so(&status, state) && real_now() < deadline) {
        nanosleep(&pause, NULL);
        status = kube_status(k);
    }
    assert_true(is_so(&status, state));
}

static bool is_in_state(const kl_informer_status *status,
                        kl_informer_state state)
{
    return status->state == state;
}

static bool is_well(const kl_informer_status *status, kl_informer_state state)
{
    return status->state == state && status->error.code == KL_OK;
}

void kube_await_state(const kube *k, kl_informer_state state)
{
    await_status(k, is_in_state, state);
}

void kube_await_health(const kube *k)
{
    await_status(k, is_well, KL_STATE_WATCHING);
}

kl_informer_status kube_status(const kube *k)
{
    kl_informer_status status;

    kl_informer_status_get(k->informer, &status);
    return status;
}

int64_t kube_elapsed(const kube *k)
{
    return kl__clock_now(k->clock);
}

enum { FILLERS = sizeof(((peer *)0)->fillers) / sizeof(int) };

#define ITEMS NODE("a", "1") "," NODE("b", "2") "," NODE("c", "3")
#define EVENTS ADDED("d", "11") MODIFIED("d", "12") DELETED("d", "13")

const char *peer_describe(peer_kind kind)
{
    static const char *const names[PEER_KINDS] = {
        [PEER_HEALTHY] = "a healthy server",
        [PEER_SLOW] = "a slow server",
        [PEER_FROZEN] = "a frozen server",
        [PEER_HALFWAY] = "a server frozen halfway",
        [PEER_CLOSED] = "a server gone halfway",
        [PEER_BLACKHOLE] = "an address without an answer",
        [PEER_NAMELESS] = "a name server without an answer",
        [PEER_NO_TLS] = "a handshake without an answer",
    };

    return names[kind];
}

/* ---- servers ---- */

static void script(hostile_server *server, peer_kind kind, const char *match,
                   const char *body)
{
    size_t half = strlen(body) / 2;

    switch (kind) {
    case PEER_SLOW:
        hostile_always(server, match,
                       STEPS(HOSTILE_STALL(2), HOSTILE_STREAM, HOSTILE_STALL(2),
                             HOSTILE_CHUNK("\n"), HOSTILE_STALL(2),
                             HOSTILE_CHUNK(body), HOSTILE_STALL(2),
                             HOSTILE_CHUNK("\n"), HOSTILE_STALL(8),
                             HOSTILE_STREAM_END));
        break;
    case PEER_FROZEN:
        hostile_always(server, match, STEPS(HOSTILE_FREEZE));
        break;
    case PEER_HALFWAY:
        hostile_always(
            server, match,
            STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: application/"
                               "json\r\nContent-Length: 100000\r\n\r\n"),
                  HOSTILE_BYTES(body, half), HOSTILE_FREEZE));
        break;
    case PEER_CLOSED:
        hostile_always(
            server, match,
            STEPS(HOSTILE_TEXT("HTTP/1.1 200 OK\r\nContent-Type: application/"
                               "json\r\nContent-Length: 100000\r\n\r\n"),
                  HOSTILE_BYTES(body, half), HOSTILE_CLOSE));
        break;
    default:
        hostile_always(server, match, STEPS(HOSTILE_ANSWER(200, body)));
        break;
    }
}

static void serve(peer *self, bool all)
{
    peer_kind discovery = all ? self->kind : PEER_HEALTHY;

    self->server = hostile_new(NULL);
    script(self->server, discovery, "GET /apis ", no_groups);
    script(self->server, discovery, "GET /api ", core_group);
    if (self->kind == PEER_HEALTHY) { /* a healthy watch stays open */
        hostile_always(self->server, "watch=true", OPEN_WATCH(EVENTS));
    } else {
        script(self->server, self->kind, "watch=true", EVENTS);
    }
    script(self->server, self->kind, "", LIST("10", ITEMS));
    snprintf(self->url, sizeof(self->url), "%s", hostile_url(self->server));
}

/* ---- peers that are no servers ---- */

static int connect_to(const struct sockaddr_in *address)
{
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    assert_true(fd >= 0);
    (void)connect(fd, (const struct sockaddr *)address, sizeof(*address));
    return fd;
}

/* Listens on a port, but never accepts. `backlog`: how many connections may
 * wait; with `fill`, the queue is filled, so that the kernel drops further
 * SYNs. */
static void listen_only(peer *self, const char *scheme, int backlog, bool fill)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(address);

    self->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(self->listener >= 0);
    assert_int_equal(
        bind(self->listener, (struct sockaddr *)&address, sizeof(address)), 0);
    assert_int_equal(listen(self->listener, backlog), 0);
    assert_int_equal(
        getsockname(self->listener, (struct sockaddr *)&address, &size), 0);
    for (int i = 0; fill && i < FILLERS; i++) {
        self->fillers[i] = connect_to(&address);
    }
    snprintf(self->url, sizeof(self->url), "%s://127.0.0.1:%d", scheme,
             ntohs(address.sin_port));
}

peer *peer_new(peer_kind kind, bool all)
{
    peer *self = calloc(1, sizeof(*self));

    assert_non_null(self);
    self->kind = kind;
    self->listener = -1;
    for (int i = 0; i < FILLERS; i++) {
        self->fillers[i] = -1;
    }
    switch (kind) {
    case PEER_BLACKHOLE:
        listen_only(self, "http", 0, true);
        break;
    case PEER_NO_TLS:
        listen_only(self, "https", SOMAXCONN, false);
        break;
    case PEER_NAMELESS:
        snprintf(self->url, sizeof(self->url), "http://" PEER_NAME);
        break;
    default:
        serve(self, all);
        break;
    }
    return self;
}

void peer_free(peer *self)
{
    for (int i = 0; i < FILLERS; i++) {
        if (self->fillers[i] >= 0) {
            close(self->fillers[i]);
        }
    }
    if (self->listener >= 0) {
        close(self->listener);
    }
    hostile_free(self->server);
    free(self);
}
