/*
 * sim_escalation.c - with RBAC no user can grant rights that the user lacks: to
 * write a role, a user needs all rights of that role, or the verb `escalate`;
 * to write a binding, all rights of the role it names, or the verb `bind`. A
 * stage of sim_pipeline.c.
 */
#include "sim/core/access/sim_access.h"

#include "base/mem.h"
#include "base/str.h"
#include "sim/core/schema/field_errors.h"
#include "sim/core/access/sim_rbac.h"
#include "sim/core/admit/sim_admit.h"
#include "sim/core/store/sim_compose.h"
#include "sim/core/write/sim_kinds_own.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char GROUP[] = "rbac.authorization.k8s.io";

/* Verbs that the user lacks for one resource or one URL; texts are borrowed. */
typedef struct gap {
    const char *group;
    const char *resource; /* NULL: it is a URL */
    const char *name;     /* NULL: all names */
    const char *url;
    kl__buf verbs; /* "\"get\" \"list\"" */
} gap;

typedef struct granting {
    kl__sim_answer *answer;
    const kl__sim_user *user;
    gap *gaps;
    size_t count;
    char why[KL__SIM_WHY_SIZE]; /* problems found in the user's own roles */
    bool failed;
} granting;

/* --- Find what is missing. ------------------------------------------------ */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* Adds a missing verb. Verbs of one resource share one entry; each URL has an
 * entry of its own, as in the message of a real server. */
static void note_gap(granting *self, const gap *what, const char *verb)
{
    gap *more;

    for (size_t i = 0; what->url == NULL && i < self->count; i++) {
        gap *known = &self->gaps[i];

        if (known->url == NULL && is_same_text(known->group, what->group) &&
            is_same_text(known->resource, what->resource) &&
            is_same_text(known->name, what->name)) {
            kl__buf_putc(&known->verbs, ' ');
            kl__go_quote(&known->verbs, verb, strlen(verb));
            return;
        }
    }
    more = kl__realloc(self->gaps, (self->count + 1) * sizeof(*more));
    if (more == NULL) {
        self->failed = true;
        return;
    }
    self->gaps = more;
    self->gaps[self->count] = *what;
    kl__go_quote(&self->gaps[self->count++].verbs, verb, strlen(verb));
}

static bool is_held(granting *self, const kl__sim_deed *deed)
{
    kl_code code = KL_OK;
    bool held = kl__sim_rbac_allows(self->answer->sim, self->user, deed,
                                    self->why, &code, NULL);

    self->failed |= code != KL_OK;
    return held;
}

/* Notes a gap unless the user has this verb on the resource or URL in
 * `what`. */
static void hold_verb(granting *self, const gap *what, const char *verb)
{
    kl__sim_deed deed = {.verb = verb,
                         .name_space = self->answer->ask.route.name_space,
                         .group = what->group,
                         .name = what->name,
                         .path = what->url};
    char resource[300] = "";
    const char *slash =
        what->resource != NULL ? strchr(what->resource, '/') : NULL;

    if (what->resource != NULL) {
        snprintf(resource, sizeof(resource), "%.*s",
                 (int)(slash != NULL ? (size_t)(slash - what->resource)
                                     : strlen(what->resource)),
                 what->resource);
        deed.resource = resource;
        deed.subresource = slash != NULL ? slash + 1 : NULL;
    }
    if (!is_held(self, &deed)) {
        note_gap(self, what, verb);
    }
}

static void hold_verbs(granting *self, const kl_value *rule, const gap *what)
{
    kl_value_iter iter = {0};
    const kl_value *verb;

    while ((verb = kl_value_next(kl_value_get(rule, "verbs"), &iter, NULL)) !=
           NULL) {
        hold_verb(self, what, kl_value_string(verb, NULL));
    }
}

static void hold_names(granting *self, const kl_value *rule, gap what)
{
    const kl_value *names = kl_value_get(rule, "resourceNames"), *name;
    kl_value_iter iter = {0};

    if (kl_value_size(names) == 0) {
        hold_verbs(self, rule, &what);
        return;
    }
    while ((name = kl_value_next(names, &iter, NULL)) != NULL) {
        what.name = kl_value_string(name, NULL);
        hold_verbs(self, rule, &what);
    }
}

static void hold_rule(granting *self, const kl_value *rule)
{
    const kl_value *groups = kl_value_get(rule, "apiGroups"), *group;
    kl_value_iter iter = {0}, urls = {0};
    const kl_value *url;

    while ((group = kl_value_next(groups, &iter, NULL)) != NULL) {
        kl_value_iter inner = {0};
        const kl_value *resource;

        while ((resource = kl_value_next(kl_value_get(rule, "resources"),
                                         &inner, NULL)) != NULL) {
            hold_names(self, rule,
                       (gap){.group = kl_value_string(group, NULL),
                             .resource = kl_value_string(resource, NULL)});
        }
    }
    while ((url = kl_value_next(kl_value_get(rule, "nonResourceURLs"), &urls,
                                NULL)) != NULL) {
        hold_verbs(self, rule, &(gap){.url = kl_value_string(url, NULL)});
    }
}

