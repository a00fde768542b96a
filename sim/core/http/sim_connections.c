/*
 * sim_connections.c - see sim_connections.h. libmicrohttpd up to 1.0.0
 * dereferences a NULL pointer if it is stopped while it refuses a malformed
 * request by itself (MHD_queue_response then does nothing, but reports
 * success). So its daemon is stopped only after every connection has ended.
 */
#include "sim/core/http/sim_connections.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sim/core/http/sim_handshake.h"

#include <sys/socket.h>

enum { END_MS = 5000 };

typedef struct open_connection {
    kl__list node;
    int fd; /* owned by libmicrohttpd, closed after drop_connection */
} open_connection;

static int socket_of(struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);

    return about != NULL ? about->connect_fd : -1;
}

/* Runs before the connection's thread does. */
static void add_connection(kl__sim_http *http, int fd, void **context)
{
    open_connection *opened = kl__calloc(1, sizeof(*opened));
    bool is_unwanted = opened == NULL;

    *context = opened;
    if (opened != NULL) {
        opened->fd = fd;
        kl__mutex_lock(&http->sim->mutex);
        kl__list_append(&http->connections, &opened->node);
        is_unwanted = http->closing;
        kl__mutex_unlock(&http->sim->mutex);
    }
    if (is_unwanted) {
        shutdown(fd, SHUT_RDWR);
    }
}

/* Runs after the connection's thread has been joined. */
static void drop_connection(kl__sim_http *http, open_connection *closed)
{
    if (closed == NULL) {
        return;
    }
    kl__mutex_lock(&http->sim->mutex);
    kl__list_remove(&closed->node);
    if (kl__list_empty(&http->connections)) {
        kl__cond_broadcast(&http->gone);
    }
    kl__mutex_unlock(&http->sim->mutex);
    kl__free(closed);
}

void kl__sim_connections_notice(void *http, struct MHD_Connection *connection,
                                void **context,
                                enum MHD_ConnectionNotificationCode what)
{
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
        add_connection(http, socket_of(connection), context);
        kl__sim_handshake_attend(http, connection);
    } else {
        drop_connection(http, *context);
    }
}

void kl__sim_connections_end(kl__sim_http *http)
{
    const int64_t deadline = kl__clock_now(kl__clock_real()) + END_MS;
    kl_sim *sim = http->sim;
    bool in_time = true;

    kl__mutex_lock(&sim->mutex);
    http->closing = true;
    kl__sim_wake_all(sim);
    for (kl__list *node = http->connections.next; node != &http->connections;
         node = node->next) {
        shutdown(KL__CONTAINER(node, open_connection, node)->fd, SHUT_RDWR);
    }
    while (!kl__list_empty(&http->connections) && in_time) {
        in_time = kl__cond_wait(&http->gone, &sim->mutex, deadline);
    }
    kl__mutex_unlock(&sim->mutex);
}

void kl__sim_connections_reopen(kl__sim_http *http)
{
    kl__mutex_lock(&http->sim->mutex);
    http->closing = false;
    kl__mutex_unlock(&http->sim->mutex);
}
