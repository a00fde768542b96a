/*
 * sim_discovery_write.h - writes the documents of discovery. The writer keeps a
 * failure until kl_writer_finish, which returns it. The cluster's mutex is
 * held.
 */
#ifndef KL_SIM_DISCOVERY_WRITE_H
#define KL_SIM_DISCOVERY_WRITE_H

#include "kubelua/writer.h"
#include "sim/core/discovery/sim_offer.h"

/* Write an APIGroupList, an APIGroup, an APIResourceList. */
void kl__sim_write_groups(kl_writer *writer, const kl_sim *sim);
void kl__sim_write_group(kl_writer *writer, const kl_sim *sim,
                         const char *group);
void kl__sim_write_resources(kl_writer *writer, const kl_sim *sim,
                             const char *group, const char *version);

/* Writes an APIGroupDiscoveryList of the core group, or of all others. */
void kl__sim_write_aggregated(kl_writer *writer, const kl_sim *sim,
                              bool is_core);

/* --- Parts of the documents. ---------------------------------------------- */

void kl__sim_put(kl_writer *writer, const char *name, const char *text);
void kl__sim_put_name(kl_writer *writer, const char *name);
/* Writes a member that is an array: from a list that ends with NULL (nothing if
 * it is empty), or from a text with commas. */
void kl__sim_put_list(kl_writer *writer, const char *name, char *const *list);
void kl__sim_put_split(kl_writer *writer, const char *name, const char *text);

#endif
