/*
 * owner_put.h - puts routes that changed into a map, and keeps lists that an
 * update would empty.
 */
#ifndef KL_SHARED_OWNER_PUT_H
#define KL_SHARED_OWNER_PUT_H

#include "kubelua/shared.h"
#include "shared/routes.h"

/*
 * Puts each name that changed into the table "services", or removes it.
 * KL_ENOMEM: the Service at hand and those after it come the next time. One
 * that is too large for an entry is logged, and keeps what the map has.
 */
kl_code kl__put_routes(kl__routes *routes, kl_shared *map, bool clear_empty,
                       kl_error *err);

#endif
