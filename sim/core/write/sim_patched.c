/*
 * sim_patched.c - see sim_patched.h.
 */
#include "sim/core/write/sim_patched.h"

#include "base/mem.h"
#include "sim/core/patch/field_set.h"
#include "sim/core/patch/go_text.h"

#include <string.h>
#include <strings.h>

bool kl__sim_is_apply(const kl__sim_write *write)
{
    static const char media[] = "application/apply-patch+yaml";
    const kl__sim_ask *ask = &write->answer->ask;
    size_t length = strcspn(ask->content_type, "; ");

    return write->operation == KL__SIM_PATCH && length == sizeof(media) - 1 &&
           strncmp(ask->content_type, media, length) == 0;
}

bool kl__sim_is_strategic(const kl__sim_write *write)
{
    return write->operation == KL__SIM_PATCH &&
           strncasecmp(write->answer->ask.content_type, "application/strategic",
                       21) == 0;
}

/* Sorts the members of each object that the patch has changed, as members of Go
 * maps are. Unchanged objects keep their order. False: out of memory. */
static bool sort_reached(kl__edit *edit, kl__node *node, const kl__node *old)
{
    kl__node_iter iter = {0};
    kl__node *value;
    const char *name;
    size_t length;

    if (!kl__node_is(node, KL_OBJECT) || !kl__node_is(old, KL_OBJECT) ||
        kl__node_equal(node, old)) {
        return true;
    }
    if (!kl__fields_sort(edit, node)) {
        return false;
    }
    while ((value = kl__node_next(node, &iter, &name, &length)) != NULL) {
        if (!sort_reached(edit, value, kl__node_get_n(old, name, length))) {
            return false;
        }
    }
    return true;
}

/* The text that a refusal of a patch shows: a strategic patch itself; for other
 * types, the object that the patch has made. NULL: out of memory. */
static char *show_patched(kl__sim_write *write)
{
    kl__node *root = kl__sim_write_root(write);

    if (kl__sim_is_strategic(write)) {
        kl__node *patch =
            kl__edit_value(write->edit, kl_doc_root(write->answer->ask.doc));

        return patch != NULL ? kl__go_text(patch) : NULL;
    }
    root = kl__edit_copy(write->edit, root);
    if (root == NULL || !kl__fields_sort(write->edit, root) ||
        !sort_reached(write->edit, root, kl__sim_write_old(write))) {
        return NULL;
    }
    return kl__node_json(root, NULL, NULL);
}

kl_code kl__sim_refuse_patched(kl__sim_write *write, const char *why,
                               kl_error *err)
{
    kl__field_errors errors = {0};
    kl__sim_status status = {.errors = &errors};
    char *shown = show_patched(write);
    kl_code code = KL_ENOMEM;

    if (shown != NULL) {
        kl__field_invalid(&errors, "patch", shown, "%s", why);
        code = errors.failed
                   ? KL_ENOMEM
                   : kl__sim_refuse_invalid(write->answer, &status, "", err);
    }
    kl__field_errors_deinit(&errors);
    kl__free(shown);
    return code == KL_ENOMEM ? kl__sim_no_memory(err) : code;
}
