/*
 * sim_admit.c - the two admission stages of a write: kube-apiserver's plugins
 * in its order. The first stage may change the object; the second only checks
 * it.
 */
#include "sim/core/admit/sim_admit.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

static const kl__sim_step changing[] = {
    kl__sim_admit_node,          kl__sim_admit_priority,
    kl__sim_admit_tolerations,   kl__sim_admit_storage_class,
    kl__sim_admit_protection,    kl__sim_admit_runtime,
    kl__sim_admit_ingress_class,
};

static const kl__sim_step looking[] = {
    kl__sim_admit_default_class,
    kl__sim_admit_resize,
};

kl_code kl__sim_admit(kl__sim_write *write, kl_error *err)
{
    return kl__sim_write_is_custom(write)
               ? KL_OK
               : kl__sim_write_steps(write, changing,
                                     sizeof(changing) / sizeof(changing[0]),
                                     err);
}

kl_code kl__sim_admit_valid(kl__sim_write *write, kl_error *err)
{
    write->generates = false; /* by now the object has its name */
    return kl__sim_write_steps(write, looking,
                               sizeof(looking) / sizeof(looking[0]), err);
}

/* Appends the name of an object as admission sees it: at that time a name from
 * generateName is not made yet. */
static void put_name(const kl__sim_write *write, kl__buf *out)
{
    const kl__node *metadata = kl__sim_write_metadata(write);
    const char *name = kl__node_text(metadata, "name");
    const char *base = kl__node_text(metadata, "generateName");

    if (write->generates && base != NULL) {
        name = base;
    }
    kl__buf_puts(out, name != NULL && *name != '\0' ? name : "Unknown");
}

kl_code kl__sim_admit_forbid(kl__sim_write *write, const char *why,
                             kl_error *err)
{
    kl__buf name = {0};
    kl__sim_status status = {.code = 403,
                             .reason = "Forbidden",
                             .has_details = true,
                             .group = write->kind->group,
                             .kind = write->kind->plural};
    char *words;
    kl_code code;

    put_name(write, &name);
    words = kl__strprintf("%s \"%s\" is forbidden: %s", write->kind->qualified,
                          name.bytes != NULL ? name.bytes : "", why);
    status.name = name.bytes;
    status.words = words;
    code = words == NULL || name.failed
               ? kl__sim_no_memory(err)
               : kl__sim_answer_status(write->answer, &status, err);
    kl__free(words);
    kl__buf_deinit(&name);
    return code;
}
