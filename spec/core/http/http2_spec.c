/*
 * http2_spec.c - many streams over one connection, against nghttpd (Debian's
 * nghttp2-server). Without it these specs are skipped, and say so.
 */
#include "http/transport.h"

#include "certificate.h"
#include "http_client.h"

#include "base/clock.h"
#include "kubelua/client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

enum { BIG = 48 * 1024 * 1024, SMALL = 36 * 1024, PARALLEL = 50, BURST = 250 };

/* nghttpd, on a folder with /big, /small and its certificate. */
typedef struct server {
    pid_t pid;
    int port;
    int most_streams; /* of a connection */
    char folder[32];
    char url[64];
    certificate authority, identity;
    kl__tls *tls;
    kl_transport *transport;
} server;

/* ---- the server ---- */

static char *path_of(const server *s, const char *name)
{
    static char path[64];

    snprintf(path, sizeof(path), "%s/%s", s->folder, name);
    return path;
}

static void write_file(const server *s, const char *name, const char *text,
                       off_t size)
{
    FILE *file = fopen(path_of(s, name), "w");

    assert_non_null(file);
    fputs(text, file);
    fflush(file);
    assert_int_equal(ftruncate(fileno(file), size), 0);
    fclose(file);
}

static void write_folder(server *s)
{
    strcpy(s->folder, "/tmp/kubelua-h2-XXXXXX");
    assert_non_null(mkdtemp(s->folder));
    write_file(s, "cert", s->identity.cert, (off_t)strlen(s->identity.cert));
    write_file(s, "key", s->identity.key, (off_t)strlen(s->identity.key));
    write_file(s, "big", "", BIG);
    write_file(s, "small", "", SMALL);
}

static int free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof(address);
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, length), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void run_nghttpd(const server *s)
{
    char port[16], key[64], cert[64], streams[16];

    snprintf(port, sizeof(port), "%d", s->port);
    snprintf(streams, sizeof(streams), "-m%d", s->most_streams);
    snprintf(key, sizeof(key), "%s", path_of(s, "key"));
    snprintf(cert, sizeof(cert), "%s", path_of(s, "cert"));
    prctl(PR_SET_PDEATHSIG, SIGKILL); /* not to outlive a spec that crashes */
    execlp("nghttpd", "nghttpd", "-a", "127.0.0.1", streams, "-d", s->folder,
           port, key, cert, (char *)NULL);
    _exit(127);
}

static bool accepts(const server *s)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons((uint16_t)s->port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool accepted;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    accepted = connect(fd, (struct sockaddr *)&address, sizeof(address)) == 0;
    close(fd);
    return accepted;
}

/* Starts it and tries until it accepts: it does not say when it does. False: it
 * is not installed. */
static bool launch(server *s)
{
    const struct timespec pause = {0, 2000000};
    int64_t until_ms = soon();

    s->port = free_port();
    snprintf(s->url, sizeof(s->url), "https://127.0.0.1:%d", s->port);
    s->pid = fork();
    assert_true(s->pid >= 0);
    if (s->pid == 0) {
        run_nghttpd(s);
    }
    while (!accepts(s)) {
        assert_true(kl__clock_now(kl__clock_real()) < until_ms);
        if (waitpid(s->pid, NULL, WNOHANG) == s->pid) {
            s->pid = 0;
            return false;
        }
        nanosleep(&pause, NULL);
    }
    return true;
}

static void kill_server(server *s)
{
    if (s->pid > 0) {
        kill(s->pid, SIGKILL);
        waitpid(s->pid, NULL, 0);
        s->pid = 0;
    }
}

static int tear_down_server(void **state)
{
    static const char *const names[] = {"cert", "key", "big", "small"};
    server *s = *state;
    kl_transport *transport = s->transport;

    kill_server(s);
    kl__tls_unref(s->tls);
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        unlink(path_of(s, names[i]));
    }
    rmdir(s->folder);
    certificate_clear(&s->identity);
    certificate_clear(&s->authority);
    free(s);
    if (transport != NULL) {
        end_transport(transport); /* last: it may fail */
    }
    return 0;
}

/* Without nghttpd there is no transport, and the specs skip themselves. */
static int set_up_server(void **state)
{
    server *s = calloc(1, sizeof(*s));
    kl__tls_options options = {0};

    assert_non_null(s);
    *state = s;
    s->authority = certificate_authority("our authority");
    s->identity = certificate_sign(&s->authority,
                                   &(certificate_options){.ip = "127.0.0.1"});
    write_folder(s);
    s->most_streams = 100;
    if (!launch(s)) {
        print_message("skipped: install nghttp2-server for nghttpd\n");
        return 0;
    }
    options.ca = s->authority.cert;
    s->tls = kl__tls_new(&options);
    s->transport = new_transport();
    return 0;
}

/* ---- asking it ---- */

/* Sends a GET of `target`, of which `request` says the rest. */
static kl__stream *ask_with(server *s, const char *target, kl__request request)
{
    kl__stream *stream;

    request.method = "GET";
    request.base_url = s->url;
    request.target = target;
    request.tls = s->tls;
    stream = kl__transport_open(s->transport, &request, NULL);
    assert_non_null(stream);
    return stream;
}

