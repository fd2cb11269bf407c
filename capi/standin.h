/* A thread that makes a call in place of another, which looks on. */
#ifndef DL_STANDIN_H
#define DL_STANDIN_H

#include "exec.h"

/*
 * What call(what) answers. The stand-in makes the call while the caller looks on, which keeps
 * what it holds for 1 ms at most: from then on it waits between lock->before and lock->after.
 * Where the stand-in is busy, or cannot be, the caller makes the call itself, between the two.
 */
int32_t dl_stand_in(int32_t (*call)(const void *), const void *what, const dl_hooks *lock);

#endif
