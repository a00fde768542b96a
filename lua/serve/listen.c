/*
 * listen.c - see listen.h.
 */
#include "listen.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BACKLOG = 64 };

/* A socket that listens on one of the addresses; -1: errno says why. */
static int listen_on(const struct addrinfo *address)
{
    int yes = 1, no = 0;
    int fd = socket(address->ai_family,
                    SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd < 0) {
        return -1;
    }
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
    if (address->ai_family == AF_INET6) { /* "::" is IPv4, too */
        setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof(no));
    }
    if (bind(fd, address->ai_addr, address->ai_addrlen) != 0 ||
        listen(fd, BACKLOG) != 0) {
        int why = errno;

        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static const char *remedy_of(int why)
{
    switch (why) {
    case EADDRINUSE:
        return ": another program has this port; choose another one";
    case EACCES:
        return ": a port below 1024 needs a right; choose 1024 or above";
    case EADDRNOTAVAIL:
        return ": this machine does not have that address";
    default:
        return "";
    }
}

int open_listener(const char *host, const char *port, kl_error *err)
{
    struct addrinfo hints = {.ai_flags = AI_PASSIVE | AI_NUMERICSERV,
                             .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    int status =
        getaddrinfo(host[0] != '\0' ? host : NULL, port, &hints, &list);
    int fd = -1, why = 0;

    if (status != 0) {
        kl_error_set(err, KL_EINVAL, "cannot serve on %s: %s", host,
                     gai_strerror(status));
        return -1;
    }
    /* All addresses: "::" first, as it takes IPv4, too. */
    for (int family = AF_INET6; fd < 0 && family != 0;
         family = family == AF_INET6 ? AF_INET : 0) {
        for (const struct addrinfo *at = list; fd < 0 && at != NULL;
             at = at->ai_next) {
            if (at->ai_family == family) {
                fd = listen_on(at);
                why = errno;
            }
        }
    }
    freeaddrinfo(list);
    if (fd < 0) {
        kl_error_set(err, KL_EIO, "cannot serve on %s:%s: %s%s",
                     host[0] != '\0' ? host : "*", port, strerror(why),
                     remedy_of(why));
    }
    return fd;
}

int port_of_listener(int fd)
{
    struct sockaddr_storage address = {0};
    socklen_t length = sizeof(address);
    char port[NI_MAXSERV] = "0";

    if (getsockname(fd, (struct sockaddr *)&address, &length) == 0) {
        getnameinfo((struct sockaddr *)&address, length, NULL, 0, port,
                    sizeof(port), NI_NUMERICSERV);
    }
    return atoi(port);
}

void block_signals(sigset_t *before)
{
    sigset_t all;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, before);
}
