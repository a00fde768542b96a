/*
 * sim_rbac.c - see sim_rbac.h. Each decision reads all bindings as they are
 * now. Nothing is cached here, because a stored object (kl__sim_state) keeps
 * its parsed tree.
 */
#include "sim/core/access/sim_rbac.h"

#include "base/mem.h"
#include "base/str.h"
#include "kubelua/sim.h"
#include "sim/core/life/sim_settle.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/store/sim_core.h"

#include <stdio.h>
#include <string.h>

/* True if an array of strings contains `text`. */
static bool has_string(const kl_value *array, const char *text)
{
    kl_value_iter iter = {0};
    const kl_value *element;

    while ((element = kl_value_next(array, &iter, NULL)) != NULL) {
        const char *found = kl_value_string(element, NULL);

        if (found != NULL && strcmp(found, text) == 0) {
            return true;
        }
    }
    return false;
}

static bool has_or_all(const kl_value *array, const char *text)
{
    return has_string(array, "*") || has_string(array, text);
}

/* True if a rule's resources include the deed's. A rule names "pods",
 * "pods/log", or "(star)/scale": the subresource scale of any resource. */
static bool names_resource(const kl_value *resources, const kl__sim_deed *deed)
{
    char asked[600], any[300];

    if (deed->subresource == NULL) {
        return has_or_all(resources, deed->resource);
    }
    snprintf(asked, sizeof(asked), "%s/%s", deed->resource, deed->subresource);
    snprintf(any, sizeof(any), "*/%s", deed->subresource);
    return has_or_all(resources, asked) || has_string(resources, any);
}

/* True if a rule's URLs include the path. A star at the end of a URL matches
 * any rest of a path. */
static bool names_path(const kl_value *urls, const char *path)
{
    kl_value_iter iter = {0};
    const kl_value *element;

    while ((element = kl_value_next(urls, &iter, NULL)) != NULL) {
        size_t length;
        const char *url = kl_value_string(element, &length);

        if (url == NULL) {
            continue;
        }
        if (strcmp(url, path) == 0 || (length > 0 && url[length - 1] == '*' &&
                                       strncmp(url, path, length - 1) == 0)) {
            return true;
        }
    }
    return false;
}

/* True if a PolicyRule allows the deed. */
static bool sim_rule_allows(const kl_value *rule, const kl__sim_deed *deed)
{
    const kl_value *names = kl_value_get(rule, "resourceNames");

    if (!has_or_all(kl_value_get(rule, "verbs"), deed->verb)) {
        return false;
    }
    if (deed->path != NULL) {
        return names_path(kl_value_get(rule, "nonResourceURLs"), deed->path);
    }
    return has_or_all(kl_value_get(rule, "apiGroups"), deed->group) &&
           names_resource(kl_value_get(rule, "resources"), deed) &&
           (kl_value_size(names) == 0 ||
            (deed->name != NULL && has_string(names, deed->name)));
}

/* True if a subject of a binding names the user. `name_space` is the binding's,
 * or "" for a ClusterRoleBinding. */
static bool sim_subject_is(const kl_value *subject, const kl__sim_user *user,
                           const char *name_space)
{
    const char *kind = kl__sim_text(subject, "kind");
    const char *name = kl__sim_text(subject, "name");
    const char *within = kl__sim_text(subject, "namespace");
    char account[600];

    if (kind == NULL || name == NULL) {
        return false;
    }
    if (strcmp(kind, "User") == 0) {
        return strcmp(name, user->name) == 0;
    }
    if (strcmp(kind, "Group") == 0) {
        return kl__sim_user_is_in(user, name);
    }
    if (within == NULL || *within == '\0') {
        within = name_space;
    }
    snprintf(account, sizeof(account), "system:serviceaccount:%s:%s", within,
             name);
    return strcmp(kind, "ServiceAccount") == 0 &&
           strcmp(account, user->name) == 0;
}

bool kl__sim_labels_fit(const kl_value *selector, const kl_value *labels)
{
    const kl_value *wanted, *name;
    kl_value_iter iter = {0};

    while ((wanted = kl_value_next(kl_value_get(selector, "matchLabels"), &iter,
                                   &name)) != NULL) {
        const char *label = kl__sim_text(labels, kl_value_string(name, NULL));
        const char *value = kl_value_string(wanted, NULL);

        if (label == NULL || value == NULL || strcmp(label, value) != 0) {
            return false;
        }
    }
    return true;
}

/* ---- decisions ---- */

static const char rbac_group[] = "rbac.authorization.k8s.io";

