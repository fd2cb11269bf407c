/*
 * What dlaunch needs of CPython: the few functions of its stable ABI, found in
 * the running process, so that one build serves every version and none is
 * linked. Not a public header.
 */
#ifndef DL_PYTHON_H
#define DL_PYTHON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct _object PyObject; /* never looked into, but for its type */
typedef intptr_t Py_ssize_t;

typedef struct PyMethodDef {
  const char *name;
  void *function; /* of the kind that flags say */
  int flags;
  const char *doc;
} PyMethodDef;

enum { METH_O = 0x0008, METH_FASTCALL = 0x0080 };

/* name, result, parameters */
#define DL_PYTHON_FUNCTIONS(X)                                                      \
  X(Py_IncRef, void, (PyObject *))                                                  \
  X(Py_DecRef, void, (PyObject *))                                                  \
  X(Py_IsInitialized, int, (void))                                                  \
  X(PyEval_SaveThread, void *, (void))                                              \
  X(PyEval_RestoreThread, void, (void *))                                           \
  X(PyGILState_Ensure, int, (void))                                                 \
  X(PyGILState_Release, void, (int))                                                \
  X(PyErr_Clear, void, (void))                                                      \
  X(PyErr_Occurred, PyObject *, (void))                                             \
  X(PyErr_ExceptionMatches, int, (PyObject *))                                      \
  X(PyErr_NoMemory, PyObject *, (void))                                             \
  X(PyObject_Type, PyObject *, (PyObject *))                                        \
  X(PyObject_IsTrue, int, (PyObject *))                                             \
  X(PyObject_GetAttr, PyObject *, (PyObject *, PyObject *))                         \
  X(PyObject_GetAttrString, PyObject *, (PyObject *, const char *))                 \
  X(PyObject_CallFunction, PyObject *, (PyObject *, const char *, ...))             \
  X(PyObject_CallFunctionObjArgs, PyObject *, (PyObject *, ...))                    \
  X(PyObject_CallMethod, PyObject *, (PyObject *, const char *, const char *, ...)) \
  X(PyDict_GetItemWithError, PyObject *, (PyObject *, PyObject *))                  \
  X(PyDescr_NewMethod, PyObject *, (PyObject *, PyMethodDef *))                     \
  X(PyTuple_New, PyObject *, (Py_ssize_t))                                          \
  X(PyTuple_SetItem, int, (PyObject *, Py_ssize_t, PyObject *))                     \
  X(PyTuple_GetItem, PyObject *, (PyObject *, Py_ssize_t))                          \
  X(PyTuple_Size, Py_ssize_t, (PyObject *))                                         \
  X(PyNumber_Index, PyObject *, (PyObject *))                                       \
  X(PyLong_FromLongLong, PyObject *, (long long))                                   \
  X(PyLong_AsLongLong, long long, (PyObject *))                                     \
  X(PyLong_AsLongLongAndOverflow, long long, (PyObject *, int *))                   \
  X(PyLong_AsUnsignedLongLong, unsigned long long, (PyObject *))                    \
  X(PyFloat_AsDouble, double, (PyObject *))                                         \
  X(PyBytes_AsStringAndSize, int, (PyObject *, char **, Py_ssize_t *))              \
  X(PyUnicode_FromString, PyObject *, (const char *))                               \
  X(PyUnicode_InternFromString, PyObject *, (const char *))                         \
  X(PyCapsule_New, PyObject *, (void *, const char *, void (*)(PyObject *)))        \
  X(PyCapsule_GetPointer, void *, (PyObject *, const char *))                       \
  X(PyCapsule_IsValid, int, (PyObject *, const char *))                             \
  X(PyCFunction_NewEx, PyObject *, (PyMethodDef *, PyObject *, PyObject *))

/* objects that are not reached through a pointer */
#define DL_PYTHON_OBJECTS(X) \
  X(_Py_NoneStruct)          \
  X(PyBaseObject_Type)       \
  X(PyLong_Type)             \
  X(PyFloat_Type)            \
  X(PyBool_Type)             \
  X(PyTuple_Type)            \
  X(PyBytes_Type)

typedef struct dl_python {
#define X(name, result, parameters) result(*name) parameters;
  DL_PYTHON_FUNCTIONS(X)
#undef X
#define X(name) PyObject *name;
  DL_PYTHON_OBJECTS(X)
#undef X
  PyObject **PyExc_Exception; /* where the class is */
} dl_python;

/* The interpreter of this process, or NULL where one of these is not found. */
const dl_python *dl_find_python(void);

/* Where every object has its type: at the end of what all have. No promise of
 * CPython's says so, and it is checked on None. False, without an exception, where
 * it is not so. */
bool dl_find_type_offset(const dl_python *py, size_t *offset);

/* Where a capsule has its pointer: found by trying, as no promise of CPython's says it. 0
 * where it is not found. Leaves no exception. */
size_t dl_find_capsule_offset(const dl_python *py, size_t type_offset);

/* Whether references to None are counted: not from CPython 3.12 on. */
bool dl_counts_none(const dl_python *py);

/* Clears the exception of something that will be tried another way. False for one that
 * is no Exception (KeyboardInterrupt): it stays, and ends the call. */
bool dl_clear_exception(const dl_python *py);

/* A new reference to None, which is counted before Python 3.12. */
PyObject *dl_none(const dl_python *py);

#endif
