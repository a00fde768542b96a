/*
 * sim_connections.c - see sim_connections.h. libmicrohttpd up to 1.0.0
 * dereferences a NULL pointer if it is stopped while it refuses a malformed
 * request by itself (MHD_queue_response then does nothing, but reports
 * success). So its daemon is stopped only after every connection has ended.
 *
 * GnuTLS calls answer_hello after it has read the client's hello, on the thread
 * of that connection: so a wait delays no other connection.
 */
#include "sim/core/http/sim_connections.h"

#include "base/clock.h"
#include "base/mem.h"
#include "sim/core/http/sim_http.h"
#include "sim/core/request/sim_rule.h"

#include <gnutls/gnutls.h>
#include <poll.h>
#include <sys/socket.h>

enum {
    LOOK_MS = 500, /* how often to look if the client is still connected */
    SLOW_MS = 1000 /* if the rule gives no time */
};

/* A reference to the rule that applies to this handshake; NULL: none. */
static kl__sim_rule *take_rule(kl_sim *sim)
{
    for (kl__list *node = sim->rules.next; node != &sim->rules;
         node = node->next) {
        kl__sim_rule *rule = KL__CONTAINER(node, kl__sim_rule, node);

        if (kl__sim_rule_takes_handshake(rule)) {
            rule->refs++;
            return rule;
        }
    }
    return NULL;
}

static bool has_hung_up(gnutls_session_t session)
{
    struct pollfd ready = {.fd = gnutls_transport_get_int(session),
                           .events = POLLRDHUP};

    return poll(&ready, 1, 0) > 0;
}

/* When the delay ends, in milliseconds of the cluster's clock; < 0: when the
 * rule is cleared. */
static int64_t end_of(const kl_sim *sim, const kl__sim_rule *rule)
{
    if (rule->seconds_ms < 0 && rule->how == KL__SIM_STALL) {
        return -1;
    }
    return kl__sim_clock_now(&sim->clock) +
           (rule->seconds_ms >= 0 ? rule->seconds_ms : SLOW_MS);
}

/* Waits as long as the rule says, or until the rule is cleared, the client has
 * closed the connection, or the listener stops. The mutex is held. */
static void wait_for(const kl__sim_http *http, const kl__sim_rule *rule,
                     gnutls_session_t session)
{
    kl_sim *sim = http->sim;
    const int64_t end = end_of(sim, rule);

    while (!http->closing && !rule->is_cleared && !has_hung_up(session) &&
           (end < 0 || kl__sim_clock_now(&sim->clock) < end)) {
        const int64_t look = kl__clock_now(kl__clock_real()) + LOOK_MS;
        const int64_t deadline =
            end < 0 ? look : kl__sim_clock_deadline(&sim->clock, end);

        kl__cond_wait(&sim->wake.cond, &sim->mutex,
                      deadline >= 0 && deadline < look ? deadline : look);
    }
}

/* gnutls_handshake_post_client_hello_func. */
static int answer_hello(gnutls_session_t session)
{
    const kl__sim_http *http = gnutls_db_get_ptr(session);
    kl_sim *sim = http->sim;
    kl__sim_rule *rule;

    kl__mutex_lock(&sim->mutex);
    rule = take_rule(sim);
    if (rule != NULL) {
        wait_for(http, rule, session);
        kl__sim_rule_finish(rule);
    }
    kl__mutex_unlock(&sim->mutex);
    return 0;
}

/* Makes the faults of handshakes apply to a new connection. */
static void sim_handshake_attend(kl__sim_http *http,
                                 struct MHD_Connection *connection)
{
    const union MHD_ConnectionInfo *about;

    if (!http->has_tls) {
        return;
    }
    about =
        MHD_get_connection_info(connection, MHD_CONNECTION_INFO_GNUTLS_SESSION);
    if (about == NULL || about->tls_session == NULL) {
        return;
    }
    /* The callback needs `http`. libmicrohttpd uses the session's common
     * pointer; the pointer for the session cache is free, because there is no
     * such cache. */
    gnutls_db_set_ptr(about->tls_session, http);
    gnutls_handshake_set_post_client_hello_function(about->tls_session,
                                                    answer_hello);
}

/* ---- connections ---- */

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
        sim_handshake_attend(http, connection);
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
