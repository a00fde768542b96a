/*
 * sim_keeper.c - see sim_keeper.h. The cluster has one pending order of each
 * sort: a new order replaces the order before it.
 */
#include "sim/core/http/sim_keeper.h"

#include "base/clock.h"
#include "kubelua/log.h"
#include "sim/core/http/sim_listen.h"

enum { LATER_MS = 200, SECOND_MS = 1000 };

static kl_code certify_port(kl_sim *sim, kl__sim_how how, int64_t lasts_ms,
                            kl_error *err)
{
    int64_t seconds = (lasts_ms + SECOND_MS - 1) / SECOND_MS;

    if (lasts_ms < 0) {
        seconds = 0;
    } else if (lasts_ms == 0) {
        seconds = -1;
    }
    if (how == KL__SIM_EXPIRED) {
        seconds = -60;
    }
    return kl__sim_listener_certify(
        sim, how == KL__SIM_WRONG_HOST ? "elsewhere.example.com" : NULL,
        seconds, err);
}

/* When the order is due, on the machine's clock; -1: never, unless the
 * cluster's clock changes. */
static int64_t due_at(const kl_sim *sim, const kl__sim_order *order)
{
    if (!order->is_due) {
        return -1;
    }
    return order->is_soon ? order->at_ms
                          : kl__sim_clock_deadline(&sim->clock, order->at_ms);
}

static bool is_time(const kl_sim *sim, const kl__sim_order *order)
{
    return order->is_due &&
           order->at_ms <= (order->is_soon ? kl__clock_now(kl__clock_real())
                                           : kl__sim_clock_now(&sim->clock));
}

/* Takes an order that is due. An order to refuse connections for a time leaves
 * the order to accept them again in its place. The mutex is held. */
static bool take_order(kl_sim *sim, kl__sim_order *from, kl__sim_order *order)
{
    if (!is_time(sim, from)) {
        return false;
    }
    *order = *from;
    from->is_due = false;
    if (from == &sim->port.refuse && !order->is_end && order->lasts_ms >= 0) {
        from->is_due = from->is_end = true;
        from->is_soon = false;
        from->at_ms = kl__sim_clock_now(&sim->clock) + order->lasts_ms;
    }
    return true;
}

/* Carries out the orders that are due. The caller holds the mutex; this unlocks
 * it and locks it again, because sim->listening (rank LIFECYCLE) has to be
 * locked first. sim->listening is held to the end, so that no other order
 * reaches the port after this took an order and before it has carried the order
 * out. */
static void carry_out_orders(kl_sim *sim)
{
    kl__sim_order refuse, certificate;
    bool refuses, certifies;
    kl_error err;

    kl__mutex_unlock(&sim->mutex);
    kl__mutex_lock(&sim->listening);
    kl__mutex_lock(&sim->mutex);
    certifies = take_order(sim, &sim->port.certify, &certificate);
    refuses = take_order(sim, &sim->port.refuse, &refuse);
    kl__mutex_unlock(&sim->mutex);
    if (certifies && certify_port(sim, (kl__sim_how)certificate.how,
                                  certificate.lasts_ms, &err) != KL_OK) {
        kl_log(KL_LOG_ERROR, "%s", err.message);
    }
    if (refuses) {
        kl__sim_listener_refuse(sim, !refuse.is_end);
    }
    kl__mutex_unlock(&sim->listening);
    kl__mutex_lock(&sim->mutex);
}

/* The entry of the keeper's thread. It touches sim->port under the mutex, and
 * the listener under sim->listening. */
static void *run_keeper(void *arg)
{
    kl_sim *sim = arg;
    kl__sim_port *port = &sim->port;

    kl__mutex_lock(&sim->mutex);
    while (!port->stop) {
        if (is_time(sim, &port->refuse) || is_time(sim, &port->certify)) {
            carry_out_orders(sim);
        } else {
            int64_t one = due_at(sim, &port->refuse);
            int64_t other = due_at(sim, &port->certify);

            kl__cond_wait(&sim->wake.cond, &sim->mutex,
                          other >= 0 && (one < 0 || other < one) ? other : one);
        }
    }
    kl__mutex_unlock(&sim->mutex);
    return NULL;
}

/* Leaves an order to the keeper's thread, which the first order starts. An
 * order that came by a request must not lock sim->listening: a thread that ends
 * connections holds that lock while it waits for this same request. */
static kl_code leave_order(kl_sim *sim, kl__sim_order *place,
                           kl__sim_order order, kl_error *err)
{
    kl__sim_port *port = &sim->port;
    kl_code code = KL_OK;

    order.is_due = true;
    kl__mutex_lock(&sim->mutex);
    if (!port->runs && !port->stop) {
        code = kl__thread_start(&port->thread, "kl-sim-port", run_keeper, sim,
                                err);
        port->runs = code == KL_OK;
    }
    if (code == KL_OK) {
        *place = order;
        kl__sim_bell_ring(&sim->wake);
    }
    kl__mutex_unlock(&sim->mutex);
    return code;
}

/* Forgets a pending order to refuse connections or to accept them again. */
static void forget_order(kl_sim *sim)
{
    kl__mutex_lock(&sim->mutex);
    sim->port.refuse.is_due = false;
    kl__mutex_unlock(&sim->mutex);
}

void kl_sim_refuse(kl_sim *sim, bool on)
{
    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&sim->listening);
    forget_order(sim);
    kl__sim_listener_refuse(sim, on);
    kl__mutex_unlock(&sim->listening);
}

/* Refuses connections at once. If the rule has a time, the order to accept them
 * again is left first, because starting the thread for it may fail.
 * sim->listening is held. */
static kl_code refuse_connections(kl_sim *sim, const kl__sim_rule *rule,
                                  kl_error *err)
{
    const kl__sim_order end = {.is_end = true,
                               .at_ms = kl__sim_clock_now(&sim->clock) +
                                        rule->seconds_ms};
    kl_code code = KL_OK;

    if (rule->seconds_ms >= 0) {
        code = leave_order(sim, &sim->port.refuse, end, err);
    } else {
        forget_order(sim);
    }
    if (code == KL_OK) {
        kl__sim_listener_refuse(sim, true);
    }
    return code;
}

kl_code kl__sim_keeper_order(kl_sim *sim, const kl__sim_rule *rule, bool later,
                             kl_error *err)
{
    const kl__sim_order order = {.is_soon = true,
                                 .how = (int)rule->how,
                                 .at_ms =
                                     kl__clock_now(kl__clock_real()) + LATER_MS,
                                 .lasts_ms = rule->seconds_ms};
    kl_code code;

    if (later) {
        return leave_order(sim,
                           rule->action == KL__SIM_REFUSE ? &sim->port.refuse
                                                          : &sim->port.certify,
                           order, err);
    }
    kl__mutex_lock(&sim->listening);
    code = rule->action == KL__SIM_REFUSE
               ? refuse_connections(sim, rule, err)
               : certify_port(sim, rule->how, rule->seconds_ms, err);
    kl__mutex_unlock(&sim->listening);
    return code;
}

void kl__sim_keeper_stop(kl_sim *sim)
{
    bool runs;

    kl__mutex_lock(&sim->mutex);
    sim->port.stop = true; /* from now on no order can start the thread */
    runs = sim->port.runs;
    kl__sim_bell_ring(&sim->wake);
    kl__mutex_unlock(&sim->mutex);
    if (runs) {
        kl__thread_join(&sim->port.thread);
    }
}
