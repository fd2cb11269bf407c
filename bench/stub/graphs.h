/*
 * Graphs of the stand-in for libcuda: what is captured is lost, but for the user
 * objects. Each thread can capture one stream at a time.
 */
#ifndef STUB_GRAPHS_H
#define STUB_GRAPHS_H

enum { MOST_OBJECTS = 256 };

typedef struct user_object {
  void (*destroy)(void *);
  void *data;
  unsigned references;
} user_object;

typedef struct graph { /* a CUgraph or a CUgraphExec */
  unsigned num_objects;
  user_object *objects[MOST_OBJECTS];
} graph;

static pthread_mutex_t graphs_lock = PTHREAD_MUTEX_INITIALIZER;
static _Thread_local void *captured_stream;
static _Thread_local graph *captured_into;

static int is_captured(const void *stream) { return captured_into != NULL && stream == captured_stream; }

result cuStreamBeginCapture_v2(void *stream, int mode) {
  if (captured_into != NULL || mode < 0 || mode > 2) return INVALID_VALUE;
  captured_into = calloc(1, sizeof *captured_into);
  captured_stream = stream;
  return captured_into != NULL ? SUCCESS : OUT_OF_MEMORY;
}

result cuStreamEndCapture(void *stream, graph **out) {
  if (!is_captured(stream)) return INVALID_VALUE;
  *out = captured_into;
  captured_into = NULL;
  return SUCCESS;
}

result cuStreamIsCapturing(void *stream, int *status) {
  *status = is_captured(stream);
  return SUCCESS;
}

result cuStreamGetCaptureInfo_v2(void *stream, int *status, uint64_t *id, graph **out, void **dependencies,
                                 size_t *num_dependencies) {
  if (id != NULL || dependencies != NULL || num_dependencies != NULL) return INVALID_VALUE;
  if (out != NULL) *out = captured_into;
  return cuStreamIsCapturing(stream, status);
}

/* A driver calls destructors on a thread of its own, some time later. */
static void *destroy_object(void *of) {
  user_object *object = of;
  object->destroy(object->data);
  free(object);
  return NULL;
}

static result drop(user_object *object) {
  pthread_t thread;
  pthread_mutex_lock(&graphs_lock);
  int is_last = --object->references == 0;
  pthread_mutex_unlock(&graphs_lock);
  if (!is_last) return SUCCESS;
  if (pthread_create(&thread, NULL, destroy_object, object)) return OUT_OF_MEMORY;
  pthread_detach(thread);
  return SUCCESS;
}

result cuUserObjectCreate(user_object **out, void *data, void (*destroy)(void *), unsigned references, unsigned flags) {
  if (flags != 1 || references == 0) return INVALID_VALUE; /* NO_DESTRUCTOR_SYNC is required */
  *out = malloc(sizeof **out);
  if (*out == NULL) return OUT_OF_MEMORY;
  **out = (user_object){destroy, data, references};
  return SUCCESS;
}

result cuUserObjectRelease(user_object *object, unsigned count) { return count == 1 ? drop(object) : INVALID_VALUE; }

result cuGraphRetainUserObject(graph *to, user_object *object, unsigned count, unsigned flags) {
  const unsigned move = 1;
  if (count != 1 || flags > move) return INVALID_VALUE;
  pthread_mutex_lock(&graphs_lock);
  int fits = to->num_objects < MOST_OBJECTS;
  if (fits) to->objects[to->num_objects++] = object;
  if (fits && flags != move) object->references++;
  pthread_mutex_unlock(&graphs_lock);
  return fits ? SUCCESS : OUT_OF_MEMORY;
}

result cuGraphInstantiateWithFlags(graph **exec, const graph *from, uint64_t flags) {
  (void)flags;
  *exec = malloc(sizeof **exec);
  if (*exec == NULL) return OUT_OF_MEMORY;
  **exec = *from;
  pthread_mutex_lock(&graphs_lock);
  for (unsigned i = 0; i < from->num_objects; i++) from->objects[i]->references++;
  pthread_mutex_unlock(&graphs_lock);
  return SUCCESS;
}

result cuGraphLaunch(const graph *exec, void *stream) {
  (void)stream;
  return exec != NULL ? SUCCESS : INVALID_VALUE;
}

result cuGraphDestroy(graph *of) {
  for (unsigned i = 0; i < of->num_objects; i++) drop(of->objects[i]);
  free(of);
  return SUCCESS;
}

result cuGraphExecDestroy(graph *exec) { return cuGraphDestroy(exec); }

#endif
