/*
 * The Python builtin that launches: what it keeps. pycallable.c makes it, pycall.c
 * is what it does, pytypes.c learns how objects of a type are converted.
 */
#ifndef DL_PYCALLABLE_H
#define DL_PYCALLABLE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "exec.h"
#include "pyattributes.h"
#include "pylock.h"
#include "pylong.h"
#include "pyshims.h"
#include "python.h"

enum { MAX_TYPES = 64, MAX_PLACES = 32 };

/* How objects of one type are converted; python/src/dlaunch/_arguments.py gives
 * the first four, or the address of the type's exchange API, which is greater, or
 * a tuple: of that address and what _torch.py has found, or of a None and how to
 * read a type by its attributes. */
enum recipe { SLOW, INDEX, FLOAT, TRUTH, LONG, NONE, BYTES, ARRAY, EXCHANGE, ATTRIBUTES };

typedef struct known_type {
  PyObject *type; /* a strong reference: a dead type's address is used again */
  enum recipe recipe;
  const DLPackExchangeAPI *api; /* of EXCHANGE */
  dl_shims *shims;              /* of EXCHANGE: tried first, where there are any; ours */
  bool is_lazy;                 /* of EXCHANGE: an object may show other values than are in memory */
  dl_attributes *attributes;    /* of ATTRIBUTES; ours */
} known_type;

typedef struct callable { /* what the builtin's self, a capsule, holds */
  const dl_python *py;
  uint64_t kernel;
  dlaunch_config config;
  dl_lock lock;
  bool holds_lock, chooses_stream;
  int64_t handle_offset; /* in a DeviceArray, of the object that is its handle; -1: an attribute */
  size_t type_offset;    /* in every object, of its type */
  dl_long_layout long_layout;
  PyObject *leave, *raise, *recipe_of;
  const known_type *bound_type; /* of the bound tensor that says where launches go; NULL: those that are passed do */
  int32_t bound_device;
  bool counts_none;
  const known_type *last[MAX_PLACES]; /* the types of the last call's first arguments, or NULLs: seldom others come */
  uint32_t num_types;
  known_type types[MAX_TYPES];
} callable;

#define DL_CALLABLE "dlaunch_callable" /* the capsule's name */

extern _Atomic size_t dl_capsule_at; /* in a capsule, of its pointer; 0 where that is not known */

/* What the builtin's self holds: NULL with an exception set. */
static inline callable *dl_callable_of(PyObject *self) {
  size_t at = atomic_load_explicit(&dl_capsule_at, memory_order_relaxed);
  if (__builtin_expect(at != 0, 1)) return *(callable **)((char *)self + at);
  return dl_find_python()->PyCapsule_GetPointer(self, DL_CALLABLE);
}

static inline PyObject *dl_type_of(const callable *c, PyObject *object) {
  return *(PyObject **)((char *)object + c->type_offset);
}

/* NULL for a type that is not known yet. */
const known_type *dl_type_find(const callable *c, PyObject *type);

/* That of the argument with this index. */
static inline const known_type *dl_type_at(callable *c, size_t index, PyObject *type) {
  const known_type *last = index < MAX_PLACES ? c->last[index] : NULL;
  if (__builtin_expect(last != NULL && last->type == type, 1)) return last;
  const known_type *found = dl_type_find(c, type);
  if (index < MAX_PLACES) c->last[index] = found;
  return found;
}

/* Asks Python how to convert a type: NULL, perhaps with an exception set. */
const known_type *dl_type_learn(callable *c, PyObject *type);

/* Takes what `known` owns; NULL where there is no room. */
const known_type *dl_type_remember(callable *c, PyObject *type, known_type known);

void dl_type_forget(known_type *known);

/* METH_FASTCALL, with the capsule as self. */
PyObject *dl_python_call(PyObject *self, PyObject *const *objects, Py_ssize_t n);

#endif
