/*
 * sim_origin.c - see sim_origin.h.
 */
#include "sim/core/http/sim_origin.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <unistd.h>

enum { NAME_SIZE = 256 };

/* "name:port", "[address]:port", or without the port. */
typedef struct authority {
    char name[NAME_SIZE];
    int port; /* -1: none */
} authority;

static bool read_authority(const char *text, authority *read)
{
    const bool is_bracketed = *text == '[';
    const char *from = text + is_bracketed;
    size_t length = strcspn(from, is_bracketed ? "]" : ":");
    const char *rest = from + length;

    if (length == 0 || length >= NAME_SIZE || (is_bracketed && *rest != ']')) {
        return false;
    }
    memcpy(read->name, from, length);
    read->name[length] = '\0';
    rest += is_bracketed;
    read->port = *rest == ':' ? atoi(rest + 1) : -1;
    return *rest == '\0' || *rest == ':';
}

/* The address of this machine to which the client has connected. */
static bool find_local(struct MHD_Connection *connection,
                       struct sockaddr_storage *local)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    socklen_t size = sizeof(*local);

    return about != NULL &&
           getsockname(about->connect_fd, (struct sockaddr *)local, &size) == 0;
}

static int port_of(const struct sockaddr_storage *local)
{
    return ntohs(local->ss_family == AF_INET
                     ? ((const struct sockaddr_in *)local)->sin_port
                     : ((const struct sockaddr_in6 *)local)->sin6_port);
}

/* An address of IPv4 as one of IPv6 (::ffff:a.b.c.d). */
static void map_four(const struct in_addr *four, struct in6_addr *mapped)
{
    static const unsigned char prefix[12] = {[10] = 0xff, [11] = 0xff};

    memcpy(mapped->s6_addr, prefix, sizeof(prefix));
    memcpy(mapped->s6_addr + sizeof(prefix), four, 4);
}

/* True if the name is an address: a loopback one, or the one to which the
 * client has connected. */
static bool is_own_address(const char *name,
                           const struct sockaddr_storage *local)
{
    struct in6_addr named, here;
    struct in_addr four;

    if (inet_pton(AF_INET, name, &four) == 1) {
        map_four(&four, &named);
    } else if (inet_pton(AF_INET6, name, &named) != 1) {
        return false;
    }
    if (local->ss_family == AF_INET) {
        map_four(&((const struct sockaddr_in *)local)->sin_addr, &here);
    } else {
        here = ((const struct sockaddr_in6 *)local)->sin6_addr;
    }
    return IN6_IS_ADDR_LOOPBACK(&named) ||
           (IN6_IS_ADDR_V4MAPPED(&named) && named.s6_addr[12] == 127) ||
           memcmp(&named, &here, sizeof(here)) == 0;
}

static bool is_own_name(const kl__sim_http *http, const char *name,
                        const struct sockaddr_storage *local)
{
    char machine[NAME_SIZE] = "";

    if (strcasecmp(name, "localhost") == 0 ||
        (http->host != NULL && strcasecmp(name, http->host) == 0) ||
        is_own_address(name, local)) {
        return true;
    }
    return gethostname(machine, sizeof(machine) - 1) == 0 &&
           machine[0] != '\0' && strcasecmp(name, machine) == 0;
}

/* True if the origin is this server: scheme, name and port. */
static bool is_own_origin(const kl__sim_http *http, const char *origin,
                          const struct sockaddr_storage *local)
{
    const char *scheme = http->has_tls ? "https://" : "http://";
    const int usual = http->has_tls ? 443 : 80;
    authority from;

    return strncasecmp(origin, scheme, strlen(scheme)) == 0 &&
           read_authority(origin + strlen(scheme), &from) &&
           (from.port < 0 ? usual : from.port) == port_of(local) &&
           is_own_name(http, from.name, local);
}

const char *kl__sim_origin_fault(const kl__sim_http *http,
                                 struct MHD_Connection *connection)
{
    const char *host =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Host");
    const char *origin =
        MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Origin");
    struct sockaddr_storage local;
    authority asked;

    if (!find_local(connection, &local)) {
        return "403 Forbidden: the connection has no address";
    }
    if (host != NULL && *host != '\0' &&
        (!read_authority(host, &asked) ||
         !is_own_name(http, asked.name, &local))) {
        return "403 Forbidden: Host is no name of this simulator: use the URL "
               "that it printed, localhost, or the address that it listens on";
    }
    if (origin != NULL && !is_own_origin(http, origin, &local)) {
        return "403 Forbidden: Origin is another site; this simulator answers "
               "no pages of others";
    }
    return NULL;
}
