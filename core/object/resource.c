/*
 * resource.c - see resource.h.
 */
#include "object/resource.h"

#include "base/mem.h"

#include <string.h>
#include "base/str.h"

void kl__resource_clear(kl__resource *resource)
{
    kl__free(resource->group);
    kl__free(resource->version);
    kl__free(resource->plural);
    kl__free(resource->kind);
    *resource = (kl__resource){0};
}

bool kl__resource_copy(kl__resource *to, const kl__resource *from)
{
    *to = (kl__resource){.group = kl__strdup(from->group),
                         .version = kl__strdup(from->version),
                         .plural = kl__strdup(from->plural),
                         .kind = kl__strdup(from->kind),
                         .namespaced = from->namespaced};
    if (to->group == NULL || to->version == NULL || to->plural == NULL ||
        to->kind == NULL) {
        kl__resource_clear(to);
        return false;
    }
    return true;
}

void kl__resource_api_version(const kl__resource *resource, kl__buf *out)
{
    if (resource->group[0] != '\0') {
        kl__buf_puts(out, resource->group);
        kl__buf_putc(out, '/');
    }
    kl__buf_puts(out, resource->version);
}

/* Appends "/" and the segment. All bytes but RFC 3986's unreserved ones are
 * encoded, so that a name with a slash cannot change the path. */
static void put_segment(kl__buf *out, const char *segment)
{
    kl__buf_putc(out, '/');
    for (; *segment != '\0'; segment++) {
        char byte = *segment;

        if ((byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
            (byte >= '0' && byte <= '9') || byte == '-' || byte == '.' ||
            byte == '_' || byte == '~') {
            kl__buf_putc(out, byte);
        } else {
            kl__buf_printf(out, "%%%02X", (unsigned)(unsigned char)byte);
        }
    }
}

void kl__resource_path(const kl__resource *resource, const char *name_space,
                       kl__buf *out)
{
    if (resource->group[0] == '\0') {
        kl__buf_puts(out, "/api");
    } else {
        kl__buf_puts(out, "/apis");
        put_segment(out, resource->group);
    }
    put_segment(out, resource->version);
    if (resource->namespaced && name_space != NULL) {
        put_segment(out, "namespaces");
        put_segment(out, name_space);
    }
    put_segment(out, resource->plural);
}

kl_code kl__scope_error(const char *plural, const char *kind, kl_error *err)
{
    return kl_error_set(err, KL_EINVAL,
                        "%s (%s) have no namespace: leave `namespace` out",
                        plural, kind);
}

bool kl__is_bare_list(const kl_value *root)
{
    const char list[] = "List";
    size_t end = sizeof(list) - 1, length = 0;
    const char *kind = kl_value_string(kl_value_get(root, "kind"), &length);

    return kind != NULL && length > end &&
           memcmp(kind + length - end, list, end) == 0 &&
           kl_value_get(root, "items") == NULL &&
           kl_value_type(kl_value_get(root, "apiVersion")) == KL_STRING &&
           kl_value_type(kl_value_get(root, "metadata")) == KL_OBJECT;
}