static void hold_rules(granting *self, const kl_value *rules)
{
    kl_value_iter iter = {0};
    const kl_value *rule;

    while ((rule = kl_value_next(rules, &iter, NULL)) != NULL) {
        hold_rule(self, rule);
    }
}

/* --- Describe what is missing. -------------------------------------------- */

/* Appends, for example, "Resources:["pods"], ". */
static void put_part(kl__buf *out, const char *name, const char *text)
{
    if (text != NULL) {
        kl__buf_printf(out, "%s:[", name);
        kl__go_quote(out, text, strlen(text));
        kl__buf_puts(out, "], ");
    }
}

static char *describe_gap(const gap *what)
{
    kl__buf out = {0};
    char *text;

    kl__buf_putc(&out, '{');
    put_part(&out, "APIGroups", what->url == NULL ? what->group : NULL);
    put_part(&out, "Resources", what->resource);
    put_part(&out, "NonResourceURLs", what->url);
    put_part(&out, "ResourceNames", what->name);
    kl__buf_printf(&out, "Verbs:[%s]}",
                   what->verbs.bytes != NULL ? what->verbs.bytes : "");
    text = kl__buf_take(&out, NULL);
    kl__buf_deinit(&out);
    return text;
}

static int compare_gap_texts(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Appends a line for each gap, without duplicates, sorted by text. */
static void list_gaps(const granting *self, kl__buf *out)
{
    char **lines = kl__calloc(self->count, sizeof(*lines));

    for (size_t i = 0; lines != NULL && i < self->count; i++) {
        lines[i] = describe_gap(&self->gaps[i]);
        out->failed |= lines[i] == NULL;
    }
    if (lines == NULL || out->failed) {
        out->failed = true;
    } else {
        qsort(lines, self->count, sizeof(*lines), compare_gap_texts);
    }
    for (size_t i = 0; lines != NULL && i < self->count; i++) {
        if (!out->failed && (i == 0 || strcmp(lines[i], lines[i - 1]) != 0)) {
            kl__buf_printf(out, "\n%s", lines[i]);
        }
    }
    for (size_t i = 0; lines != NULL && i < self->count; i++) {
        kl__free(lines[i]);
    }
    kl__free(lines);
}

static kl_code refuse_gaps(kl__sim_write *write, const granting *self,
                           kl_error *err)
{
    static const char prefix[] = "RBAC: ";
    kl__buf out = {0};
    kl_code code;

    kl__buf_puts(&out, "user ");
    kl__go_quote(&out, self->user->name, strlen(self->user->name));
    kl__buf_puts(&out, " (groups=[");
    for (size_t i = 0; i < self->user->group_count; i++) {
        const char *group = self->user->groups[i];

        kl__buf_puts(&out, i != 0 ? " " : "");
        kl__go_quote(&out, group, strlen(group));
    }
    kl__buf_puts(&out, "]) is attempting to grant RBAC permissions not "
                       "currently held:");
    list_gaps(self, &out);
    if (*self->why != '\0') {
        kl__buf_printf(&out, "; resolution errors: [%s]",
                       self->why + sizeof(prefix) - 1);
    }
    code = out.failed || self->failed
               ? kl__sim_no_memory(err)
               : kl__sim_admit_forbid(write, out.bytes, err);
    kl__buf_deinit(&out);
    return code;
}

/* Answers 403 unless the user has all of the rules. */
static kl_code confirm_rules(kl__sim_write *write, const kl_value *rules,
                             kl_error *err)
{
    granting self = {.answer = write->answer,
                     .user = kl__sim_who(write->answer)};
    kl_code code;

    hold_rules(&self, rules);
    code =
        self.count != 0 || self.failed ? refuse_gaps(write, &self, err) : KL_OK;
    for (size_t i = 0; i < self.count; i++) {
        kl__buf_deinit(&self.gaps[i].verbs);
    }
    kl__free(self.gaps);
    return code;
}

/* --- Roles. --------------------------------------------------------------- */

/* True if the user may do `verb` (escalate, bind) with a role, whatever rights
 * the role gives. */
static bool may_do(kl__sim_write *write, const char *verb, const char *plural,
                   const char *name)
{
    granting self = {.answer = write->answer,
                     .user = kl__sim_who(write->answer)};
    const kl__sim_deed deed = {.verb = verb,
                               .name_space =
                                   write->answer->ask.route.name_space,
                               .group = GROUP,
                               .resource = plural,
                               .name = name};

    return is_held(&self, &deed);
}

static bool has_aggregation_rule(const kl__node *root)
{
    return kl__node_size(kl__node_get(kl__node_get(root, "aggregationRule"),
                                      "clusterRoleSelectors")) != 0;
}

/* Only a user with all rights may write an aggregationRule, because with it
 * other users can add rules to the role later. */
static kl_code check_aggregation(kl__sim_write *write, kl_error *err)
{
    static const char *const urls[] = {NULL, "*"};

    if (!has_aggregation_rule(kl__sim_write_root(write)) &&
        !has_aggregation_rule(kl__sim_write_old(write))) {
        return KL_OK;
    }
    for (size_t i = 0; i < 2; i++) {
        granting self = {.answer = write->answer,
                         .user = kl__sim_who(write->answer)};
        const kl__sim_deed all = {
            .verb = "*", .group = "*", .resource = "*", .path = urls[i]};

        if (!is_held(&self, &all)) {
            return kl__sim_admit_forbid(write,
                                        "must have cluster-admin privileges to "
                                        "use the aggregationRule",
                                        err);
        }
    }
    return KL_OK;
}

static kl_code check_role(kl__sim_write *write, kl_error *err)
{
    kl_doc *doc;
    kl_code code;

    if (may_do(write, "escalate", write->kind->plural,
               write->answer->ask.route.name)) {
        return KL_OK;
    }
    doc = kl__edit_doc(write->edit, err);
    code =
        doc != NULL
            ? confirm_rules(write, kl_value_get(kl_doc_root(doc), "rules"), err)
            : KL_ENOMEM;
    kl_doc_unref(doc);
    return code == KL_OK && kl__sim_write_goes_on(write)
               ? check_aggregation(write, err)
               : code;
}

/* --- Bindings. ------------------------------------------------------------ */

static kl_code check_binding(kl__sim_write *write, kl_error *err)
{
    const kl__node *ref = kl__node_get(kl__sim_write_root(write), "roleRef");
    const char *kind = kl__node_text(ref, "kind");
    const char *name = kl__node_text(ref, "name");
    bool is_cluster = kind != NULL && strcmp(kind, "ClusterRole") == 0;
    const char *plural = is_cluster ? "clusterroles" : "roles";
    kl__sim_resource *roles;
    kl__sim_node *node;
    const kl_value *root;
    char *key;

    if (kind == NULL || (!is_cluster && strcmp(kind, "Role") != 0)) {
        return kl__sim_refuse(write->answer, 500, NULL, err,
                              "unsupported role reference kind: \"%.100s\"",
                              kind != NULL ? kind : "");
    }
    if (name == NULL || may_do(write, "bind", plural, name)) {
        return KL_OK;
    }
    roles = kl__sim_find(write->answer->sim, GROUP, plural);
    key = kl__sim_key(is_cluster ? NULL : write->answer->ask.route.name_space,
                      name);
    if (key == NULL) {
        return kl__sim_no_memory(err);
    }
    node = kl__sim_tree_find(&roles->items, key);
    kl__free(key);
    if (node == NULL) {
        /* Here a real server names the binding's kind, not the role's. */
        return kl__sim_refuse_missing(
            write->answer, is_cluster ? write->kind : roles->kind, name, err);
    }
    root = kl__sim_state_root(node->state, err);
    return root != NULL ? confirm_rules(write, kl_value_get(root, "rules"), err)
                        : KL_ENOMEM;
}

/* --- Roles and bindings. -------------------------------------------------- */

/* True if an update changes only members that the garbage collector writes. */
static bool is_collecting(const kl__sim_write *write)
{
    static const char *const metadata[] = {"metadata", NULL};
    static const char *const collected[] = {"ownerReferences", "finalizers",
                                            "managedFields", "resourceVersion",
                                            NULL};
    const kl__node *old = kl__sim_write_old(write);
    const kl__node *now = kl__sim_write_root(write);

    return old != NULL && kl__node_equal_but(old, now, metadata) &&
           kl__node_equal_but(kl__node_get(old, "metadata"),
                              kl__node_get(now, "metadata"), collected);
}

kl_code kl__sim_admit_rights(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *kind = write->kind;
    const kl__sim_answer *answer = write->answer;

    if (!answer->sim->has_rbac || answer->loading ||
        strcmp(kind->group, GROUP) != 0 ||
        kl__sim_user_is_in(kl__sim_who(answer), KL__SIM_MASTERS) ||
        is_collecting(write)) {
        return KL_OK;
    }
    return strstr(kind->plural, "bindings") != NULL ? check_binding(write, err)
                                                    : check_role(write, err);
}
