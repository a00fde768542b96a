/*
 * scripted_word.c - see scripted_word.h.
 */
#include "scripted_word.h"

#include "base/str.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static kl_code code_named(const char *name, size_t length)
{
    for (int code = 0; code <= KL_EFORKED; code++) {
        const char *candidate = kl_code_name((kl_code)code);

        if (strlen(candidate) == length &&
            memcmp(candidate, name, length) == 0) {
            return (kl_code)code;
        }
    }
    abort(); /* the script names an unknown code */
}

kl_code scripted_word_error(const char *word, char **token, kl_error *err)
{
    kl_code code = code_named(word + 1, strcspn(word + 1, ":/>"));
    const char *status = strchr(word, ':');
    const char *retry = strchr(word, '/');
    const char *renewed = strchr(word, '>');

    kl_error_set(err, code, "scripted %s", word + 1);
    if (status != NULL && err != NULL) {
        err->http_status = atoi(status + 1);
    }
    if (retry != NULL && err != NULL) {
        err->retry_after_ms = atol(retry + 1);
    }
    *token = renewed != NULL ? kl__strdup(renewed + 1) : NULL;
    return code;
}

/* Makes the object of "web/a#uid@5". */
static kl_object *make_object(const char *word, char *version)
{
    char key[SCRIPTED_WORD_SIZE], json[4 * SCRIPTED_WORD_SIZE];
    char *at = strchr(strcpy(key, word), '@');
    char *hash, *slash;
    char uid[SCRIPTED_WORD_SIZE + 8];
    kl_object *object;

    *at = '\0';
    strcpy(version, at + 1);
    hash = strchr(key, '#');
    if (hash != NULL) {
        *hash = '\0';
    }
    snprintf(uid, sizeof(uid), "%s%s", hash != NULL ? "" : "uid-",
             hash != NULL ? hash + 1 : key);
    slash = strchr(key, '/');
    if (slash != NULL) {
        *slash = '\0';
    }
    snprintf(json, sizeof(json),
             "{\"metadata\":{\"name\":\"%s\",\"namespace\":\"%s\","
             "\"uid\":\"%s\",\"resourceVersion\":\"%s\"}}",
             slash != NULL ? slash + 1 : key, slash != NULL ? key : "", uid,
             version);
    object = kl_object_parse(json, strlen(json), NULL, NULL);
    if (object == NULL) {
        abort();
    }
    return object;
}

static void make_page(const char *word, kl__item *item)
{
    const char *token = strchr(word, '>');
    size_t length = token != NULL ? (size_t)(token - word) : strlen(word);

    item->type = KL__ITEM_PAGE;
    memcpy(item->version, word, length);
    item->continue_token = kl__strdup(token != NULL ? token + 1 : "");
}

void scripted_word_item(const char *word, kl__item *item)
{
    switch (word[0]) {
    case '=':
        make_page(word + 1, item);
        return;
    case '^':
        item->type = KL__ITEM_BOOKMARK;
        item->initial_events_end = word[1] == '^';
        strcpy(item->version, word + (word[1] == '^' ? 2 : 1));
        return;
    case '$':
        item->type = KL__ITEM_END;
        return;
    case '+':
        item->type = KL__ITEM_ADDED;
        break;
    case '~':
        item->type = KL__ITEM_MODIFIED;
        break;
    case '-':
        item->type = KL__ITEM_DELETED;
        break;
    default:
        item->type = KL__ITEM_OBJECT;
        item->object = make_object(word, item->version);
        return;
    }
    item->object = make_object(word + 1, item->version);
}
