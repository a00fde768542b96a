/*
 * sim_play.h - a case as a text: requests with what is expected of their
 * replies, and the events of a watch, a line each.
 *
 *     rig_play(f, "POST configmaps {metadata: {name: a}} -> 201 data=\n"
 *                 "WATCH configmaps?resourceVersion=3\n"
 *                 "ADDED a, SILENCE\n"
 *                 "GET apps/v1/deployments/b -> 404 ~not found\n");
 *
 * A target that begins without a slash is in the namespace default, but for
 * "crds", the definitions. A body is
 * YAML and is sent as JSON; after "=" it is sent as it is. Methods: those of
 * HTTP (PATCH is a merge patch), and STRATEGIC, JSONPATCH, APPLY for the other
 * patches.
 *
 * Options stand behind the body, each after " @ ": accept TYPE, type TYPE.
 * Those that send it over the rig's transport, where faults are: over, token T,
 * or a header and its value ("@ Impersonate-User jane").
 *
 * Claims stand behind the status, separated by " | ":
 *
 *     a.b=text          the value at that path; a.b!=text: another one
 *     a.b={k: v}        a list or map, in YAML
 *     #a.b=36           its length in bytes
 *     names=a b         the names of a list's items
 *     type=text         the content type
 *     retry-after=7000  in milliseconds; -1: none
 *     body=text         the whole body
 *     ^text             what the body begins with
 *     ~text             what it contains; !text: what it does not
 *     warnings~text     what its warnings contain
 *     Conflict: text    it is a Status of that reason and message
 *     $uid=a.b          keeps the value: later lines say $uid
 *
 * Other lines:
 *
 *     WATCH target      opens the rig's watch, in place of another one
 *     WATCH target @ accept TYPE -> 422
 *     ADDED a, ERROR    its next events; claims are about the last object
 *     SILENCE           nothing comes for a short time
 *     END               the watch has ended
 *     FAULT {action: cut}
 *     SEND target -> 503         a GET over the transport
 *     SEND target agent -> 503   the same with a User-Agent
 *     ADD a b           creates ConfigMaps
 *     OWN b a true      creates one that another one owns; true: it blocks the
 *                       deletion of the owner
 *     TOUCH a text      changes one
 *     $map = text       later lines say $map; $streaming stands for the
 *                       parameters of a streaming list
 *     DEFINE gears.a.io Gear     a definition that keeps every field
 *     COMPACT           forgets the history
 *     ADVANCE 60        moves a clock that stands by seconds
 */
#ifndef KL_SPEC_SIM_PLAY_H
#define KL_SPEC_SIM_PLAY_H

#include "sim_rig.h"

void sim_play(kl_sim *sim, const char *lines);
/* The same in a rig, with its watch. */
void rig_play(sim_rig *rig, const char *lines);

/* Asserts the next events of a watch: "ADDED a, SILENCE", with claims. */
void sim_watch_sees(sim_watch *watch, const char *events);

/* JSON of a list or map in YAML; a text with double quotes is JSON, and
 * returned as it is. Valid until 16 more calls. */
const char *sim_json(const char *yaml);

/* What a line of sim_play has kept under a name, without "$"; "" if nothing. */
const char *sim_kept(const char *name);

#endif
