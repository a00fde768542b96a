/*
 * discovery_parse.c - see discovery_parse.h. Subresources are skipped, and so
 * are parents that the server has only for their subresources.
 */
#include "api/discovery_parse.h"

#include <string.h>

const char *kl__discovery_text(const kl_value *object, const char *name)
{
    const kl_value *value = kl_value_get(object, name);
    const char *text =
        kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL) : NULL;

    return text != NULL ? text : "";
}

static bool is_watchable(const kl_value *verbs)
{
    bool can_list = false, can_watch = false;
    kl_value_iter iter = {0};
    const kl_value *verb;

    while ((verb = kl_value_next(verbs, &iter, NULL)) != NULL) {
        const char *text = kl_value_string(verb, NULL);

        can_list = can_list || (text != NULL && strcmp(text, "list") == 0);
        can_watch = can_watch || (text != NULL && strcmp(text, "watch") == 0);
    }
    return can_list && can_watch;
}

/* Adds a listing, with the verbs and short names in `resource`. */
static kl_code add_listing(kl__catalogue *catalogue, kl__listing *listing,
                           const kl_value *resource, kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *name;
    kl_code code;

    if (listing->plural[0] == '\0' || listing->kind[0] == '\0' ||
        strchr(listing->plural, '/') != NULL) {
        return KL_OK;
    }
    listing->watchable = is_watchable(kl_value_get(resource, "verbs"));
    code = kl__catalogue_add(catalogue, listing, err);
    while (code == KL_OK &&
           (name = kl_value_next(kl_value_get(resource, "shortNames"), &iter,
                                 NULL)) != NULL) {
        if (kl_value_type(name) == KL_STRING) {
            code = kl__catalogue_add_short(catalogue,
                                           kl_value_string(name, NULL), err);
        }
    }
    return code;
}

kl_code kl__discovery_add_version(kl__catalogue *catalogue, const char *group,
                                  const char *version, const kl_value *list,
                                  kl_error *err)
{
    const kl_value *resources = kl_value_get(list, "resources"), *resource;
    kl_value_iter iter = {0};
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (resource = kl_value_next(resources, &iter, NULL)) != NULL) {
        kl__listing listing = {
            .group = group,
            .version = version,
            .plural = kl__discovery_text(resource, "name"),
            .singular = kl__discovery_text(resource, "singularName"),
            .kind = kl__discovery_text(resource, "kind"),
            .namespaced = kl_value_bool(kl_value_get(resource, "namespaced"))};

        code = add_listing(catalogue, &listing, resource, err);
    }
    return code;
}

/* Adds one version of a group in the aggregated form. If its API server is down
 * ("stale"), it has that server's last answer, or nothing. */
static kl_code add_aggregated(kl__catalogue *catalogue,
                              const kl__catalogue *former, const char *group,
                              const kl_value *served, kl_error *err)
{
    const char *version = kl__discovery_text(served, "version");
    const kl_value *resources = kl_value_get(served, "resources"), *resource;
    bool stale = strcmp(kl__discovery_text(served, "freshness"), "Stale") == 0;
    kl_value_iter iter = {0};
    kl_code code = KL_OK;

    if (stale) {
        code = kl__catalogue_add_unreachable(catalogue, group, version, err);
    }
    if (stale && code == KL_OK && kl_value_size(resources) == 0) {
        code = kl__catalogue_keep(catalogue, former, group, version, err);
    }
    while (code == KL_OK &&
           (resource = kl_value_next(resources, &iter, NULL)) != NULL) {
        const kl_value *type = kl_value_get(resource, "responseKind");
        kl__listing listing = {
            .group = group,
            .version = version,
            .plural = kl__discovery_text(resource, "resource"),
            .singular = kl__discovery_text(resource, "singularResource"),
            .kind = kl__discovery_text(type, "kind"),
            .namespaced = strcmp(kl__discovery_text(resource, "scope"),
                                 "Namespaced") == 0,
            .stale = stale};

        code = add_listing(catalogue, &listing, resource, err);
    }
    return code;
}

kl_code kl__discovery_add_groups(kl__catalogue *catalogue,
                                 const kl__catalogue *former,
                                 const kl_value *list, kl_error *err)
{
    const kl_value *groups = kl_value_get(list, "items"), *group;
    kl_value_iter outer = {0};
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (group = kl_value_next(groups, &outer, NULL)) != NULL) {
        const char *name =
            kl__discovery_text(kl_value_get(group, "metadata"), "name");
        const kl_value *versions = kl_value_get(group, "versions"), *version;
        kl_value_iter inner = {0};

        while (code == KL_OK &&
               (version = kl_value_next(versions, &inner, NULL)) != NULL) {
            code = add_aggregated(catalogue, former, name, version, err);
        }
    }
    return code;
}
