/*
 * sim_quota.c - the plugin ResourceQuota: compares the increase in usage by a
 * write with each quota of its namespace, and adds it to the quota's status.
 * Decreases are left to the controller of quotas (sim_quota_life.c), which
 * counts again.
 */
#include "sim/core/admit/sim_quota.h"

#include "sim/core/schema/quantity.h"
#include "sim/core/admit/sim_admit.h"
#include "sim/core/schema/amounts.h"
#include "sim/core/write/sim_kinds_own.h"
#include "sim/core/write/sim_write.h"

#include <stdlib.h>
#include <string.h>

/* One write that is compared with the quotas of its namespace. */
typedef struct charging {
    kl__sim_write *write;
    kl__edit *scratch;
    const kl__node *usage;  /* of the new object */
    const kl__node *before; /* of the old object; NULL: there is none */
} charging;

/* --- Which writes count. -------------------------------------------------- */

static bool deadline_changes(const kl__sim_write *write)
{
    static const char *const path[] = {"spec", "activeDeadlineSeconds", NULL};

    return (kl__node_find(kl__sim_write_old(write), path) != NULL) !=
           (kl__node_find(kl__sim_write_root(write), path) != NULL);
}

static bool concerns_quotas(const kl__sim_write *write)
{
    bool is_whole = *write->subresource == '\0', is_new = write->old == NULL;

    if (write->answer->ask.route.name_space == NULL || write->answer->loading ||
        strcmp(write->kind->plural, "events") == 0) {
        return false;
    }
    if (kl__sim_write_is(write, "", "pods")) {
        return strcmp(write->subresource, "resize") == 0 ||
               (is_whole && (is_new || deadline_changes(write)));
    }
    if (kl__sim_write_is(write, "", "services") ||
        kl__sim_write_is(write, "", "persistentvolumeclaims")) {
        return is_whole;
    }
    return is_whole && is_new;
}

/* --- Pods that must name their requests. ---------------------------------- */

/* True if a container names its demand for a resource. */
static bool names_demand(const kl__node *container, const char *name)
{
    const kl__node *resources = kl__node_get(container, "resources");
    bool is_limit = strncmp(name, "limits.", 7) == 0;
    const char *dot = strchr(name, '.');

    return kl__amount(kl__node_get(resources, is_limit ? "limits" : "requests"),
                      dot != NULL ? dot + 1 : name) != NULL;
}

static int compare_texts(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Appends "cpu for: a,b": the containers that name no demand for the
 * resource. */
static void list_silent(const kl__node *spec, const char *name, kl__buf *why)
{
    enum { MOST = 64 };
    static const char *const lists[] = {"containers", "initContainers"};
    const char *silent[MOST];
    size_t count = 0;

    for (size_t i = 0; i < 2; i++) {
        const kl__node *list = kl__node_get(spec, lists[i]), *container;
        kl__node_iter iter = {0};

        while ((container = kl__node_next(list, &iter, NULL, NULL)) != NULL) {
            if (!names_demand(container, name) && count < MOST) {
                silent[count++] = kl__node_text(container, "name");
            }
        }
    }
    qsort(silent, count, sizeof(*silent), compare_texts);
    for (size_t i = 0; i < count; i++) {
        if (i == 0) {
            kl__buf_printf(why, "%s%s for: ", why->length != 0 ? "; " : "",
                           name);
        }
        kl__buf_printf(why, "%s%s", i != 0 ? "," : "", silent[i]);
    }
}

/* If a quota limits a resource, every container must name its demand. */
static void check_says(const kl__node *pod, const kl__node *hard, kl__buf *why)
{
    static const char *const names[] = {"cpu",           "limits.cpu",
                                        "limits.memory", "memory",
                                        "requests.cpu",  "requests.memory"};
    const kl__node *spec = kl__node_get(pod, "spec");
    const kl__node *own = kl__node_get(spec, "resources");

    if (kl__node_size(kl__node_get(own, "requests")) +
            kl__node_size(kl__node_get(own, "limits")) !=
        0) {
        return; /* the pod names the demand of all containers */
    }
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (kl__node_get(hard, names[i]) != NULL) {
            list_silent(spec, names[i], why);
        }
    }
}

/* --- One quota. ----------------------------------------------------------- */

/* What one write adds to one quota. */
typedef struct charge {
    const char *name; /* the quota's name */
    kl__node *hard;   /* the quota's limits that apply to the kind */
    const kl__node *used;
    kl__node *more; /* the increase */
} charge;

static kl_code forbid_charge(charging *self, const kl__buf *why, kl_error *err)
{
    return why->failed ? kl__sim_no_memory(err)
                       : kl__sim_admit_forbid(self->write, why->bytes, err);
}

