/*
 * schema_table.h - the table of the types of built-in kinds. Each row is a line
 * of text; schema.c makes a kl__schema of it at its first use.
 *
 * A row's text has the fields of the type, sorted by name and separated by ";".
 * A "%" before them means that the type is atomic: a change replaces the whole
 * value. A field is "name,number,", then marks for what only this field has:
 *   !  required              ?  left out if empty      0  left out if zero
 *   ^  a pointer in Go       A  atomic   S  a set      L(a,b)  a map by keys
 *   M(key)  merged, by key   R  retainKeys   =7  default, by its index
 *   <T>  in the struct T that Go inlines; messages name T
 * then a letter for the type of the field:
 *   s string   i int32   l int64   f float64   b bool   y bytes   t time
 *   u time with microseconds   d duration   q quantity   o int or string
 *   a any value   @7 the struct of row 7   [ array of   { map of
 *   ( array of, as a message of its own in protobuf
 * then, in quotes, the Go name of the type, if it is not the usual one for the
 * letter.
 */
#ifndef KL_SCHEMA_SCHEMA_TABLE_H
#define KL_SCHEMA_SCHEMA_TABLE_H

#include <stddef.h>

typedef struct kl__schema_row {
    const char *name;
    const char *fields;
} kl__schema_row;

/* A group and version, and the prefix of its types. The prefix and a kind make
 * the name of a type. */
typedef struct kl__schema_package {
    const char *group; /* NULL: the end */
    const char *version;
    const char *prefix;
} kl__schema_package;

extern const kl__schema_row kl__schema_rows[]; /* sorted by name */
extern const size_t kl__schema_row_count;
extern const kl__schema_package kl__schema_packages[];
extern const char kl__schema_initials[]; /* the defaults: an array of JSON */

/* ---- values that fields may have: for OpenAPI documents alone ---- */

typedef struct kl__schema_enum {
    const char *type; /* "io.k8s.api.core.v1.PodSpec" */
    const char *field;
    const char *values; /* of the field, or of its elements: "Always,Never" */
} kl__schema_enum;

extern const kl__schema_enum kl__schema_enums[]; /* sorted by both names */
extern const size_t kl__schema_enum_count;

#endif
