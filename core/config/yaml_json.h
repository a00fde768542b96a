/*
 * yaml_json.h - a YAML document as the JSON text that it means.
 */
#ifndef KL_CONFIG_YAML_JSON_H
#define KL_CONFIG_YAML_JSON_H

#include "base/for_sim.h"
#include "base/buf.h"
#include "config/yaml_tree.h"
#include "kubelua/writer.h"

/*
 * Writes the node and all in it: aliases and merge keys ("<<") resolved, names
 * as text. KL_EPARSE (a name twice, a name that is a container, .inf) with line
 * and column; KL_ETOO_LARGE (aliases that multiply); KL_ENOMEM.
 */
kl_code kl__yaml_write(kl_writer *writer, kl__yaml_node *root, kl_error *err);

/* The same as kube-apiserver reads it: of a name that is there twice the last
 * value counts, and `twice` gets a line `line 7: key "a" already set in map`.
 * Messages are go-yaml's. */
KL__FOR_SIM kl_code kl__yaml_write_last(kl_writer *writer, kl__yaml_node *root,
                                        kl__buf *twice, kl_error *err);

/* The line of the innermost node that the path of names and positions leads to
 * ("users", "1", "user"); as far as it leads. Ends with NULL. */
size_t kl__yaml_line(const char *text, size_t length, const char *const *path);

#endif
