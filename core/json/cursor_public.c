/*
 * cursor_public.c - kubelua/cursor.h: the walks of cursor.h, for readers
 * outside of the core, and paths.
 */
#include "kubelua/cursor.h"

#include "json/cursor.h"
#include "json/search.h"

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

static bool take_first(void *context, size_t i, const char *value)
{
    const char **found = context;

    (void)i;
    *found = value;
    return false;
}

const char *kl_cursor_path(const kl_path *path, const char *value,
                           const char *end)
{
    const char *found = NULL;
    kl__search search = {
        .paths = &path, .count = 1, .take = take_first, .context = &found};

    if (value != NULL) {
        kl__search_run(&search, value, end);
    }
    return found;
}
