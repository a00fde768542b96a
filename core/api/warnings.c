/*
 * warnings.c - remembers which texts of warnings were logged; see warnings.h.
 */
#include "api/warnings.h"

#include "base/map.h"
#include "base/mem.h"
#include "base/str.h"
#include "base/thread.h"
#include "kubelua/log.h"

#include <string.h>

/* After this many different texts all are forgotten, and may be logged again:
 * so memory is bounded. */
enum { MAX_TEXTS = 256 };

struct kl__warnings {
    kl__mutex mutex; /* rank CLIENT; guards the map */
    kl__map texts;   /* its values are its keys, owned */
};

static void forget_all(kl__warnings *warnings)
{
    const kl__map_slot *slot;
    size_t cursor = 0;

    while ((slot = kl__map_next(&warnings->texts, &cursor)) != NULL) {
        kl__free(slot->value);
    }
    kl__map_deinit(&warnings->texts);
}

kl__warnings *kl__warnings_new(void)
{
    kl__warnings *warnings = kl__calloc(1, sizeof(*warnings));

    if (warnings != NULL) {
        kl__mutex_init(&warnings->mutex, KL__RANK_CLIENT);
    }
    return warnings;
}

void kl__warnings_free(kl__warnings *warnings)
{
    if (warnings != NULL) {
        forget_all(warnings);
        kl__mutex_deinit(&warnings->mutex);
        kl__free(warnings);
    }
}

/* Out of memory: the text is logged again next time, which does no harm. */
static bool remember_locked(kl__warnings *warnings, const char *text)
{
    char *copy;

    if (kl__map_get(&warnings->texts, text) != NULL) {
        return false;
    }
    if (warnings->texts.count >= MAX_TEXTS) {
        forget_all(warnings);
    }
    copy = kl__strdup(text);
    if (copy != NULL && !kl__map_put(&warnings->texts, copy, copy, NULL)) {
        kl__free(copy);
    }
    return true;
}

static void note_line(kl__warnings *warnings, const char *text)
{
    bool is_new;

    kl__mutex_lock(&warnings->mutex);
    is_new = remember_locked(warnings, text);
    kl__mutex_unlock(&warnings->mutex);
    if (is_new) {
        kl_log(KL_LOG_WARN, "the API server warns: %s", text);
    }
}

void kl__warnings_note(kl__warnings *warnings, const char *lines)
{
    while (*lines != '\0') {
        size_t length = strcspn(lines, "\n");
        char *line = length != 0 ? kl__strndup(lines, length) : NULL;

        if (line != NULL) {
            note_line(warnings, line);
        }
        kl__free(line);
        lines += length;
        lines += *lines == '\n';
    }
}
