/*
 * exchange.c - sends one request of the load, and reads its answer, on a
 * blocking socket. Answers have a Content-Length, as nginx's `return` and a
 * proxied backend send it; a chunked answer is read to the end of its
 * connection.
 */
#include "load.h"

#include <errno.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { HEAD_SIZE = 16384 };

void load_close(load_connection *connection)
{
    if (connection->socket >= 0) {
        close(connection->socket);
    }
    connection->socket = -1;
    connection->answers = 0;
}

static bool open_connection(load_connection *connection, const load_plan *plan)
{
    struct timeval patience = {LOAD_LATE_MS / 1000, 0};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (s < 0) {
        return false;
    }
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(s, (const struct sockaddr *)&plan->address,
                sizeof(plan->address)) != 0) {
        close(s);
        return false;
    }
    connection->socket = s;
    connection->answers = 0;
    return true;
}

static bool send_request(int s, const char *path)
{
    char text[1024];
    int length = snprintf(text, sizeof(text),
                          "GET %s HTTP/1.1\r\nHost: load\r\n\r\n", path);

    return length < (int)sizeof(text) &&
           send(s, text, (size_t)length, MSG_NOSIGNAL) == length;
}

/* The value of a header, or NULL. `head` ends in an empty line. */
static const char *find_header(const char *head, const char *name)
{
    size_t length = strlen(name);

    for (const char *line = strstr(head, "\r\n"); line != NULL;
         line = strstr(line + 2, "\r\n")) {
        if (strncasecmp(line + 2, name, length) == 0 &&
            line[2 + length] == ':') {
            return line + 2 + length + 1 + strspn(line + 3 + length, " ");
        }
    }
    return NULL;
}

static void copy_line(char *to, const char *from, size_t length)
{
    size_t n = 0;

    while (n < length && n < LOAD_BODY_SIZE - 1 &&
           (unsigned char)from[n] > ' ') {
        to[n] = from[n];
        n++;
    }
    to[n] = '\0';
}

/* Reads until `text` holds a whole answer of known length, or the connection
 * ends. *body: where the head ends. Returns how many bytes there are; -1: the
 * connection broke within the answer; -2: no byte of an answer came, or no
 * whole answer came in time. */
static ssize_t read_answer(int s, char *text, char **body, bool *keeps)
{
    size_t used = 0, wanted = HEAD_SIZE - 1;

    *body = NULL;
    while (used < wanted) {
        ssize_t n = recv(s, text + used, HEAD_SIZE - 1 - used, 0);

        if (n < 0) {
            return used > 0 && errno != EAGAIN ? -1 : -2;
        }
        if (n == 0) {
            return used == 0                  ? -2
                   : *body != NULL && !*keeps ? (ssize_t)used
                                              : -1;
        }
        used += (size_t)n;
        text[used] = '\0';
        if (*body == NULL && (*body = strstr(text, "\r\n\r\n")) != NULL) {
            const char *length, *closes;

            *body += 4;
            length = find_header(text, "Content-Length");
            closes = find_header(text, "Connection");
            *keeps = length != NULL &&
                     (closes == NULL || strncasecmp(closes, "close", 5) != 0);
            if (length != NULL) {
                wanted = (size_t)(*body - text) + strtoul(length, NULL, 10);
            }
        }
    }
    return (ssize_t)used;
}

void load_exchange(load_connection *connection, const load_plan *plan,
                   const char *path, load_answer *answer)
{
    char text[HEAD_SIZE], *body;
    bool keeps = false;
    ssize_t size;

    memset(answer, 0, sizeof(*answer));
    if (connection->socket < 0 && !open_connection(connection, plan)) {
        answer->outcome = LOAD_REFUSED;
        return;
    }
    errno = 0;
    size = send_request(connection->socket, path)
               ? read_answer(connection->socket, text, &body, &keeps)
               : -2;
    if (size < 0) {
        /* -2: no byte of an answer came */
        answer->outcome = errno == EAGAIN || errno == EWOULDBLOCK ? LOAD_LATE
                          : size == -2 && connection->answers > 0 ? LOAD_RACED
                                                                  : LOAD_BROKEN;
        load_close(connection);
        return;
    }
    answer->outcome = LOAD_ANSWERED;
    if (strncmp(text, "HTTP/1.", 7) != 0 || body == NULL) {
        answer->outcome = LOAD_BROKEN;
        load_close(connection);
        return;
    }
    answer->status = atoi(text + 9);
    copy_line(answer->body, body, (size_t)(text + size - body));
    connection->answers++;
    if (!keeps) {
        load_close(connection);
    }
}
