/*
 * cursor_public.c - kubelua/cursor.h: the walks of cursor.h, for readers
 * outside of the core, and paths.
 */
#include "kubelua/cursor.h"

#include "json/cursor.h"
#include "json/path.h"

const char *kl_cursor_skip(const char *value, const char *end)
{
    return kl__cursor_skip(value, end);
}

const char *kl_cursor_member(const char *value, const char *end,
                             const char *name, size_t length)
{
    return kl__cursor_member(value, end, name, length);
}

const char *kl_cursor_element(const char *value, const char *end, size_t index)
{
    return kl__cursor_element(value, end, index);
}

void kl_cursor_begin(kl_cursor *cursor, const char *value, const char *end)
{
    kl__cursor_begin(cursor, value, end);
}

bool kl_cursor_next(kl_cursor *cursor)
{
    return kl__cursor_next(cursor);
}

const kl_value *kl_cursor_scalar(const char *value, const char *end,
                                 kl_scalar *room)
{
    return kl__cursor_scalar(value, end, room);
}

size_t kl_cursor_decode(const char *string, const char *end, char *out)
{
    return kl__cursor_decode(string, end, out);
}

/* The same walk as in path.c. Recurses at [*] only, so the depth is at most
 * that of the text. */
static const char *find_first(const kl_path *path, size_t from,
                              const char *value, const char *end)
{
    for (size_t i = from; i < path->count && value != NULL; i++) {
        const kl__step *next = &path->steps[i];
        kl_cursor walk;

        if (next->kind == KL__STEP_NAME) {
            value = kl__cursor_member(value, end, next->name, next->length);
            continue;
        }
        if (next->kind == KL__STEP_INDEX) {
            value = kl__cursor_element(value, end, next->index);
            continue;
        }
        kl__cursor_begin(&walk, value, end);
        value = NULL;
        while (value == NULL && kl__cursor_next(&walk)) {
            value = find_first(path, i + 1, walk.value, end);
        }
        return value;
    }
    return value != NULL && *value != 'n' ? value : NULL;
}

const char *kl_cursor_path(const kl_path *path, const char *value,
                           const char *end)
{
    return find_first(path, 0, value, end);
}
