/*
 * fields.c - an object of a built-in kind, which the first line names ("apps v1
 * Deployment"). An object that decodes without an error has a canonical form,
 * which has no error, and does not change when it is decoded again.
 */
#include "tree.h"

#include "kubelua/memory.h"
#include "sim/core/schema/schema_check.h"
#include "sim/core/schema/schema_normal.h"

#include <string.h>

/* The schema of "group version kind", the group "-" for the core; NULL: there
 * is no such kind. */
static const kl__schema *schema_of(fuzz_text line)
{
    char text[128] = "";
    char *version, *kind;

    if (line.length >= sizeof(text)) {
        return NULL;
    }
    memcpy(text, line.bytes, line.length);
    version = strchr(text, ' ');
    kind = version != NULL ? strchr(version + 1, ' ') : NULL;
    if (kind == NULL) {
        return NULL;
    }
    *version = *kind = '\0';
    return kl__schema_builtin(*text == '-' ? "" : text, version + 1, kind + 1,
                              NULL);
}

static void store(kl__edit *edit, kl__node *object, const kl__schema *schema)
{
    FUZZ_EXPECT(kl__schema_normalize(edit, object, schema));
    FUZZ_EXPECT(kl__schema_complete(edit, object, schema));
    FUZZ_EXPECT(kl__schema_normalize(edit, object, schema));
}

static void check_stored(kl__edit *edit, kl__node *object,
                         const kl__schema *schema)
{
    kl__findings found = {0};
    kl__node *again;

    store(edit, object, schema);
    FUZZ_EXPECT(kl__schema_check(object, schema, &found, NULL) == KL_OK);
    FUZZ_EXPECT(found.error == NULL && found.field_count == 0);
    kl__findings_deinit(&found);
    again = kl__edit_copy(edit, object);
    store(edit, again, schema);
    FUZZ_EXPECT(kl__node_equal(object, again));
}

void fuzz_fields(const char *bytes, size_t length)
{
    fuzz_text rest = {bytes, length};
    const kl__schema *schema = schema_of(fuzz_line(&rest));
    kl__edit *edit = kl__edit_new(NULL);
    kl__node *object = fuzz_tree(edit, rest);
    kl__findings found = {0};

    if (schema != NULL && kl__node_is(object, KL_OBJECT)) {
        FUZZ_EXPECT(kl__schema_check(object, schema, &found, NULL) == KL_OK);
        FUZZ_EXPECT(found.field_count <= 100);
        if (found.error == NULL) {
            check_stored(edit, object, schema);
        }
        kl__findings_deinit(&found);
    }
    kl__edit_free(edit);
    kl__schema_release();
}