/* Refuses the write while the quota's controller has not counted yet. */
static kl_code check_known(charging *self, const charge *to, kl_error *err)
{
    kl__buf why = {0}, names = {0};
    bool known = true;
    kl__node_iter iter = {0};
    const char *name;
    kl_code code = KL_OK;

    while (kl__node_next(to->hard, &iter, &name, NULL) != NULL) {
        known = known && kl__amount(to->used, name) != NULL;
        kl__buf_printf(&names, "%s%s", names.length != 0 ? "," : "", name);
    }
    if (!known) {
        kl__buf_printf(&why, "status unknown for quota: %s, resources: %s",
                       to->name, names.bytes);
        code = forbid_charge(self, &why, err);
    }
    kl__buf_deinit(&names);
    kl__buf_deinit(&why);
    return code;
}

static kl_code check_specified(charging *self, const charge *to, kl_error *err)
{
    kl__buf silent = {0}, why = {0};
    kl_code code = KL_OK;

    if (kl__sim_write_is(self->write, "", "pods")) {
        check_says(kl__sim_write_root(self->write), to->hard, &silent);
    }
    if (silent.length != 0 || silent.failed) {
        kl__buf_printf(&why, "failed quota: %s: must specify %s", to->name,
                       silent.bytes != NULL ? silent.bytes : "");
        why.failed |= silent.failed;
        code = forbid_charge(self, &why, err);
    }
    kl__buf_deinit(&silent);
    kl__buf_deinit(&why);
    return code;
}

/* Fills `to->more`: the whole usage of an object that is new (or newly in the
 * quota's scope), else its increase. Zeros are left out. */
static bool find_more(charging *self, charge *to, bool was_in)
{
    kl__node *all = kl__edit_copy(self->scratch, self->usage);
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;

    to->more = kl__edit_object(self->scratch);
    if (all == NULL || to->more == NULL ||
        (was_in && !kl__amounts_lower(self->scratch, all, self->before))) {
        return false;
    }
    while ((value = kl__node_next(all, &iter, &name, NULL)) != NULL) {
        const char *amount = kl__node_string(value, NULL);

        if (kl__node_get(to->hard, name) != NULL &&
            kl__quantity_compare(amount, "0") != 0 &&
            !kl__amount_put(self->scratch, to->more, name, amount)) {
            return false;
        }
    }
    return true;
}

/* Copies those amounts of `from` whose names are in `names`. */
static kl__node *pick_amounts(kl__edit *edit, const kl__node *from,
                              const kl__node *names)
{
    kl__node *list = kl__edit_object(edit);
    kl__node_iter iter = {0};
    const char *name;

    while (list != NULL && kl__node_next(names, &iter, &name, NULL) != NULL) {
        const char *amount = kl__amount(from, name);

        if (amount != NULL && !kl__amount_put(edit, list, name, amount)) {
            list = NULL;
        }
    }
    return list;
}

static kl_code refuse_excess(charging *self, const charge *to,
                             const kl__node *exceeded, kl_error *err)
{
    kl__edit *edit = self->scratch;
    const kl__node *used = pick_amounts(edit, to->used, exceeded);
    const kl__node *hard = pick_amounts(edit, to->hard, exceeded);
    kl__buf why = {0};
    kl_code code;

    kl__buf_printf(&why, "exceeded quota: %s, requested: ", to->name);
    kl__amounts_print(exceeded, &why);
    kl__buf_puts(&why, ", used: ");
    kl__amounts_print(used, &why);
    kl__buf_puts(&why, ", limited: ");
    kl__amounts_print(hard, &why);
    why.failed |= used == NULL || hard == NULL;
    code = forbid_charge(self, &why, err);
    kl__buf_deinit(&why);
    return code;
}

/* Answers 403 if the increase does not fit. */
static kl_code check_room(charging *self, const charge *to, kl_error *err)
{
    kl__node *exceeded = kl__edit_object(self->scratch);
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;

    while (exceeded != NULL &&
           (value = kl__node_next(to->more, &iter, &name, NULL)) != NULL) {
        const char *amount = kl__node_string(value, NULL);
        const char *used = kl__amount(to->used, name);
        char sum[KL__QUANTITY_SIZE];

        kl__quantity_add(used != NULL ? used : "0", amount, sum);
        if (kl__quantity_compare(sum, kl__amount(to->hard, name)) > 0 &&
            !kl__amount_put(self->scratch, exceeded, name, amount)) {
            exceeded = NULL;
        }
    }
    if (exceeded == NULL) {
        return kl__sim_no_memory(err);
    }
    return kl__node_size(exceeded) == 0
               ? KL_OK
               : refuse_excess(self, to, exceeded, err);
}

