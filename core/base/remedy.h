/*
 * remedy.h - advice for the end of an error message: what a user can do about
 * an errno such as EMFILE. All places where descriptors or threads can run out
 * give the same advice.
 */
#ifndef KL_BASE_REMEDY_H
#define KL_BASE_REMEDY_H

#include "base/for_sim.h"

/* Returns "; raise the limit on open files (ulimit -n)" for EMFILE, and so on;
 * "" for an errno without advice. The text is static. */
KL__FOR_SIM const char *kl__remedy(int number);

/* The same for a thread or a process that could not be started. */
const char *kl__process_remedy(int number);

#endif
