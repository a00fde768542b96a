/*
 * scripted_word.h - parses the words of a script: see scripted_source.h.
 */
#ifndef KL_SPEC_SCRIPTED_WORD_H
#define KL_SPEC_SCRIPTED_WORD_H

#include "api/list_watch.h"

enum { SCRIPTED_WORD_SIZE = 128 };

/* Makes the item of a word. */
void scripted_word_item(const char *word, kl__item *item);

/* Makes the error of "!gone:410/2000>token"; `token` gets the token, owned by
 * the caller, or NULL. */
kl_code scripted_word_error(const char *word, char **token, kl_error *err);

#endif
