/*
 * for_sim.h - marks what libkubelua-sim.so uses of the core's internals. Such a
 * function is exported under a private version (libkubelua.map.in); programs
 * have no header for it.
 */
#ifndef KL_BASE_FOR_SIM_H
#define KL_BASE_FOR_SIM_H

#define KL__FOR_SIM __attribute__((visibility("default")))

#endif
