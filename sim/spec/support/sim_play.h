/*
 * sim_play.h - a case as a text: requests with what is expected of their
 * replies, and the events of a watch, a line each.
 *
 *     sim_play(sim, "POST configmaps {metadata: {name: a}} -> 201
 * kind=ConfigMap\n" "GET configmaps/b -> 404 ~not found\n" "GET
 * apps/v1/deployments/b -> 404\n");
 *
 * A target without a slash at its begin is in the namespace default. A body is
 * YAML and is sent as JSON; after "=" it is sent as it is. Methods: those of
 * HTTP (PATCH is a merge patch), and STRATEGIC, JSONPATCH, APPLY for the other
 * patches.
 *
 * After the status come claims, separated by " | ":
 *     metadata.name=a   the text at the path is "a"; metadata.name!=a: it is
 * not data={k: v}       a list or map, written as YAML ~text   !text     the
 * body has that text, or has it not warnings~text     so do its warnings
 *     type=text         its content type
 *     Conflict: text    it is a Status of that reason and message
 *     $uid=path         keeps the text; later lines say $uid
 *
 * Lines of a watch, which is the rig's (rig_play):
 *     WATCH configmaps?resourceVersion=3      opens it, instead of another
 *     ADDED a, MODIFIED b, BOOKMARK | data.k=v  the next events; claims about
 *                                             the last one's object
 *     SILENCE   END                           nothing comes; the stream has
 * ended Others: ADD a and TOUCH a v (sim_add, sim_touch), COMPACT.
 */
#ifndef KL_SPEC_SIM_PLAY_H
#define KL_SPEC_SIM_PLAY_H

#include "sim_rig.h"

void sim_play(kl_sim *sim, const char *lines);
/* The same in a rig, with its watch. */
void rig_play(sim_rig *rig, const char *lines);

/* Asserts the next events of a watch: "ADDED a, SILENCE", with claims. */
void sim_watch_sees(sim_watch *watch, const char *events);

/* Asserts claims about a document. */
void sim_claim(const kl_doc *doc, const char *claims);

/* JSON of a list or map in YAML; a text with double quotes is JSON, and
 * returned as it is. Valid until 16 more calls. */
const char *sim_json(const char *yaml);

/* What a line of sim_play has kept under a name, without "$"; "" if nothing. */
const char *sim_kept(const char *name);

#endif
