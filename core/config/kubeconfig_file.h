/*
 * kubeconfig_file.h - one parsed kubeconfig file, and functions that read its
 * entries and fields. Their errors name file, line and field.
 */
#ifndef KL_CONFIG_KUBECONFIG_FILE_H
#define KL_CONFIG_KUBECONFIG_FILE_H

#include "base/buf.h"
#include "kubelua/error.h"
#include "kubelua/value.h"

#include <stdbool.h>
#include <stddef.h>

typedef struct kl__kubeconfig_file {
    char *path;     /* as it was given */
    char *folder;   /* absolute; relative paths in the file start here */
    kl__buf text;   /* wiped when freed */
    kl_doc *doc;    /* NULL: the file is empty */
    bool is_longer; /* has more documents; a warning was logged */
} kl__kubeconfig_file;

/* Reads and parses the file; checks what does not depend on a context.
 * KL_ECONFIG, with `*missing` true if there is no such file; KL_ETOO_LARGE;
 * KL_ENOMEM. */
kl_code kl__kubeconfig_file_init(kl__kubeconfig_file *file, const char *path,
                                 size_t path_length, bool *missing,
                                 kl_error *err);
/* The same for a text in memory, which is copied; messages call it `name`.
 * Relative paths in it start in the working folder. */
kl_code kl__kubeconfig_file_init_text(kl__kubeconfig_file *file,
                                      const char *name, const char *text,
                                      kl_error *err);
void kl__kubeconfig_file_deinit(kl__kubeconfig_file *file);

/* An entry of "clusters", "users" or "contexts". */
typedef struct kl__entry {
    bool found; /* false: every field reads as absent */
    const kl__kubeconfig_file *file;
    const char *list;      /* "users" */
    const char *body;      /* "user" */
    const char *inner;     /* "exec": an object in the body, or NULL */
    const char *name;      /* of the entry */
    size_t index;          /* in the list */
    const kl_value *value; /* the body, or the inner object; may be NULL */
} kl__entry;

/* Finds the entry with this name; borrows the strings. KL_ECONFIG: the name
 * occurs twice, or `list` is not a list. */
kl_code kl__entry_find(const kl__kubeconfig_file *file, const char *list,
                       const char *name, kl__entry *entry, kl_error *err);

/* Finds the object `inner` in the body of an entry. KL_ECONFIG: it is not an
 * object. */
kl_code kl__entry_inner(const kl__entry *entry, const char *inner,
                        kl__entry *out, kl_error *err);

/* KL_ECONFIG: "FILE:LINE: users[\"bob\"].user.token: message". */
kl_code kl__entry_error(const kl__entry *entry, const char *field,
                        kl_error *err, const char *format, ...) KL_PRINTF(4, 5);

/* Read one field. If it is absent, null or "", `*out` is not changed. The
 * caller owns a string that is read. KL_ECONFIG: the field has another type, or
 * its text cannot be used; KL_ENOMEM. */
kl_code kl__entry_string(const kl__entry *entry, const char *field, char **out,
                         kl_error *err);
kl_code kl__entry_bool(const kl__entry *entry, const char *field, bool *out,
                       kl_error *err);
/* Reads a path and makes it absolute. */
kl_code kl__entry_path(const kl__entry *entry, const char *field, char **out,
                       kl_error *err);
/* Reads a PEM text, which the file has in base64. */
kl_code kl__entry_pem(const kl__entry *entry, const char *field, char **out,
                      kl_error *err);
/* For reading several fields at once; the name of the last one is NULL. */
typedef struct kl__field {
    const char *name;
    char **out;
    kl_code (*read)(const kl__entry *entry, const char *field, char **out,
                    kl_error *err); /* one of the above */
} kl__field;

kl_code kl__entry_fields(const kl__entry *entry, const kl__field *fields,
                         kl_error *err);

/* Reads an array; NULL if it is absent. */
kl_code kl__entry_array(const kl__entry *entry, const char *field,
                        const kl_value **out, kl_error *err);

/* Returns `path`, made absolute with the folder of the file; owned by the
 * caller. NULL when out of memory. */
char *kl__kubeconfig_path(const kl__kubeconfig_file *file, const char *path);

/* A text; NULL: it is none, or has a NUL character. Borrowed. */
const char *kl__entry_text(const kl_value *value);

#endif
