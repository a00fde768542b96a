/*
 * repeated.c - see repeated.h. Small objects are searched linearly.
 */
#include "sim/core/body/repeated.h"

#include "base/map.h"

enum { FEW_MEMBERS = 16 };

static kl_code check_names(const kl_value *object, kl_error *err)
{
    const bool is_small = kl_value_size(object) <= FEW_MEMBERS;
    kl_value_iter iter = {0};
    kl__map seen = {0};
    const kl_value *value, *key;
    kl_code code = KL_OK;

    while (code == KL_OK &&
           (value = kl_value_next(object, &iter, &key)) != NULL) {
        void *before = NULL;
        size_t length = 0;
        const char *name = kl_value_string(key, &length);

        if (is_small) {
            before =
                kl_value_get_n(object, name, length) == value ? NULL : &seen;
        } else if (!kl__map_put_n(&seen, name, length, &seen, &before)) {
            code = kl_error_set(err, KL_ENOMEM, "out of memory for a body");
        }
        if (before != NULL) {
            code = kl_error_set(err, KL_EPARSE,
                                "the simulator takes no object with a name "
                                "twice: \"%.100s\"",
                                name);
        }
    }
    kl__map_deinit(&seen);
    return code;
}

kl_code kl__check_repeated(const kl_value *value, kl_error *err)
{
    kl_value_iter iter = {0};
    const kl_value *child;
    kl_code code = KL_OK;

    if (kl_value_type(value) == KL_OBJECT) {
        code = check_names(value, err);
    } else if (kl_value_type(value) != KL_ARRAY) {
        return KL_OK;
    }
    while (code == KL_OK &&
           (child = kl_value_next(value, &iter, NULL)) != NULL) {
        code = kl__check_repeated(child, err);
    }
    return code;
}
