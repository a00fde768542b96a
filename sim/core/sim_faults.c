/*
 * sim_faults.c - see sim_faults.h. Adds, lists and ends rules of faults;
 * request/sim_rule.h describes one rule.
 */
#include "sim/core/sim_faults.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/writer.h"
#include "sim/core/answer/sim_requests.h"
#include "sim/core/http/sim_keeper.h"
#include "sim/core/request/sim_rule.h"

#include <string.h>

void kl_sim_cut(kl_sim *sim)
{
    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&sim->mutex);
    sim->cuts++;
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
}

void kl_sim_freeze(kl_sim *sim, bool on)
{
    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return;
    }
    kl__mutex_lock(&sim->mutex);
    sim->frozen = on;
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
}

/* Adds a rule to the list of the rules in force; takes the rule. */
static kl_code add_rule(kl_sim *sim, kl__sim_rule *rule, int64_t *id)
{
    kl__mutex_lock(&sim->mutex);
    rule->id = ++sim->last_rule;
    if (id != NULL) {
        /* after the unlock another thread may remove the rule */
        *id = rule->id;
    }
    kl__list_append(&sim->rules, &rule->node);
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
    return KL_OK;
}

/* KL_EINVAL if the rule needs TLS and the port does not serve TLS. Call it
 * without the LIFECYCLE lock: leave_order in sim_keeper.c says why. */
static kl_code expect_tls(kl_sim *sim, const kl__sim_rule *rule, kl_error *err)
{
    bool has_tls;

    if (rule->action != KL__SIM_TLS && rule->action != KL__SIM_CERTIFICATE) {
        return KL_OK;
    }
    kl__mutex_lock(&sim->mutex);
    has_tls = sim->port.has_tls;
    kl__mutex_unlock(&sim->mutex);
    return has_tls ? KL_OK
                   : kl_error_set(err, KL_EINVAL,
                                  "simulator: it does not listen with TLS, so "
                                  "it has no %s",
                                  rule->action == KL__SIM_TLS ? "handshakes"
                                                              : "certificate");
}

/* Carries out a fault of the port itself: the port refuses connections, or
 * changes its certificate. Takes the rule; the list of rules never has it. */
static kl_code order_port(kl_sim *sim, kl__sim_rule *rule, bool later,
                          int64_t *id, kl_error *err)
{
    kl_code code = kl__sim_keeper_order(sim, rule, later, err);

    kl__mutex_lock(&sim->mutex);
    if (id != NULL) {
        *id = ++sim->last_rule;
    }
    kl__sim_rule_unref(rule);
    kl__mutex_unlock(&sim->mutex);
    return code;
}

/* Puts a rule in force; takes it. If the rule is NULL, it could not be parsed,
 * and `why` holds the error. `later`: see kl__sim_keeper_order. */
static kl_code enforce_rule(kl_sim *sim, kl__sim_rule *rule, bool later,
                            int64_t *id, kl_error *why)
{
    kl_code code;

    if (rule == NULL) {
        return why->code;
    }
    code = expect_tls(sim, rule, why);
    if (code != KL_OK) {
        kl__sim_rule_unref(rule);
        return code;
    }
    return rule->action == KL__SIM_REFUSE || rule->action == KL__SIM_CERTIFICATE
               ? order_port(sim, rule, later, id, why)
               : add_rule(sim, rule, id);
}

kl_code kl__sim_fault(kl_sim *sim, const kl__sim_ask *ask, int64_t *id,
                      kl_error *err)
{
    return enforce_rule(sim,
                        kl__sim_rule_parse(ask->body, ask->body_length, err),
                        true, id, err);
}

kl_code kl_sim_fault(kl_sim *sim, const char *rule, size_t length, int64_t *id,
                     kl_error *err)
{
    kl_error own;

    err = err != NULL ? err : &own;
    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return KL_EFORKED;
    }
    return enforce_rule(sim, kl__sim_rule_parse(rule, length, err), false, id,
                        err);
}

