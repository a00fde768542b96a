/*
 * wire.c - see wire.h. Blocking sockets with a time limit; answers of known
 * length only, as the backends of the specs give them.
 */
#include "wire.h"

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include <gnutls/x509.h>

enum { TEXT_SIZE = 8192, PATIENCE_S = 5 };

static gnutls_certificate_credentials_t credentials;

bool wire_init(void)
{
    return gnutls_certificate_allocate_credentials(&credentials) == 0;
}

static int open_socket(int port)
{
    struct timeval patience = {PATIENCE_S, 0};
    struct sockaddr_in address = {.sin_family = AF_INET};
    int s = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), on = 1;

    if (s < 0) {
        return -1;
    }
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    address.sin_port = htons((uint16_t)port);
    setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    setsockopt(s, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    setsockopt(s, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
    if (connect(s, (struct sockaddr *)&address, sizeof(address)) != 0) {
        close(s);
        return -1;
    }
    return s;
}

/* The number at the end of the certificate's name, and if it has expired. */
static bool read_certificate(wire *self)
{
    unsigned count;
    const gnutls_datum_t *list =
        gnutls_certificate_get_peers(self->tls, &count);
    gnutls_x509_crt_t leaf;
    char name[256] = "";
    size_t size = sizeof(name);
    const char *number;

    if (list == NULL || count == 0 || gnutls_x509_crt_init(&leaf) != 0) {
        return false;
    }
    if (gnutls_x509_crt_import(leaf, &list[0], GNUTLS_X509_FMT_DER) == 0) {
        gnutls_x509_crt_get_dn_by_oid(leaf, GNUTLS_OID_X520_COMMON_NAME, 0, 0,
                                      name, &size);
    }
    number = strrchr(name, '-');
    self->certificate =
        number != NULL ? (unsigned)strtoul(number + 1, NULL, 10) : UINT_MAX;
    self->is_expired = time(NULL) > gnutls_x509_crt_get_expiration_time(leaf);
    gnutls_x509_crt_deinit(leaf);
    return true;
}

static bool shake_hands(wire *self, const char *sni, const char **why)
{
    int status = gnutls_init(&self->tls, GNUTLS_CLIENT);

    if (status == 0) {
        gnutls_set_default_priority(self->tls);
        gnutls_credentials_set(self->tls, GNUTLS_CRD_CERTIFICATE, credentials);
        gnutls_server_name_set(self->tls, GNUTLS_NAME_DNS, sni, strlen(sni));
        gnutls_transport_set_int(self->tls, self->socket);
        do {
            status = gnutls_handshake(self->tls);
        } while (status < 0 && !gnutls_error_is_fatal(status) &&
                 status != GNUTLS_E_AGAIN);
    }
    if (status == GNUTLS_E_FATAL_ALERT_RECEIVED) {
        *why = gnutls_alert_get_name(gnutls_alert_get(self->tls));
    } else {
        *why = gnutls_strerror(status);
    }
    return status == 0 && read_certificate(self);
}

bool wire_open(wire *self, int port, const char *sni, const char **why)
{
    memset(self, 0, sizeof(*self));
    self->socket = open_socket(port);
    if (self->socket < 0) {
        *why = strerror(errno);
        return false;
    }
    if (sni != NULL && !shake_hands(self, sni, why)) {
        wire_close(self);
        return false;
    }
    return true;
}

void wire_close(wire *self)
{
    if (self->tls != NULL) {
        gnutls_deinit(self->tls);
        self->tls = NULL;
    }
    if (self->socket >= 0) {
        close(self->socket);
        self->socket = -1;
    }
}

static ssize_t receive(wire *self, char *to, size_t size)
{
    time_t begun = time(NULL);
    ssize_t n;

    if (self->tls == NULL) {
        return recv(self->socket, to, size, 0);
    }
    /* GnuTLS 3.8 also says "again" after a session ticket */
    do {
        n = gnutls_record_recv(self->tls, to, size);
    } while (n == GNUTLS_E_INTERRUPTED ||
             (n == GNUTLS_E_AGAIN && time(NULL) - begun < PATIENCE_S - 1));
    errno = n == GNUTLS_E_AGAIN ? EAGAIN : ECONNRESET;
    return n;
}

static bool send_request(wire *self, const wire_request *request)
{
    char text[1024];
    int length =
        snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: %s\r\n\r\n",
                 request->path, request->host);
    ssize_t sent;

    if (self->tls == NULL) {
        sent = send(self->socket, text, (size_t)length, MSG_NOSIGNAL);
    } else {
        sent = gnutls_record_send(self->tls, text, (size_t)length);
    }
    return sent == length;
}

static const char *find_header(const char *head, const char *name)
{
    size_t length = strlen(name);
    const char *line = head;

    while ((line = strstr(line, "\r\n")) != NULL) {
        line += 2;
        if (strncasecmp(line, name, length) == 0 && line[length] == ':') {
            return line + length + 1 + strspn(line + length + 1, " ");
        }
    }
    return NULL;
}

/* Reads one whole answer. Returns the body, or NULL with the outcome. */
static const char *read_answer(wire *self, char *text, bool *keeps,
                               wire_outcome *outcome)
{
    size_t used = 0, wanted = TEXT_SIZE - 1;
    char *body = NULL;

    while (used < wanted) {
        ssize_t n = receive(self, text + used, TEXT_SIZE - 1 - used);

        if (n <= 0) {
            *outcome = n < 0 && errno == EAGAIN         ? WIRE_LATE
                       : used == 0 && self->answers > 0 ? WIRE_RACED
                                                        : WIRE_BROKEN;
            return NULL;
        }
        used += (size_t)n;
        text[used] = '\0';
        if (body == NULL && (body = strstr(text, "\r\n\r\n")) != NULL) {
            const char *length = find_header(text, "Content-Length");
            const char *closes = find_header(text, "Connection");

            body += 4;
            *keeps = closes == NULL || strncasecmp(closes, "close", 5) != 0;
            wanted = (size_t)(body - text) +
                     (length != NULL ? strtoul(length, NULL, 10) : 0);
        }
    }
    *outcome = body != NULL ? WIRE_ANSWERED : WIRE_BROKEN;
    return body;
}

wire_answer wire_ask(wire *self, const wire_request *request)
{
    wire_answer answer = {WIRE_RACED, 0, UINT_MAX};
    char text[TEXT_SIZE] = "", *end;
    const char *body = NULL;
    bool keeps = false;

    if (send_request(self, request)) {
        body = read_answer(self, text, &keeps, &answer.outcome);
    } else if (self->answers == 0) {
        answer.outcome = WIRE_BROKEN;
    }
    if (body == NULL) {
        wire_close(self);
        return answer;
    }
    self->answers++;
    answer.status = atoi(text + strlen("HTTP/1.1 "));
    body += strcspn(body, "0123456789");
    answer.identity = (unsigned)strtoul(body, &end, 10);
    if (end == body) {
        answer.identity = UINT_MAX;
    }
    if (!keeps) {
        wire_close(self);
    }
    return answer;
}
