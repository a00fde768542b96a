/*
 * in_shard.c - see in_shard.h.
 */
#include "object/in_shard.h"

kl_code kl__shard_parse(const char *text, kl_shard_by by, kl__shard *shard,
                        kl_error *err)
{
    kl_code code = kl__shard_ranges_parse(text, &shard->ranges, err);

    shard->by = by;
    shard->ranges.is_mixed =
        by != KL_SHARD_BY_UID && by != KL_SHARD_BY_OWNER_UID;
    return code;
}

bool kl__shard_may_change(const kl__shard *shard)
{
    return shard->by >= KL_SHARD_BY_OWNER_UID &&
           !kl__shard_ranges_are_all(&shard->ranges);
}

static const char *text_of(const kl_value *owner, const char *name)
{
    const kl_value *value = kl_value_get(owner, name);

    return kl_value_type(value) == KL_STRING ? kl_value_string(value, NULL)
                                             : "";
}

static bool has_owner(const kl__shard *shard, const kl_object *object,
                      const kl_value *owner)
{
    const char *name_space = kl_object_namespace(object);
    kl__buf key = {0};
    bool has;

    if (shard->by == KL_SHARD_BY_OWNER_UID) {
        return kl__shard_ranges_have(&shard->ranges, text_of(owner, "uid"));
    }
    if (shard->by == KL_SHARD_BY_OWNER_KEY && name_space != NULL) {
        kl__buf_printf(&key, "%s/", name_space);
    }
    kl__buf_puts(&key, text_of(owner, "name"));
    has = key.failed || kl__shard_ranges_have(&shard->ranges, key.bytes);
    kl__buf_deinit(&key);
    return has;
}

static bool has_owners(const kl__shard *shard, kl_object *object)
{
    const kl_value *root = kl_object_open(object, NULL);
    const kl_value *owners =
        kl_value_get(kl_value_get(root, "metadata"), "ownerReferences");
    bool has = root == NULL;

    for (size_t i = 0; !has && i < kl_value_size(owners); i++) {
        has = has_owner(shard, object, kl_value_at(owners, i));
    }
    if (root != NULL) {
        kl_object_close(object);
    }
    return has;
}

bool kl__shard_has_namespace(const kl__shard *shard, const char *name_space)
{
    return shard->by != KL_SHARD_BY_NAMESPACE ||
           kl__shard_ranges_have(&shard->ranges, name_space);
}

bool kl__shard_has(const kl__shard *shard, kl_object *object)
{
    const char *name_space = kl_object_namespace(object);

    if (kl__shard_ranges_are_all(&shard->ranges)) {
        return true;
    }
    switch (shard->by) {
    case KL_SHARD_BY_UID:
        return kl__shard_ranges_have(&shard->ranges, kl_object_uid(object));
    case KL_SHARD_BY_KEY:
        return kl__shard_ranges_have(&shard->ranges, kl_object_key(object));
    case KL_SHARD_BY_NAMESPACE:
        return kl__shard_ranges_have(&shard->ranges,
                                     name_space != NULL ? name_space : "");
    default:
        return has_owners(shard, object);
    }
}
