/*
 * sim_wire_spec.c - answers that break HTTP or TCP, compared as bytes from the
 * port.
 */
#include "spec_case.h"
#include "fault_rig.h"
#include "sim_socket.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#define GET(target) "GET " target " HTTP/1.1\r\nHost: localhost\r\n\r\n"
#define OBJECT FAULT_OBJECTS "/a"

/* What a request gets under a rule; the connection is closed after it. */
static char *broken(sim_rig *f, const char *how, const char *request)
{
    char rule[128];

    snprintf(rule, sizeof(rule), "{action: wire, how: '%s'}", how);
    fault_order(f, rule);
    return sim_talk(f->sim, request);
}

/* The object as it is without a fault. */
static char *object_of(const sim_rig *f)
{
    sim_reply reply = sim_ask(f->sim, "GET", OBJECT, NULL);
    char *text = strdup(reply.raw.body);

    sim_reply_clear(&reply);
    return text;
}

/* The body, and what the head says of its length. */
static const char *body_of(const char *answer, size_t *length)
{
    static const char name[] = "Content-Length: ";
    const char *end = strstr(answer, "\r\n\r\n");
    const char *told = strstr(answer, name);

    assert_non_null(end);
    assert_non_null(told);
    *length = (size_t)atoi(told + sizeof(name) - 1);
    return end + 4;
}

RIG_CASE(lengths_are_less_or_more_than_what_comes)
{
    const char *body;
    char *object, *answer;
    size_t told;

    sim_add(f->sim, "a");
    object = object_of(f);
    answer = broken(f, "short_length", GET(OBJECT));
    body = body_of(answer, &told);
    assert_string_equal(body, object); /* all of it comes */
    assert_int_equal(told, strlen(object) / 2);
    kl_free(answer);
    answer = broken(f, "long_length", GET(OBJECT));
    body = body_of(answer, &told);
    assert_string_equal(body, object);
    assert_true(told > strlen(object));
    kl_free(answer);
    free(object);
}

RIG_CASE(chunks_gzip_and_status_lines_can_be_malformed)
{
    char *answer;
    const char *body;
    size_t told;

    sim_add(f->sim, "a");
    answer = broken(f, "chunks", GET(OBJECT));
    assert_non_null(
        strstr(answer, "Transfer-Encoding: chunked\r\n\r\n10000zz\r\n"));
    kl_free(answer);
    answer = broken(f, "gzip", GET(OBJECT));
    assert_non_null(strstr(answer, "Content-Encoding: gzip\r\n"));
    body = body_of(answer, &told);
    assert_memory_equal(body, "\x1f\x8b", 2);
    kl_free(answer);
    answer = broken(f, "no_http", GET(OBJECT));
    assert_memory_equal(answer, "220 mail", 8);
    kl_free(answer);
    answer = sim_talk(/* the next one is well again */
                      f->sim, "GET " OBJECT " HTTP/1.0\r\n\r\n");
    assert_memory_equal(answer, "HTTP/1.1 200 ", 13);
    kl_free(answer);
}

/* Of a watch goes out what it tells at once. */
RIG_CASE(a_broken_watch_still_sends_its_first_event)
{
    size_t told;
    char *answer;

    sim_add(f->sim, "a");
    answer = broken(f, "long_length", GET(FAULT_WATCH));
    assert_memory_equal(body_of(answer, &told), "{\"type\":\"ADDED\"", 15);
    kl_free(answer);
}

/* One byte a chunk: size, byte, end of line. */
RIG_CASE(bytes_come_one_a_chunk)
{
    char *object, *answer, *at;
    int fd;

    sim_add(f->sim, "a");
    object = object_of(f);
    fault_order(f, "{action: delay, bytes: 1}");
    fd = sim_dial(f->sim);
    sim_say(fd, "GET " OBJECT " HTTP/1.1\r\nHost: localhost\r\n"
                "Connection: close\r\n\r\n");
    answer = sim_hear(fd);
    assert_non_null(strstr(answer, "Transfer-Encoding: chunked"));
    at = strstr(answer, "\r\n\r\n");
    assert_non_null(at);
    at += 4;
    for (const char *byte = object; *byte != '\0'; byte++) {
        char chunk[8];

        snprintf(chunk, sizeof(chunk), "1\r\n%c\r\n", *byte);
        assert_memory_equal(at, chunk, 6);
        at += 6;
    }
    assert_string_equal(at, "0\r\n\r\n");
    kl_free(answer);
    free(object);
}

RIG_CASE(a_reset_is_seen_as_econnreset)
{
    struct pollfd ready = {.events = POLLIN};
    char room[64];
    ssize_t got;

    sim_add(f->sim, "a");
    fault_order(f, "{action: cut, how: reset}");
    ready.fd = sim_dial(f->sim);
    sim_say(ready.fd, GET(OBJECT));
    assert_int_equal(poll(&ready, 1, SIM_CLIENT_PATIENCE_MS), 1);
    got = recv(ready.fd, room, sizeof(room), 0);
    assert_int_equal(got, -1);
    assert_int_equal(errno, ECONNRESET);
    close(ready.fd);
}

/* More than the socket holds, for a client that does not read: the cluster ends
 * all the same, without waiting for the bytes to be sent. */
RIG_CASE(a_client_that_does_not_read_delays_no_other)
{
    int size = 4096, fd;
    int64_t began;

    for (int i = 0; i < 100; i++) {
        char name[16], body[16384];

        snprintf(name, sizeof(name), "n%d", i);
        memset(body, 'x', sizeof(body));
        snprintf(body, 96, "{\"metadata\":{\"name\":\"%s\"},\"data\":{\"x\":\"",
                 name);
        body[strlen(body)] = 'x';
        strcpy(body + sizeof(body) - 4, "\"}}");
        sim_expect(f->sim, "POST", FAULT_OBJECTS, body, 201);
    }
    fault_order(f, "{action: wire, how: long_length}");
    fd = sim_dial(f->sim);
    setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &size, sizeof(size));
    sim_say(fd, GET(FAULT_OBJECTS));
    assert_int_equal(poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1,
                          SIM_CLIENT_PATIENCE_MS),
                     1);
    began = fault_in(0);
    kl_sim_unlisten(f->sim);
    assert_true(fault_in(0) - began < 3000); /* SEND_MS is 5000 */
    close(fd);
}
