/*
 * discovery_parse.h - parses the documents of discovery into a catalogue: the
 * aggregated form, and the lists of the old form.
 */
#ifndef KL_API_DISCOVERY_PARSE_H
#define KL_API_DISCOVERY_PARSE_H

#include "api/catalogue.h"
#include "kubelua/value.h"

/* Adds all groups of an APIGroupDiscoveryList. Of a version that is stale and
 * empty, what `former` (NULL: nothing) has is added. KL_ENOMEM, KL_ETOO_LARGE.
 */
kl_code kl__discovery_add_groups(kl__catalogue *catalogue,
                                 const kl__catalogue *former,
                                 const kl_value *list, kl_error *err);

/* Adds the resources of an APIResourceList, the old form of one group and
 * version. Errors as above. */
kl_code kl__discovery_add_version(kl__catalogue *catalogue, const char *group,
                                  const char *version, const kl_value *list,
                                  kl_error *err);

/* A member's text, "" where there is none; borrowed from the document. */
const char *kl__discovery_text(const kl_value *object, const char *name);

#endif
