/*
 * sim_validate.c - a stage of a write: runs all checks of an object: name,
 * labels and metadata first, then the checks of its kind or of its schema. One
 * answer has the causes of all checks.
 */
#include "sim/core/write/sim_pipeline.h"

#include "sim/core/answer/sim_labels.h"
#include "sim/core/write/sim_kinds_own.h"
#include "sim/core/write/sim_write.h"

#include <stdio.h>
#include <string.h>

/* Adds causes for new finalizers of an object that is being deleted: then they
 * may only be removed. */
static void check_finalizers(kl__sim_write *write, const kl__node *old)
{
    const kl__node *finalizers =
        kl__node_get(kl__sim_write_metadata(write), "finalizers");
    const kl__node *element;
    kl__node_iter iter = {0};

    while ((element = kl__node_next(finalizers, &iter, NULL, NULL)) != NULL) {
        const char *text = kl__node_string(element, NULL);

        if (text != NULL &&
            !kl__node_holds(kl__node_get(old, "finalizers"), text)) {
            kl__sim_cause_add(&write->invalid, "FieldValueForbidden",
                              "metadata.finalizers",
                              "Forbidden: no new finalizers can be added if "
                              "the object is being deleted, found new "
                              "finalizers []string{\"%s\"}",
                              text);
        }
    }
}

/* Ends the validation: answers 422 if there are causes. */
static kl_code answer_causes(kl__sim_write *write, kl_error *err)
{
    const kl__sim_kind *kind = write->resource->kind;
    char qualified[512];

    if (write->errors.failed) {
        return kl__sim_no_memory(err);
    }
    if (write->invalid.cause_count + write->errors.count == 0) {
        return KL_OK;
    }
    write->invalid.errors = &write->errors;
    write->invalid.name = kl__node_text(kl__sim_write_metadata(write), "name");
    snprintf(qualified, sizeof(qualified), "%s%s%s", kind->kind,
             *kind->group != '\0' ? "." : "", kind->group);
    return kl__sim_refuse_invalid(write->answer, &write->invalid, qualified,
                                  err);
}

kl_code kl__sim_validate(kl__sim_write *write, kl_error *err)
{
    const kl__node *metadata = kl__sim_write_metadata(write);
    const kl__node *old = kl__node_get(kl__sim_write_old(write), "metadata");

    if (write->old == NULL) {
        kl__sim_check_name(write->kind, kl__node_text(metadata, "name"),
                           &write->invalid);
    } else if (kl__node_text(old, "deletionTimestamp") != NULL &&
               !write->answer->loading) {
        check_finalizers(write, old);
    }
    kl__sim_check_labels(metadata, &write->invalid);
    if (!write->answer->loading) {
        kl__sim_check_metadata(write);
        kl__sim_validate_kind(write);
    }
    if (write->answer->sim->hooks->custom_validate(write, err) != KL_OK ||
        (kl__sim_is_crd(write->kind) && !kl__sim_write_is_status(write) &&
         write->answer->sim->hooks->crd_validate(write, err) != KL_OK)) {
        return KL_ENOMEM;
    }
    return answer_causes(write, err);
}