static kl__stream *ask_for(server *s, const char *target, bool fresh)
{
    return ask_with(s, target, (kl__request){.fresh_connection = fresh});
}

static kl__stream *ask_list(server *s)
{
    return ask_with(s, "/big", (kl__request){.gathers = true});
}

/* How many sockets of this process lead to the server. */
static int connections(const server *s)
{
    int count = 0;

    for (int fd = 0; fd < 1024; fd++) {
        struct sockaddr_in peer = {0};
        socklen_t length = sizeof(peer);

        if (getpeername(fd, (struct sockaddr *)&peer, &length) == 0 &&
            peer.sin_family == AF_INET && ntohs(peer.sin_port) == s->port) {
            count++;
        }
    }
    return count;
}

/* Patiently: hundreds of megabytes take their time under a sanitizer. */
static size_t read_length(kl__stream *stream)
{
    static char bytes[64 * 1024];
    const int64_t until_ms = kl__clock_now(kl__clock_real()) + 60000;
    size_t total = 0, length;
    kl_error err;
    kl_code code;

    do {
        code = kl__stream_read(stream, bytes, sizeof(bytes), &length, until_ms,
                               NULL, &err);
        if (code != KL_OK) {
            print_error("after %zu bytes: %s\n", total, err.message);
        }
        assert_int_equal(code, KL_OK);
        total += length;
    } while (length > 0);
    kl__stream_close(stream);
    return total;
}

static void skip_without(const server *s)
{
    if (s->transport == NULL) {
        skip();
    }
}

static kl__stream *ask_with_window(server *s, const char *target, size_t window)
{
    return ask_with(s, target, (kl__request){.window = window});
}

/* ---- specs ---- */

static void http2_is_used_if_the_server_supports_it(void **state)
{
    server *s = *state;
    kl__stream *stream;

    skip_without(s);
    stream = ask_for(s, "/small", false);
    assert_true(await_head(stream).http2);
    assert_int_equal(read_length(stream), SMALL);
}

static void fifty_requests_share_one_connection(void **state)
{
    server *s = *state;
    kl__stream *streams[PARALLEL];

    skip_without(s);
    for (int i = 0; i < PARALLEL; i++) {
        streams[i] = ask_for(s, "/small", false);
    }
    for (int i = 0; i < PARALLEL; i++) {
        assert_int_equal(await_head(streams[i]).status, 200);
    }
    assert_int_equal(connections(s), 1);
    for (int i = 0; i < PARALLEL; i++) {
        assert_int_equal(read_length(streams[i]), SMALL);
    }
}

/* More than a connection takes, which the server may not have told yet. Left
 * alone, libcurl 7.88 makes one for each stream that finds no room. */
static void a_burst_opens_no_more_connections_than_it_needs(void **state)
{
    static kl__stream *streams[BURST];
    server *s = *state;

    skip_without(s);
    for (s->most_streams = 300; s->most_streams > 0; s->most_streams -= 125) {
        kill_server(s);
        assert_true(launch(s));
        for (int i = 0; i < BURST; i++) {
            streams[i] = ask_with_window(s, "/small", 1024);
        }
        for (int i = 0; i < BURST; i++) { /* unread, they stay open */
            assert_int_equal(await_head(streams[i]).status, 200);
        }
        assert_in_range(connections(s), BURST / s->most_streams,
                        BURST / s->most_streams + 1);
        for (int i = 0; i < BURST; i++) {
            assert_int_equal(read_length(streams[i]), SMALL);
        }
    }
}

/* Without help libcurl 7.88 forgets the end of one such stream in 300. */
static void no_stream_hangs_among_many(void **state)
{
    server *s = *state;
    kl__stream *streams[PARALLEL];

    skip_without(s);
    for (int round = 0; round < 40; round++) {
        for (int i = 0; i < PARALLEL; i++) {
            streams[i] = ask_for(s, "/small", false);
        }
        for (int i = 0; i < PARALLEL; i++) {
            assert_int_equal(read_length(streams[i]), SMALL);
        }
    }
}

static void a_fresh_connection_is_a_second_one(void **state)
{
    server *s = *state;
    kl__stream *first, *second;

    skip_without(s);
    first = ask_for(s, "/big", false);
    await_head(first);
    second = ask_for(s, "/small", true);
    assert_int_equal(read_length(second), SMALL);
    assert_int_equal(connections(s), 2);
    kl__stream_close(first);
}

static void a_paused_stream_does_not_stop_its_connection(void **state)
{
    server *s = *state;
    kl__stream *slow;

    skip_without(s);
    slow = ask_for(s, "/big", false);
    await_head(slow);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(read_length(ask_for(s, "/small", false)), SMALL);
    }
    assert_int_equal(connections(s), 1);
    assert_int_equal(read_length(slow), BIG);
}

