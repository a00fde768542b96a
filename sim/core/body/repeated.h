/*
 * repeated.h - finds an object with a name twice. Nothing that writes JSON
 * makes one, and its meaning depends on the reader.
 */
#ifndef KL_BODY_REPEATED_H
#define KL_BODY_REPEATED_H

#include "kubelua/value.h"

/* KL_OK: all names are unique. KL_EPARSE: the message says which one is there
 * twice. KL_ENOMEM. */
kl_code kl__check_repeated(const kl_value *value, kl_error *err);

#endif
