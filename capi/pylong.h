/*
 * Small integers of Python read where they lie: a handle is one, and a call that
 * asks for each costs more than all else that an array does. Not a public header.
 */
#ifndef DL_PYLONG_H
#define DL_PYLONG_H

#include <stdbool.h>
#include <string.h>

#include "python.h"

/* How an int object is laid out, after what every object has. */
typedef struct dl_long_layout {
  size_t head;                                                  /* where the digits' number and sign are */
  enum { DL_LONG_UNKNOWN, DL_LONG_SIZED, DL_LONG_TAGGED } kind; /* up to CPython 3.11; from 3.12 on */
  uint64_t two; /* what the head of a positive number of two digits is */
} dl_long_layout;

/* Finds the layout by trying: no promise of CPython's says it. type_offset: in every
 * object, of its type. Leaves no exception. */
dl_long_layout dl_long_find(const dl_python *py, size_t type_offset);

enum { DL_LONG_BITS = 30 }; /* of a digit */

/* Reads an int from 0 to 2^60 - 1; false for any other, and where the layout is unknown. */
static inline bool dl_long_read(dl_long_layout layout, const PyObject *number, uint64_t *out) {
  const char *at = (const char *)number + layout.head;
  uint64_t head, digits;
  uint32_t digit[2] = {0, 0};
  memcpy(&head, at, sizeof head);
  if (layout.kind == DL_LONG_SIZED) {
    digits = head; /* negative for a negative number */
  } else {
    enum { NEGATIVE = 2 };
    if (layout.kind == DL_LONG_UNKNOWN || (head & 3) == NEGATIVE) return false;
    digits = head >> 3;
  }
  if (digits > 2) return false;
  if (digits > 0) memcpy(&digit[0], at + sizeof head, sizeof digit[0]);
  if (digits > 1) memcpy(&digit[1], at + sizeof head + sizeof digit[0], sizeof digit[1]);
  *out = digit[0] | (uint64_t)digit[1] << DL_LONG_BITS;
  return true;
}

/* The same, quicker for a handle, which has two digits. */
static inline bool dl_long_read_handle(dl_long_layout layout, const PyObject *number, uint64_t *out) {
  const char *at = (const char *)number + layout.head;
  uint64_t head;
  uint32_t digit[2];
  memcpy(&head, at, sizeof head);
  if (__builtin_expect(head != layout.two, 0)) return dl_long_read(layout, number, out);
  memcpy(digit, at + sizeof head, sizeof digit);
  *out = digit[0] | (uint64_t)digit[1] << DL_LONG_BITS;
  return true;
}

#endif
