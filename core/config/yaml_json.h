/*
 * yaml_json.h - converts a YAML document to JSON.
 */
#ifndef KL_CONFIG_YAML_JSON_H
#define KL_CONFIG_YAML_JSON_H

#include "base/for_sim.h"
#include "base/buf.h"
#include "config/yaml_tree.h"
#include "kubelua/writer.h"

/*
 * Writes the node and all that it contains as JSON. Aliases and merge keys
 * ("<<") are resolved; names become text. KL_EPARSE with line and column (a
 * duplicate name, a name that is a list or map, .inf); KL_ETOO_LARGE (aliases
 * that expand too far); KL_ENOMEM.
 */
KL__FOR_SIM kl_code kl__yaml_write(kl_writer *writer, kl__yaml_node *root,
                                   kl_error *err);

/* The line of the node at a path of names and indexes, such as "users", "1",
 * "user", NULL. If a part of the path does not exist, the line of the last part
 * that does. 0: the text is not YAML, or there is no memory. */
size_t kl__yaml_line(const char *text, size_t length, const char *const *path);

#endif
