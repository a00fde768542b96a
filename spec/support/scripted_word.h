/*
 * scripted_word.h - the words of a script, see scripted_source.h.
 */
#ifndef KL_SPEC_SCRIPTED_WORD_H
#define KL_SPEC_SCRIPTED_WORD_H

#include "api/list_watch.h"

enum { SCRIPTED_WORD_SIZE = 128 };

/* The item that a word stands for. */
void scripted_word_item(const char *word, kl__item *item);

/* The error that "!gone:410/2000>token" stands for; `token` gets the token, the
 * caller's, or NULL. */
kl_code scripted_word_error(const char *word, char **token, kl_error *err);

#endif
