/*
 * sim_origin.h - refuses requests that a page of another site has made a
 * browser send: by a name that the page's owner lets lead here (DNS rebinding),
 * or with the Origin of that site.
 */
#ifndef KL_SIM_ORIGIN_H
#define KL_SIM_ORIGIN_H

#include "sim/core/http/sim_http.h"

/* NULL: the request may go on. Else the text of its answer, whose status is
 * 403; static. */
const char *kl__sim_origin_fault(const kl__sim_http *http,
                                 struct MHD_Connection *connection);

#endif