static void write_rule(kl_writer *writer, const kl__sim_rule *rule)
{
    const kl_value *root = kl_doc_root(rule->doc), *key, *value;
    kl_value_iter iter = {0};
    size_t length;

    kl_writer_begin_object(writer);
    kl_writer_name(writer, "id", 2);
    kl_writer_integer(writer, rule->id);
    kl_writer_name(writer, "hits", 4);
    kl_writer_integer(writer, rule->hits);
    while ((value = kl_value_next(root, &iter, &key)) != NULL) {
        const char *name = kl_value_string(key, &length);

        kl_writer_name(writer, name, length);
        kl_writer_value(writer, value);
    }
    kl_writer_end_object(writer);
}

char *kl_sim_faults(kl_sim *sim, kl_error *err)
{
    kl_writer *writer;
    const char *json;
    char *copy = NULL;

    if (kl__check_process(sim->made_in, err) != KL_OK) {
        return NULL;
    }
    writer = kl_writer_new();
    if (writer == NULL) {
        kl_error_set(err, KL_ENOMEM, "out of memory for the faults");
        return NULL;
    }
    kl_writer_begin_array(writer);
    kl__mutex_lock(&sim->mutex);
    for (kl__list *node = sim->rules.next; node != &sim->rules;
         node = node->next) {
        write_rule(writer, KL__CONTAINER(node, kl__sim_rule, node));
    }
    kl__mutex_unlock(&sim->mutex);
    kl_writer_end_array(writer);
    json = kl_writer_finish(writer, NULL, err);
    if (json != NULL) {
        copy = kl__strdup(json);
        if (copy == NULL) {
            kl_error_set(err, KL_ENOMEM, "out of memory for the faults");
        }
    }
    kl_writer_free(writer);
    return copy;
}

static void clear_locked(kl__sim_rule *rule)
{
    rule->is_cleared = true;
    kl__list_remove(&rule->node);
    kl__sim_rule_unref(rule);
}

bool kl_sim_heal(kl_sim *sim, int64_t id)
{
    bool found = id == 0;
    kl__list *next;

    if (kl__check_process(sim->made_in, NULL) != KL_OK) {
        return false;
    }
    kl__mutex_lock(&sim->mutex);
    for (kl__list *node = sim->rules.next; node != &sim->rules; node = next) {
        kl__sim_rule *rule = KL__CONTAINER(node, kl__sim_rule, node);

        next = node->next;
        if (id == 0 || rule->id == id) {
            clear_locked(rule);
            found = true;
        }
    }
    kl__sim_wake_all(sim);
    kl__mutex_unlock(&sim->mutex);
    return found;
}

static void write_rule_text(kl_writer *writer, const char *name,
                            const char *value)
{
    if (value != NULL) {
        kl_writer_name(writer, name, strlen(name));
        kl_writer_string(writer, value, strlen(value));
    }
}

static void write_number(kl_writer *writer, const char *name, int64_t value)
{
    kl_writer_name(writer, name, strlen(name));
    kl_writer_integer(writer, value);
}

kl_code kl_sim_fail(kl_sim *sim, const kl_sim_failure *wanted, kl_error *err)
{
    kl_writer *writer;
    const char *json;
    size_t length;
    kl_code code = KL_ENOMEM;

    if (wanted->count <= 0 || wanted->status < 200 || wanted->status > 599) {
        return kl_error_set(err, KL_EINVAL,
                            "a count above 0 and a status of 200 to 599 are "
                            "needed, not %d and %d",
                            wanted->count, wanted->status);
    }
    writer = kl_writer_new();
    if (writer == NULL) {
        return kl_error_set(err, KL_ENOMEM, "out of memory for a failure");
    }
    kl_writer_begin_object(writer);
    write_rule_text(writer, "action", "fail");
    write_rule_text(writer, "verb", wanted->verb);
    write_number(writer, "count", wanted->count);
    write_number(writer, "status", wanted->status);
    if (wanted->retry_after_seconds > 0) {
        write_number(writer, "retry_after", wanted->retry_after_seconds);
    }
    write_rule_text(writer, "body", wanted->body);
    kl_writer_end_object(writer);
    json = kl_writer_finish(writer, &length, err);
    if (json != NULL) {
        code = kl_sim_fault(sim, json, length, NULL, err);
    }
    kl_writer_free(writer);
    return code;
}

void kl__sim_faults_deinit(kl_sim *sim)
{
    kl__list *node;

    while ((node = kl__list_shift(&sim->rules)) != NULL) {
        kl__sim_rule_unref(KL__CONTAINER(node, kl__sim_rule, node));
    }
    kl__sim_requests_forget(sim);
}