/* Compares the write with one quota; *counts: the quota is affected. */
static kl_code hold_charge(charging *self, const kl__node *quota, bool *counts,
                           kl_error *err)
{
    const kl__node *status = kl__node_get(quota, "status");
    const kl__node *spec = kl__node_get(quota, "spec");
    const kl__sim_write *write = self->write;
    charge to = {.name = kl__node_text(kl__node_get(quota, "metadata"), "name"),
                 .used = kl__node_get(status, "used")};
    bool was_in;
    kl_code code;

    *counts = false;
    to.hard = kl__sim_quota_mask(self->scratch, write->kind,
                                 kl__node_get(status, "hard"));
    if (to.hard == NULL) {
        return kl__sim_no_memory(err);
    }
    if (kl__node_size(to.hard) == 0 ||
        !kl__sim_quota_selects(spec, write->kind, kl__sim_write_root(write))) {
        return KL_OK;
    }
    was_in = write->old != NULL &&
             kl__sim_quota_selects(spec, write->kind, kl__sim_write_old(write));
    code = check_specified(self, &to, err);
    if (code == KL_OK && kl__sim_write_goes_on(write)) {
        code = check_known(self, &to, err);
    }
    if (code != KL_OK || !kl__sim_write_goes_on(write)) {
        return code;
    }
    if (!find_more(self, &to, was_in)) {
        return kl__sim_no_memory(err);
    }
    *counts = kl__node_size(to.more) != 0;
    return check_room(self, &to, err);
}

/* Adds the increase to a quota's status. */
static kl_code count_charge(charging *self, kl__sim_resource *quotas,
                            const kl__sim_state *state, kl__edit *edit,
                            kl_error *err)
{
    kl__node *status = kl__node_get(kl__edit_root(edit), "status");
    const kl__node *spec = kl__node_get(kl__edit_root(edit), "spec");
    const kl__sim_write *write = self->write;
    kl__node *used = kl__node_ensure(edit, status, "used");
    charge to = {0};

    to.hard = kl__sim_quota_mask(self->scratch, write->kind,
                                 kl__node_get(status, "hard"));
    if (to.hard == NULL || used == NULL ||
        !find_more(self, &to,
                   write->old != NULL &&
                       kl__sim_quota_selects(spec, write->kind,
                                             kl__sim_write_old(write))) ||
        !kl__amounts_add(edit, used, to.more)) {
        return kl__sim_no_memory(err);
    }
    return kl__sim_put_as(write->answer->sim, quotas, state, edit,
                          &kl__sim_server, err);
}

/* --- All quotas. ---------------------------------------------------------- */

/* Walks through the namespace's quotas: compares the write with each, or
 * (`counting`) adds it to each. */
static kl_code each_quota(charging *self, bool counting, kl_error *err)
{
    const char *name_space = self->write->answer->ask.route.name_space;
    kl__sim_resource *quotas =
        kl__sim_find(self->write->answer->sim, "", "resourcequotas");
    const kl__sim_node *node =
        kl__sim_tree_first_in(&quotas->items, name_space);
    kl_code code = KL_OK;

    while (node != NULL && code == KL_OK &&
           kl__sim_write_goes_on(self->write)) {
        kl__sim_state *state = kl__sim_state_ref(node->state);
        kl__edit *edit = kl__sim_state_edit(state, err);
        bool counts = false;

        code = edit != NULL
                   ? hold_charge(self, kl__edit_root(edit), &counts, err)
                   : KL_ENOMEM;
        if (code == KL_OK && counting && counts) {
            code = count_charge(self, quotas, state, edit, err);
        }
        node = kl__sim_tree_next_in(
            kl__sim_tree_find(&quotas->items, state->key), name_space);
        kl__edit_free(edit);
        kl__sim_state_unref(state);
    }
    return code;
}

kl_code kl__sim_quota_charge(kl__sim_write *write, kl_error *err)
{
    const kl__sim_resource *quotas =
        kl__sim_find(write->answer->sim, "", "resourcequotas");
    charging self = {.write = write};
    kl_code code = KL_OK;

    if (!concerns_quotas(write) ||
        kl__sim_tree_first_in(&quotas->items,
                              write->answer->ask.route.name_space) == NULL) {
        return KL_OK;
    }
    self.scratch = kl__edit_new(err);
    if (self.scratch == NULL) {
        return KL_ENOMEM;
    }
    self.usage = kl__sim_quota_usage(self.scratch, write->kind,
                                     kl__sim_write_root(write));
    self.before = write->old != NULL
                      ? kl__sim_quota_usage(self.scratch, write->kind,
                                            kl__sim_write_old(write))
                      : NULL;
    if (self.usage == NULL || (write->old != NULL && self.before == NULL)) {
        code = kl__sim_no_memory(err);
    }
    if (code == KL_OK) {
        code = each_quota(&self, false, err);
    }
    if (code == KL_OK && kl__sim_write_goes_on(write) &&
        !kl__sim_is_dry(write->answer)) {
        code = each_quota(&self, true, err);
    }
    kl__edit_free(self.scratch);
    return code;
}
