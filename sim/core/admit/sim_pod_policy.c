/*
 * sim_pod_policy.c - see sim_pod_policy.h.
 */
#include "sim/core/admit/sim_pod_policy.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 };

static const char *const levels[] = {"privileged", "baseline", "restricted"};

static bool read_level(const char *text, kl__pod_level *level)
{
    for (size_t i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
        if (strcmp(levels[i], text) == 0) {
            *level = (kl__pod_level)i;
            return true;
        }
    }
    return false;
}

/* Reads "latest" or "v1.30"; leading zeros are invalid. */
static bool read_version(const char *text, int64_t *minor)
{
    const char *digits = text + 3;

    *minor = KL__POD_LATEST;
    if (strcmp(text, "latest") == 0) {
        return true;
    }
    if (strncmp(text, "v1.", 3) != 0 || *digits == '\0' ||
        digits[strspn(digits, "0123456789")] != '\0' ||
        (*digits == '0' && digits[1] != '\0')) {
        return false;
    }
    errno = 0;
    *minor = strtoll(digits, NULL, 10);
    return errno == 0;
}

/* The value of a mode's label ("enforce", "enforce-version"); NULL: not set. */
static const char *label_of(const kl__node *labels, const char *mode,
                            const char *which, char name[NAME_SIZE])
{
    snprintf(name, NAME_SIZE, "pod-security.kubernetes.io/%s%s", mode, which);
    return kl__node_text(labels, name);
}

static void add_error(kl__field_errors *errors, const char *name,
                      const char *value, const char *why)
{
    char field[NAME_SIZE + 24];

    snprintf(field, sizeof(field), "metadata.labels[%s]", name);
    kl__field_invalid(errors, field, value, "%s", why);
}

/* Reads a mode's labels into `policy`; an invalid level becomes `instead`. True
 * if there is a valid level. */
static bool read_mode(const kl__node *labels, const char *mode,
                      kl__pod_level instead, kl__pod_policy *policy,
                      kl__field_errors *errors)
{
    char name[NAME_SIZE];
    const char *level = label_of(labels, mode, "", name), *version;
    bool is_level = level != NULL && read_level(level, &policy->level);

    if (level != NULL && !is_level) {
        policy->level = instead;
        add_error(errors, name, level,
                  "must be one of privileged, baseline, restricted");
    }
    version = label_of(labels, mode, "-version", name);
    if (version != NULL && !read_version(version, &policy->minor)) {
        policy->minor = KL__POD_LATEST;
        add_error(errors, name, version, "must be \"latest\" or \"v1.x\"");
    }
    return is_level;
}

kl__pod_policies kl__pod_policies_of(const kl__node *labels,
                                     kl__field_errors *errors)
{
    const kl__pod_policy nothing = {KL__POD_PRIVILEGED, KL__POD_LATEST};
    kl__pod_policies self = {nothing, nothing};
    kl__pod_policy audit = nothing;
    char name[NAME_SIZE];
    bool enforces =
        read_mode(labels, "enforce", KL__POD_RESTRICTED, &self.enforce, errors);

    /* The simulator writes no audit log, but invalid labels are refused. */
    read_mode(labels, "audit", KL__POD_PRIVILEGED, &audit, errors);
    read_mode(labels, "warn", KL__POD_PRIVILEGED, &self.warn, errors);
    if (enforces && label_of(labels, "warn", "", name) == NULL &&
        self.enforce.level > self.warn.level) {
        self.warn.level = self.enforce.level;
        if (label_of(labels, "warn", "-version", name) == NULL) {
            self.warn.minor = self.enforce.minor;
        }
    }
    return self;
}

bool kl__pod_policy_equal(kl__pod_policy a, kl__pod_policy b)
{
    return a.level == b.level && a.minor == b.minor;
}

void kl__pod_policy_put(kl__buf *out, kl__pod_policy policy)
{
    kl__buf_puts(out, levels[policy.level]);
    if (policy.minor == KL__POD_LATEST) {
        kl__buf_puts(out, ":latest");
    } else {
        kl__buf_printf(out, ":v1.%" PRId64, policy.minor);
    }
}