/* A walk through the rules that a user is granted. It ends when `fn` returns
 * another code than KL_OK. */
typedef struct grant_walk {
    kl_sim *sim;
    const kl__sim_user *user;
    const char *name_space;
    /* The grant that the walk is at. */
    const kl__sim_state *binding;
    const char *binding_kind;
    const kl_value *subject;
    const kl_value *role; /* the roleRef */
    kl__sim_rule_fn fn;
    void *context;
    /* KL__SIM_WHY_SIZE bytes: names of roles that do not exist */
    char *missing;
} grant_walk;

static kl__sim_tree *items_of(kl_sim *sim, const char *plural)
{
    kl__sim_resource *resource = kl__sim_find(sim, rbac_group, plural);

    return resource != NULL ? &resource->items : NULL;
}

/* Calls fn with each element of `rules`. */
static kl_code each_rule(const grant_walk *walk, const kl_value *rules,
                         kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *rule;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (rule = kl_value_next(rules, &iter, NULL)) != NULL) {
        code = walk->fn(walk->context, rule, err);
    }
    return code;
}

/* Notes that the role of a binding does not exist, in a real server's words. */
static void note_missing(const grant_walk *walk, const char *kind,
                         const char *name)
{
    size_t used = strlen(walk->missing);
    bool is_cluster = strcmp(kind, "ClusterRole") == 0;

    snprintf(walk->missing + used, KL__SIM_WHY_SIZE - used,
             "%s%srole.%s \"%.200s\" not found", used != 0 ? ", " : "",
             is_cluster ? "cluster" : "", rbac_group, name);
}

/* Calls fn with the rules of the role that a binding refers to. */
static kl_code each_bound(grant_walk *walk, const char *name_space,
                          kl_error *err)
{
    const char *kind = kl__sim_text(walk->role, "kind");
    const char *name = kl__sim_text(walk->role, "name");
    bool is_cluster;
    kl__sim_node *node;
    const kl_value *root;
    char key[600];

    if (kind == NULL || name == NULL) {
        return KL_OK;
    }
    is_cluster = strcmp(kind, "ClusterRole") == 0;
    snprintf(key, sizeof(key), "%s%s%s", is_cluster ? "" : name_space,
             is_cluster ? "" : "/", name);
    node = kl__sim_tree_find(
        items_of(walk->sim, is_cluster ? "clusterroles" : "roles"), key);
    if (node == NULL) {
        note_missing(walk, kind, name);
        return KL_OK;
    }
    root = kl__sim_state_root(node->state, err);
    return root != NULL ? each_rule(walk, kl_value_get(root, "rules"), err)
                        : KL_ENOMEM;
}

/* Calls fn with the rules that one binding grants, if the user is among its
 * subjects. */
static kl_code each_binding(grant_walk *walk, kl__sim_state *state,
                            const char *name_space, kl_error *err)
{
    const kl_value *root = kl__sim_state_root(state, err);
    kl_value_iter iter = {0};

    if (root == NULL) {
        return KL_ENOMEM;
    }
    while ((walk->subject = kl_value_next(kl_value_get(root, "subjects"), &iter,
                                          NULL)) != NULL) {
        if (sim_subject_is(walk->subject, walk->user, name_space)) {
            walk->binding = state;
            walk->binding_kind =
                *name_space != '\0' ? "RoleBinding" : "ClusterRoleBinding";
            walk->role = kl_value_get(root, "roleRef");
            return each_bound(walk, name_space, err);
        }
    }
    return KL_OK;
}

/* Calls fn with all rules of a user: first those of the whole cluster, then
 * those of the namespace. */
static kl_code each_grant(grant_walk *walk, kl_error *err)
{
    const char *name_space = walk->name_space;
    size_t length = strlen(name_space);
    kl__sim_node *node = items_of(walk->sim, "clusterrolebindings")->first[0];
    kl_code code = KL_OK;
    char prefix[300];

    for (; code == KL_OK && node != NULL; node = node->next[0]) {
        code = each_binding(walk, node->state, "", err);
    }
    if (code != KL_OK || length == 0 || length + 2 > sizeof(prefix)) {
        return code;
    }
    snprintf(prefix, sizeof(prefix), "%s/", name_space);
    node = kl__sim_tree_seek(items_of(walk->sim, "rolebindings"), prefix);
    while (code == KL_OK && node != NULL &&
           strncmp(node->state->key, prefix, length + 1) == 0) {
        code = each_binding(walk, node->state, name_space, err);
        node = node->next[0];
    }
    return code;
}

