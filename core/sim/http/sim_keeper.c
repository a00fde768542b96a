/*
 * sim_keeper.c - see sim_keeper.h. The order to carry out is a field of the
 * cluster: a new one takes the place of the one before it.
 */
#include "sim/http/sim_keeper.h"

#include "kubelua/log.h"
#include "sim/http/sim_listen.h"

#include <string.h>

enum { LATER_MS = 200 };

static kl_code certify(kl_sim *sim, kl__sim_how how, int64_t seconds,
                       kl_error *err)
{
    if (how == KL__SIM_EXPIRED) {
        seconds = -60;
    }
    return kl__sim_listener_certify(
        sim, how == KL__SIM_WRONG_HOST ? "elsewhere.example.com" : NULL,
        seconds, err);
}

/* Carries out what is due, without the mutex. */
static void carry_out(kl_sim *sim, const kl__sim_port *order)
{
    kl_error err;

    if (order->action == KL__SIM_REFUSE) {
        kl_sim_refuse(sim, !order->is_on);
    } else if (certify(sim, (kl__sim_how)order->how, order->lasts_ms / 1000,
                       &err) != KL_OK) {
        kl_log(KL_LOG_ERROR, "%s", err.message);
    }
}

/* The thread: touches sim->port under the mutex. */
static void *keep(void *arg)
{
    kl_sim *sim = arg;
    kl__sim_port *port = &sim->port;

    kl__mutex_lock(&sim->mutex);
    while (!port->stop) {
        int64_t now = kl__sim_clock_now(&sim->clock);
        kl__sim_port order = *port;

        if (!order.is_due || now < order.at_ms) {
            kl__cond_wait(&sim->wake, &sim->mutex,
                          order.is_due
                              ? kl__sim_clock_deadline(&sim->clock, order.at_ms)
                              : -1);
            continue;
        }
        port->is_due = false;
        if (order.action == KL__SIM_REFUSE && !order.is_on &&
            order.lasts_ms >= 0) {
            port->is_due = port->is_on = true;
            port->at_ms = now + order.lasts_ms;
        }
        kl__mutex_unlock(&sim->mutex);
        carry_out(sim, &order);
        kl__mutex_lock(&sim->mutex);
    }
    kl__mutex_unlock(&sim->mutex);
    return NULL;
}

/* Leaves an order to the thread, which is started for the first. Without the
 * lock LIFECYCLE: who ends the connections holds it, and waits for the one by
 * which an order comes. */
static kl_code leave(kl_sim *sim, const kl__sim_port *order, kl_error *err)
{
    kl__sim_port *port = &sim->port;
    kl_code code = KL_OK;

    kl__mutex_lock(&sim->mutex);
    port->action = order->action;
    port->how = order->how;
    port->is_on = order->is_on;
    port->lasts_ms = order->lasts_ms;
    port->at_ms = order->at_ms;
    port->is_due = true;
    kl__cond_broadcast(&sim->wake);
    if (!port->runs && !port->stop) {
        code = kl__thread_start(&port->thread, "kl-sim-port", keep, sim, err);
        port->runs = code == KL_OK;
    }
    kl__mutex_unlock(&sim->mutex);
    return code;
}

kl_code kl__sim_keeper_order(kl_sim *sim, const kl__sim_rule *rule, bool later,
                             kl_error *err)
{
    const int64_t now = kl__sim_clock_now(&sim->clock);
    kl__sim_port order = {.action = (int)rule->action,
                          .how = (int)rule->how,
                          .at_ms = now + LATER_MS,
                          .lasts_ms = rule->seconds_ms};
    kl_code code = KL_OK;

    if (!later && rule->action == KL__SIM_CERTIFICATE) {
        return certify(sim, rule->how,
                       rule->seconds_ms > 0 ? rule->seconds_ms / 1000 : 0, err);
    }
    if (!later) {
        kl_sim_refuse(sim, true);
        order.is_on = true;
        order.at_ms = now + rule->seconds_ms;
    }
    if (later || rule->seconds_ms >= 0) {
        code = leave(sim, &order, err);
    }
    if (code != KL_OK && !later) {
        kl_sim_refuse(sim, false);
    }
    return code;
}

void kl__sim_keeper_stop(kl_sim *sim)
{
    bool runs;

    kl__mutex_lock(&sim->mutex);
    sim->port.stop = true; /* nor is it started any more */
    runs = sim->port.runs;
    kl__cond_broadcast(&sim->wake);
    kl__mutex_unlock(&sim->mutex);
    if (runs) {
        kl__thread_join(&sim->port.thread);
    }
}
