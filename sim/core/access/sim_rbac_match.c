/*
 * sim_rbac_match.c - see sim_rbac_match.h.
 */
#include "sim/core/access/sim_rbac_match.h"

#include "sim/core/store/sim_compose.h"

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

bool kl__sim_rule_allows(const kl_value *rule, const kl__sim_deed *deed)
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

bool kl__sim_subject_is(const kl_value *subject, const kl__sim_user *user,
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