static int64_t cpu_ms(void)
{
    struct rusage usage;

    getrusage(RUSAGE_SELF, &usage);
    return (usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1000 +
           (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1000;
}

/* A paused transfer has bytes to read all the time, and must not spin. */
static void a_paused_stream_costs_no_cpu(void **state)
{
    server *s = *state;
    kl__stream *slow;
    kl__mutex mutex;
    kl__cond cond;
    int64_t before_ms;

    skip_without(s);
    slow = ask_for(s, "/big", false);
    await_head(slow);
    assert_int_equal(read_length(ask_for(s, "/small", false)), SMALL);
    kl__mutex_init(&mutex, KL__RANK_LIFECYCLE);
    kl__cond_init(&cond);
    /* Until curl has taken in all that it will, then for a while. */
    for (int i = 0; i < 2; i++) {
        int64_t until_ms = kl__clock_now(kl__clock_real()) + 300;

        before_ms = cpu_ms();
        kl__mutex_lock(&mutex);
        while (kl__cond_wait(&cond, &mutex, until_ms)) {
        }
        kl__mutex_unlock(&mutex);
    }
    assert_in_range(cpu_ms() - before_ms, 0, 150);
    kl__cond_deinit(&cond);
    kl__mutex_deinit(&mutex);
    kl__stream_close(slow);
}

static void many_readers_of_one_connection_get_all_bytes(void **state)
{
    server *s = *state;
    kl__stream *streams[4];

    skip_without(s);
    for (int i = 0; i < 4; i++) {
        streams[i] = ask_for(s, "/big", false);
    }
    for (int i = 0; i < 4; i++) { /* the later ones pause meanwhile */
        assert_int_equal(read_length(streams[i]), BIG);
    }
}

/* The streams are not paused: if a connection breaks, libcurl 7.88 leaks the
 * bytes that it held back for paused streams. */
static void a_killed_server_ends_every_stream(void **state)
{
    server *s = *state;
    kl__stream *streams[4];
    kl_error err;

    skip_without(s);
    for (int i = 0; i < 4; i++) {
        streams[i] = ask_with_window(s, "/big", BIG);
        await_head(streams[i]);
    }
    kill_server(s);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(read_to_end(streams[i], NULL, &err), KL_EUNAVAILABLE);
        assert_non_null(strstr(err.message, "broke"));
    }
    assert_int_equal(read_to_end(ask_for(s, "/", false), NULL, &err),
                     KL_EUNAVAILABLE);
    assert_non_null(strstr(err.message, "refused"));
}

static void a_stream_closed_early_leaves_its_connection_open(void **state)
{
    server *s = *state;
    kl__stream *stream;

    skip_without(s);
    stream = ask_for(s, "/big", false);
    await_head(stream);
    kl__stream_close(stream);
    assert_int_equal(read_length(ask_for(s, "/small", false)), SMALL);
    assert_int_equal(connections(s), 1);
}

/* What curl has taken in for it goes too: the leak checker looks. */
static void closing_a_paused_stream_beside_others_leaks_no_memory(void **state)
{
    server *s = *state;
    kl__stream *slow, *other;

    skip_without(s);
    slow = ask_for(s, "/big", false);
    await_head(slow);
    other = ask_for(s, "/big", false);
    for (int i = 0; i < 20; i++) {
        assert_int_equal(read_length(ask_for(s, "/small", false)), SMALL);
    }
    kl__stream_close(slow);
    assert_int_equal(read_length(other), BIG);
    assert_int_equal(connections(s), 1);
}

/* Bytes gather over a connection that carries nothing else. */
static void a_list_comes_whole_alone_and_beside_others(void **state)
{
    server *s = *state;
    kl__stream *list, *other;

    skip_without(s);
    assert_int_equal(read_length(ask_for(s, "/small", false)), SMALL);
    assert_int_equal(read_length(ask_list(s)), BIG);
    list = ask_list(s);
    other = ask_list(s);
    assert_int_equal(read_length(ask_for(s, "/small", false)), SMALL);
    assert_int_equal(read_length(list), BIG);
    assert_int_equal(read_length(other), BIG);
    assert_int_equal(connections(s), 1);
}

int main(void)
{
#define SPEC(name) \
    cmocka_unit_test_setup_teardown(name, set_up_server, tear_down_server)
    const struct CMUnitTest specs[] = {
        SPEC(http2_is_used_if_the_server_supports_it),
        SPEC(fifty_requests_share_one_connection),
        SPEC(a_burst_opens_no_more_connections_than_it_needs),
        SPEC(no_stream_hangs_among_many),
        SPEC(a_fresh_connection_is_a_second_one),
        SPEC(a_paused_stream_does_not_stop_its_connection),
        SPEC(a_paused_stream_costs_no_cpu),
        SPEC(many_readers_of_one_connection_get_all_bytes),
        SPEC(a_killed_server_ends_every_stream),
        SPEC(a_stream_closed_early_leaves_its_connection_open),
        SPEC(closing_a_paused_stream_beside_others_leaks_no_memory),
        SPEC(a_list_comes_whole_alone_and_beside_others),
    };

    return cmocka_run_group_tests(specs, NULL, NULL);
}
