/*
 * definition_conversion.c - see definition_parts.h: checks spec.conversion,
 * which says how objects are converted between versions.
 */
#include "sim/core/schema/definition_parts.h"

#include <string.h>

static void check_webhook(kl__definition *self, const kl_value *webhook)
{
    const kl_value *client = kl_value_get(webhook, "clientConfig");
    const kl_value *versions =
        kl_value_get(webhook, "conversionReviewVersions");
    bool known = false;

    if (kl_value_type(client) != KL_OBJECT) {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".webhookClientConfig",
                           "required when strategy is set to Webhook");
    } else if ((kl_value_get(client, "url") == NULL) ==
               (kl_value_get(client, "service") == NULL)) {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".webhookClientConfig",
                           "exactly one of url or service is required");
    }
    if (kl_value_size(versions) == 0) {
        kl__definition_add(self, KL__FIELD_REQUIRED,
                           ".conversionReviewVersions", "");
        return;
    }
    for (size_t i = 0; i < kl_value_size(versions); i++) {
        const char *text = kl_value_string(kl_value_at(versions, i), NULL);

        known = known || (text != NULL && (strcmp(text, "v1") == 0 ||
                                           strcmp(text, "v1beta1") == 0));
    }
    if (!known) {
        kl__definition_refuse_value(self, ".conversionReviewVersions", versions,
                                    "must include at least one of v1, v1beta1");
    }
}

void kl__definition_conversion(kl__definition *self, const kl_value *conversion)
{
    const char *strategy = kl__definition_text(conversion, "strategy");
    const kl_value *webhook = kl_value_get(conversion, "webhook");
    size_t before;

    if (conversion == NULL) {
        return;
    }
    before = kl__definition_enter(self, ".conversion");
    if (*strategy == '\0') {
        kl__definition_add(self, KL__FIELD_REQUIRED, ".strategy", "");
    } else if (strcmp(strategy, "None") != 0 &&
               strcmp(strategy, "Webhook") != 0) {
        kl__definition_unsupported(self, ".strategy", strategy,
                                   "\"None\", \"Webhook\"");
    }
    if (strcmp(strategy, "Webhook") == 0) {
        check_webhook(self, webhook);
    } else {
        if (kl_value_get(webhook, "clientConfig") != NULL) {
            kl__definition_add(
                self, KL__FIELD_FORBIDDEN, ".webhookClientConfig",
                "should not be set when strategy is not set to Webhook");
        }
        if (kl_value_size(kl_value_get(webhook, "conversionReviewVersions")) !=
            0) {
            kl__definition_add(
                self, KL__FIELD_FORBIDDEN, ".conversionReviewVersions",
                "should not be set when strategy is not set to Webhook");
        }
    }
    kl__definition_leave(self, before);
}
