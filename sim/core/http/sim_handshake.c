/*
 * sim_handshake.c - see sim_handshake.h. GnuTLS calls answer_hello after it has
 * read the client's hello, on the thread of that connection: so a wait delays
 * no other connection.
 */
#include "sim/core/http/sim_handshake.h"

#include "base/clock.h"
#include "sim/core/request/sim_rule.h"

#include <gnutls/gnutls.h>
#include <poll.h>

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

void kl__sim_handshake_attend(kl__sim_http *http,
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
