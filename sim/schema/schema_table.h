/*
 * schema_table.h - the types of the built-in kinds as the library carries them:
 * a line of text each, read into kl__schema when it is asked for first.
 *
 * A row's text is "%" if a change replaces it as a whole (a map that is
 * atomic), then its fields, sorted by name and separated by ";". A field is
 * "name,number,", then what the reference says beyond the type:
 *   !  required              ?  left out when empty    0  left out when zero
 *   ^  a pointer in Go       A  atomic   S  a set      L(a,b)  a map by keys
 *   M(key)  merged, by key   R  keeps the keys given   =7  default number 7
 *   <T>  in a struct T that Go inlines: messages name it
 * then its type: s string, i int32, l int64, f float64, b bool, y bytes, t
 * time, u time with microseconds, d duration, q quantity, o int or string, a
 * anything,
 * @7 the struct of row 7, [ array of, ( array of that is a message of its own,
 * { map of. What a type other than @ is called in Go, if not what others of the
 * letter are, follows in quotes.
 */
#ifndef KL_SCHEMA_SCHEMA_TABLE_H
#define KL_SCHEMA_SCHEMA_TABLE_H

#include <stddef.h>

typedef struct kl__schema_row {
    const char *name;
    const char *fields;
} kl__schema_row;

/* A group and version, and the prefix of its types; a kind's name follows. */
typedef struct kl__schema_package {
    const char *group; /* NULL: the end */
    const char *version;
    const char *prefix;
} kl__schema_package;

extern const kl__schema_row kl__schema_rows[]; /* sorted by name */
extern const size_t kl__schema_row_count;
extern const kl__schema_package kl__schema_packages[];
extern const char kl__schema_initials[]; /* the defaults: an array of JSON */

#endif
