/*
 * sim_pod_profiles.c - checks of the baseline level: the AppArmor and seccomp
 * profiles that confine a process, in fields and in older annotations.
 */
#include "sim/core/admit/sim_pod_check.h"

#include "sim/core/schema/field_errors.h"

#include <stdio.h>
#include <string.h>

static bool begins_with(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

/* Adds `name="value"`, quoted as in Go. */
static void add_annotation(kl__pod_look *look, kl__pod_names *names,
                           const char *name, const char *value)
{
    kl__buf text = {0};

    kl__buf_printf(&text, "%s=", name);
    kl__go_quote(&text, value, strlen(value));
    kl__pod_text_add(look, names, kl__edit_take(look->scratch, &text));
}

/* True if a profile is set whose type is not allowed; the type is added to the
 * values. */
static bool is_bad(kl__pod_look *look, const kl__node *profile,
                   kl__pod_names *values)
{
    const char *type = kl__node_text(profile, "type");

    if (!kl__node_is(profile, KL_OBJECT) ||
        (type != NULL && (strcmp(type, "RuntimeDefault") == 0 ||
                          strcmp(type, "Localhost") == 0))) {
        return false;
    }
    kl__pod_name_add(look, values, type);
    return true;
}

/* --- AppArmor. ------------------------------------------------------------ */

static bool bad_apparmor(kl__pod_look *look, const kl__node *security,
                         const kl__node *container, kl__pod_names *values)
{
    (void)container;
    return is_bad(look, kl__node_get(security, "appArmorProfile"), values);
}

/* Finds profiles in annotations, as before version 1.30. */
static size_t find_profiles(kl__pod_look *look, kl__pod_names *values)
{
    kl__pod_names found = {0};
    kl__node_iter iter = {0};
    const kl__node *value;
    const char *name;
    size_t count;

    while ((value = kl__node_next(kl__node_get(look->metadata, "annotations"),
                                  &iter, &name, NULL)) != NULL) {
        const char *text = kl__node_string(value, NULL);

        if (begins_with(name,
                        "container.apparmor.security.beta.kubernetes.io/") &&
            text != NULL && *text != '\0' &&
            strcmp(text, "runtime/default") != 0 &&
            !begins_with(text, "localhost/")) {
            add_annotation(look, &found, name, text);
        }
    }
    kl__pod_names_sort(&found);
    count = found.count;
    for (size_t i = 0; i < count; i++) {
        kl__pod_name_add(look, values, found.items[i]);
    }
    kl__pod_names_free(&found);
    return count;
}

void kl__pod_check_apparmor(kl__pod_look *look)
{
    kl__pod_culprits culprits;
    bool found = kl__pod_find(look, bad_apparmor, true, &culprits);
    size_t annotations = find_profiles(look, &culprits.values);
    kl__buf detail = {0};

    if (found || annotations != 0) {
        kl__pod_culprits_put(&detail, &culprits);
        if (annotations != 0) {
            kl__buf_printf(
                &detail, "%s%s", found ? " and " : "",
                kl__pod_plural(annotations, "annotation", "annotations"));
        }
        kl__buf_puts(&detail, " must not set AppArmor profile type to ");
        kl__pod_names_put(&detail, &culprits.values);
        kl__pod_forbid(look,
                       kl__pod_plural(culprits.values.count,
                                      "forbidden AppArmor profile",
                                      "forbidden AppArmor profiles"),
                       &detail);
    }
    kl__pod_culprits_free(&culprits);
}

/* --- Seccomp. ------------------------------------------------------------- */

bool kl__pod_bad_seccomp(kl__pod_look *look, const kl__node *security,
                         const kl__node *container, kl__pod_names *values)
{
    (void)container;
    return is_bad(look, kl__node_get(security, "seccompProfile"), values);
}

void kl__pod_forbid_seccomp(kl__pod_look *look,
                            const kl__pod_culprits *culprits)
{
    kl__buf detail = {0};

    kl__pod_culprits_put(&detail, culprits);
    kl__buf_puts(&detail,
                 " must not set securityContext.seccompProfile.type to ");
    kl__pod_names_put(&detail, &culprits->values);
    kl__pod_forbid(look, "seccompProfile", &detail);
}

/* Adds an annotation from before version 1.19, if its profile is not
 * allowed. */
static void look_at_seccomp(kl__pod_look *look, kl__pod_names *found,
                            const char *name)
{
    const char *value =
        kl__node_text(kl__node_get(look->metadata, "annotations"), name);

    if (value != NULL && strcmp(value, "runtime/default") != 0 &&
        strcmp(value, "docker/default") != 0 &&
        !begins_with(value, "localhost/")) {
        add_annotation(look, found, name, value);
    }
}

static void check_seccomp_annotations(kl__pod_look *look)
{
    kl__pod_containers at = {0};
    const kl__node *container;
    kl__pod_names found = {0};
    kl__buf detail = {0};
    char name[400];

    look_at_seccomp(look, &found, "seccomp.security.alpha.kubernetes.io/pod");
    while ((container = kl__pod_next(look, &at)) != NULL) {
        const char *whose = kl__node_text(container, "name");

        snprintf(name, sizeof(name),
                 "container.seccomp.security.alpha.kubernetes.io/%s",
                 whose != NULL ? whose : "");
        look_at_seccomp(look, &found, name);
    }
    kl__pod_names_sort(&found);
    for (size_t i = 0; i < found.count; i++) {
        kl__buf_printf(&detail, "%s%s", i != 0 ? ", " : "forbidden ",
                       i != 0 ? ""
                              : kl__pod_plural(found.count, "annotation ",
                                               "annotations "));
        kl__buf_puts(&detail, found.items[i]);
    }
    kl__pod_forbid(look, "seccompProfile", &detail);
    kl__pod_names_free(&found);
}

void kl__pod_check_seccomp(kl__pod_look *look)
{
    kl__pod_culprits culprits;

    if (look->minor < 19) {
        check_seccomp_annotations(look);
        return;
    }
    if (kl__pod_find(look, kl__pod_bad_seccomp, true, &culprits)) {
        kl__pod_forbid_seccomp(look, &culprits);
    }
    kl__pod_culprits_free(&culprits);
}
