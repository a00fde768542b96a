/*
 * link.c - see link.h.
 */
#include "link.h"

#include <gnutls/gnutls.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROOM = 256 * 1024, HEAD_SIZE = 4096 };

struct link {
    const link_target *target;
    int fd;
    gnutls_session_t session; /* NULL: no TLS */
    gnutls_certificate_credentials_t credentials;
    size_t used; /* bytes in room */
    size_t at;   /* of those, read */
    char last;   /* byte of a stream that was read before */
    char room[ROOM];
};

bool link_parse(link_target *target, const char *url, const char *token)
{
    char scheme[8];

    target->token = token;
    if (sscanf(url, "%7[a-z]://%63[^:/]:%7[0-9]", scheme, target->host,
               target->port) != 3) {
        return false;
    }
    target->has_tls = strcmp(scheme, "https") == 0;
    return true;
}

static int connect_to(const link_target *target)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    int fd, on = 1;

    if (getaddrinfo(target->host, target->port, &hints, &found) != 0) {
        return -1;
    }
    fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && connect(fd, found->ai_addr, found->ai_addrlen) != 0) {
        close(fd);
        fd = -1;
    }
    freeaddrinfo(found);
    if (fd >= 0) {
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    }
    return fd;
}

static bool start_tls(link_t *link)
{
    int status;

    gnutls_certificate_allocate_credentials(&link->credentials);
    gnutls_init(&link->session, GNUTLS_CLIENT);
    gnutls_set_default_priority(link->session);
    gnutls_credentials_set(link->session, GNUTLS_CRD_CERTIFICATE,
                           link->credentials);
    gnutls_transport_set_int(link->session, link->fd);
    do {
        status = gnutls_handshake(link->session);
    } while (status < 0 && gnutls_error_is_fatal(status) == 0);
    return status == 0;
}

link_t *link_open(const link_target *target)
{
    link_t *link = calloc(1, sizeof(*link));

    if (link == NULL) {
        return NULL;
    }
    link->target = target;
    link->fd = connect_to(target);
    if (link->fd < 0 || (target->has_tls && !start_tls(link))) {
        link_close(link);
        return NULL;
    }
    return link;
}

void link_close(link_t *link)
{
    if (link->session != NULL) {
        gnutls_deinit(link->session);
        gnutls_certificate_free_credentials(link->credentials);
    }
    if (link->fd >= 0) {
        close(link->fd);
    }
    free(link);
}

int link_fd(const link_t *link)
{
    return link->fd;
}

static bool put(link_t *link, const char *bytes, size_t length)
{
    while (length != 0) {
        ssize_t sent = link->session != NULL
                           ? gnutls_record_send(link->session, bytes, length)
                           : send(link->fd, bytes, length, MSG_NOSIGNAL);

        if (sent <= 0) {
            return false;
        }
        bytes += sent;
        length -= (size_t)sent;
    }
    return true;
}

bool link_send(link_t *link, const char *method, const char *path,
               const char *body)
{
    size_t length = body != NULL ? strlen(body) : 0;
    bool has_token = *link->target->token != '\0';
    char text[HEAD_SIZE];
    int used = snprintf(text, sizeof(text),
                        "%s %s HTTP/1.1\r\nHost: %s:%s\r\n%s%s%s"
                        "Accept: application/json\r\n%s"
                        "Content-Length: %zu\r\n\r\n%s",
                        method, path, link->target->host, link->target->port,
                        has_token ? "Authorization: Bearer " : "",
                        link->target->token, has_token ? "\r\n" : "",
                        length != 0 ? "Content-Type: application/json\r\n" : "",
                        length, body != NULL ? body : "");

    return used > 0 && (size_t)used < sizeof(text) &&
           put(link, text, (size_t)used);
}

/* Reads once, behind what is there. */
static bool take(link_t *link)
{
    ssize_t got;

    if (link->at == link->used) {
        link->at = link->used = 0;
    }
    if (link->used == ROOM - 1) { /* a line or head does not get that long */
        memmove(link->room, link->room + link->at, link->used - link->at);
        link->used -= link->at;
        link->at = 0;
    }
    got =
        link->session != NULL
            ? gnutls_record_recv(link->session, link->room + link->used,
                                 ROOM - 1 - link->used)
            : recv(link->fd, link->room + link->used, ROOM - 1 - link->used, 0);
    if (got == GNUTLS_E_AGAIN && link->session != NULL) {
        return true;
    }
    if (got <= 0) {
        return false;
    }
    link->used += (size_t)got;
    link->room[link->used] = '\0';
    return true;
}

/* Reads up to an end of a line; the line is NUL terminated in place. */
static char *take_line(link_t *link)
{
    for (;;) {
        char *from = link->room + link->at;
        char *end = memchr(from, '\n', link->used - link->at);

        if (end != NULL) {
            link->at = (size_t)(end + 1 - link->room);
            end[end > from && end[-1] == '\r' ? -1 : 0] = '\0';
            return from;
        }
        if (!take(link)) {
            return NULL;
        }
    }
}

/* Reads over so many bytes. */
static bool skip(link_t *link, size_t length)
{
    for (;;) {
        size_t there = link->used - link->at;

        if (there >= length) {
            link->at += length;
            return true;
        }
        length -= there;
        link->at = link->used;
        if (!take(link)) {
            return false;
        }
    }
}

/* The head: a status, and the length of a body (-1: it is chunked). */
static bool take_head(link_t *link, int *status, long *length)
{
    char *line = take_line(link);

    *length = 0;
    if (line == NULL || sscanf(line, "HTTP/1.1 %d", status) != 1) {
        return false;
    }
    while ((line = take_line(link)) != NULL && *line != '\0') {
        if (strncasecmp(line, "content-length:", 15) == 0) {
            *length = strtol(line + 15, NULL, 10);
        } else if (strncasecmp(line, "transfer-encoding:", 18) == 0) {
            *length = -1;
        }
    }
    return line != NULL;
}

bool link_receive(link_t *link, int *status, size_t *length)
{
    long body;
    size_t chunk;

    if (!take_head(link, status, &body)) {
        return false;
    }
    if (body >= 0) {
        *length = (size_t)body;
        return skip(link, *length);
    }
    *length = 0;
    do {
        const char *line = take_line(link);

        if (line == NULL) {
            return false;
        }
        chunk = strtoul(line, NULL, 16);
        *length += chunk;
        if (!skip(link, chunk + 2)) {
            return false;
        }
    } while (chunk != 0);
    return true;
}

bool link_begin(link_t *link)
{
    int status;
    long length;

    return take_head(link, &status, &length) && status == 200;
}

bool link_has_more(const link_t *link)
{
    return link->at != link->used;
}

bool link_lines(link_t *link, size_t *lines)
{
    *lines = 0;
    do {
        const char *from, *end;

        if (link->at == link->used && !take(link)) {
            return false;
        }
        from = link->room + link->at;
        end = link->room + link->used;
        while ((from = memchr(from, '\n', (size_t)(end - from))) != NULL) {
            /* Chunks' lines end with \r\n, the events' with \n alone. */
            char before = from == link->room + link->at ? link->last : from[-1];

            *lines += before != '\r';
            from++;
        }
        link->last = end[-1];
        link->at = link->used;
    } while (link->session != NULL &&
             gnutls_record_check_pending(link->session) != 0);
    return true;
}