/* --- One question. -------------------------------------------------------- */

typedef struct question {
    const grant_walk *walk;
    const kl__sim_deed *deed;
    char *why;
} question;

/* Writes "Group \"dev\"", or "ServiceAccount \"name/namespace\"". */
static void describe_subject(const grant_walk *walk, char *text, size_t size)
{
    const char *kind = kl__sim_text(walk->subject, "kind");
    const char *name = kl__sim_text(walk->subject, "name");
    const char *within = kl__sim_text(walk->subject, "namespace");
    bool is_account = strcmp(kind, "ServiceAccount") == 0;

    snprintf(text, size, "%s \"%.250s%s%.64s\"", kind, name,
             is_account ? "/" : "", is_account && within != NULL ? within : "");
}

static kl_code answer_question(void *context, const kl_value *rule,
                               kl_error *err)
{
    question *asked = context;
    const grant_walk *walk = asked->walk;
    const char *name = walk->binding->name;
    size_t length = kl__sim_state_namespace(walk->binding);
    char subject[400];

    (void)err;
    if (!sim_rule_allows(rule, asked->deed)) {
        return KL_OK;
    }
    describe_subject(walk, subject, sizeof(subject));
    snprintf(asked->why, KL__SIM_WHY_SIZE,
             "RBAC: allowed by %s \"%.200s%s%.*s\" of %s \"%.200s\" to %s",
             walk->binding_kind, name, length != 0 ? "/" : "", (int)length,
             walk->binding->key, kl__sim_text(walk->role, "kind"),
             kl__sim_text(walk->role, "name"), subject);
    return KL_EINVAL; /* a rule allows the deed: end the walk */
}

bool kl__sim_rbac_allows(kl_sim *sim, const kl__sim_user *user,
                         const kl__sim_deed *deed, char *why, kl_code *code,
                         kl_error *err)
{
    char missing[KL__SIM_WHY_SIZE] = "";
    grant_walk walk = {.sim = sim,
                       .user = user,
                       .name_space =
                           deed->name_space != NULL ? deed->name_space : "",
                       .missing = missing};
    question asked = {&walk, deed, why};

    *code = KL_OK;
    *why = '\0';
    if (kl__sim_user_is_in(user, KL__SIM_MASTERS)) {
        return true;
    }
    walk.fn = answer_question;
    walk.context = &asked;
    *code = each_grant(&walk, err);
    if (*code == KL_EINVAL) {
        *code = KL_OK;
        return true;
    }
    if (*missing != '\0') {
        bool is_several = strstr(missing, ", ") != NULL;

        snprintf(why, KL__SIM_WHY_SIZE, "RBAC: %s%.1000s%s",
                 is_several ? "[" : "", missing, is_several ? "]" : "");
    }
    return false;
}

kl_code kl__sim_rbac_each(kl_sim *sim, const kl__sim_user *user,
                          const char *name_space, kl__sim_rule_fn fn,
                          void *context, kl_error *err)
{
    char missing[KL__SIM_WHY_SIZE] = "";
    grant_walk walk = {.sim = sim,
                       .user = user,
                       .name_space = name_space,
                       .fn = fn,
                       .context = context,
                       .missing = missing};

    return each_grant(&walk, err);
}

/* ---- the roles and bindings of a new cluster ---- */

static kl_code load_row(kl_sim *sim, const kl__sim_rbac_row *row, kl_error *err)
{
    char *text = kl__strprintf(
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: %s, metadata: {name: "
        "'%s', labels: {kubernetes.io/bootstrapping: rbac-defaults%s}, "
        "annotations: {rbac.authorization.kubernetes.io/autoupdate: 'true'}}, "
        "%s",
        row->kind, row->name, row->labels, row->rest);
    kl_code code =
        text != NULL ? kl_sim_load(sim, text, strlen(text), err)
                     : kl_error_set(err, KL_ENOMEM, "out of memory for a role");

    kl__free(text);
    return code;
}

kl_code kl__sim_rbac_bootstrap(kl_sim *sim, kl_error *err)
{
    const kl__sim_rbac_row *row = kl__sim_rbac_rows;
    kl_code code = KL_OK;

    for (; code == KL_OK && row->kind != NULL; row++) {
        code = load_row(sim, row, err);
    }
    if (code == KL_OK && !sim->no_controllers) {
        kl__mutex_lock(&sim->mutex);
        code = kl__sim_settle(sim, err); /* aggregated roles get their rules */
        kl__mutex_unlock(&sim->mutex);
    }
    return code;
}
