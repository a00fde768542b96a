/*
 * remedy.h - what to do about an errno of the system, for the end of a message:
 * every place where a resource of the process can run out says the same.
 */
#ifndef KL_BASE_REMEDY_H
#define KL_BASE_REMEDY_H

#include "base/for_sim.h"

/* "; raise the limit on open files (ulimit -n)" for EMFILE, and so on; "" where
 * there is nothing to say. Static. */
KL__FOR_SIM const char *kl__remedy(int number);

/* The same where a thread or a process was to be started. */
const char *kl__process_remedy(int number);

#endif
