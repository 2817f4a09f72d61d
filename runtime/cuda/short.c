/* The short way of a launch over torch's tensors, in C: see short_path.py, which says the same in Python
   and is used where this was not built.

   A `Short` is called with (arguments, stream). It compares the tensors, reads where they begin and what the
   scalars are, and looks these and the stream up among those of earlier calls. Where they are known, all that
   is left is one call of the driver with a configuration and parameters that were filled in then.

   Tensors are read by DLPack's C exchange interface (DLPack 1.3, dlpack.h) where their library has it: one
   call of C for each, without Python. What was not launched with before goes through torch's guards as well,
   which tell more, and without the interface every call does. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <structmember.h>

#include "short_scalars.h"
#include "short_table.h"
#include "short_tensors.h"

enum { MOST = 62 };

typedef int (*Launch)(const void *config, void *function, void **parameters, void **extra);

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *check, *query, *device, *handle, *anew, *again, *capsule;
    const Exchange *exchange; /* of the capsule, or NULL */
    Like *likes; /* a tensor each, in order */
    Py_ssize_t tensors;
    Launch launch;
    void *function;
    Py_ssize_t count;
    char kinds[MOST + 1]; /* an argument each: tensor, integer, float, boolean */
    Table table;
} Short;

static PyObject *data_ptr, *is_neg; /* names of methods */

/* What is not known is for Python: `anew(stream, *arguments)` gives False where they do not fit, else it has
   launched, and gives True or, where they have come before, a frame to remember. */
static PyObject *ask(Short *self, const uint64_t *key, uint64_t hash)
{
    PyObject *given = PyTuple_New(self->count + 1);
    for (Py_ssize_t i = 0; given != NULL && i <= self->count; i++) {
        PyObject *number = number_for(i ? self->kinds[i - 1] : 't', key[i]);
        if (number == NULL)
            Py_CLEAR(given);
        else
            PyTuple_SET_ITEM(given, i, number);
    }
    if (given == NULL)
        return NULL;
    PyObject *made = PyObject_CallObject(self->anew, given);
    Py_DECREF(given);
    if (made == NULL || !PyTuple_Check(made))
        return made;
    int failed = remember(&self->table, key, hash, made);
    Py_DECREF(made);
    return failed ? NULL : Py_NewRef(Py_True);
}

static int number_of(PyObject *object, uint64_t *into)
{
    if (object == NULL)
        return -1;
    *into = PyLong_AsUnsignedLongLong(object);
    Py_DECREF(object);
    return *into == (uint64_t)-1 && PyErr_Occurred() ? -1 : 0;
}

/* Where the tensors begin, into the key, by the exchange interface; 0 where they are not like the first. */
static int read_views(Short *self, PyObject *const *arguments, uint64_t *key)
{
    const Like *like = self->likes;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        if (self->kinds[i] != 't')
            continue;
        View view;
        if (Py_TYPE(arguments[i]) != like->type || !view_of(self->exchange, arguments[i], &view)
            || !is_like(like, &view) || (like->asked && !is_plain(arguments[i], is_neg)))
            return 0;
        key[i + 1] = (uint64_t)(uintptr_t)view.data + view.byte_offset;
        like++;
    }
    return 1;
}

/* The stream of the call, as a number; -1 with an exception. */
static int stream_of(Short *self, PyObject *given, uint64_t *into)
{
    if (given != Py_None)
        return number_of(PyObject_CallOneArg(self->handle, given), into);
    void *current;
    if (self->exchange != NULL && self->exchange->stream != NULL && self->likes->view.device.type == CUDA_DEVICE) {
        if (self->exchange->stream(CUDA_DEVICE, self->likes->view.device.id, &current) == 0) {
            *into = (uint64_t)(uintptr_t)current;
            return 0;
        }
        PyErr_Clear();
    }
    return number_of(PyObject_CallOneArg(self->query, self->device), into);
}

static PyObject *run(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Short *self = (Short *)object;
    if (PyVectorcall_NARGS(nargsf) != 2 || names != NULL || !PyTuple_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of arguments, and a stream");
        return NULL;
    }
    if (PyTuple_GET_SIZE(args[0]) != self->count)
        Py_RETURN_FALSE;
    PyObject *const *arguments = ((PyTupleObject *)args[0])->ob_item; /* the caller holds them */
    PyObject *tensors[MOST];
    size_t many = 0;
    uint64_t key[MOST + 1];
    for (Py_ssize_t i = 0; i < self->count; i++) {
        if (self->kinds[i] == 't')
            tensors[many++] = arguments[i];
        else if (!scalar_of(self->kinds[i], arguments[i], &key[i + 1]))
            Py_RETURN_FALSE;
    }
    int viewed = self->exchange != NULL;
    if (viewed && !read_views(self, arguments, key))
        Py_RETURN_FALSE;
    if (!viewed) {
        PyObject *alike = PyObject_Vectorcall(self->check, tensors, many, NULL);
        if (alike != Py_True)
            return alike;
        Py_DECREF(alike);
        for (Py_ssize_t i = 0; i < self->count; i++)
            if (self->kinds[i] == 't'
                && number_of(PyObject_CallMethodNoArgs(arguments[i], data_ptr), &key[i + 1]))
                return NULL;
    }
    if (stream_of(self, args[1], &key[0]))
        return NULL;

    uint64_t hash = hash_of(key, self->count + 1);
    Entry *entry = slot_of(&self->table, key, hash);
    if (entry == NULL || entry->key == NULL) {
        PyObject *alike = viewed ? PyObject_Vectorcall(self->check, tensors, many, NULL) : Py_NewRef(Py_True);
        if (alike != Py_True)
            return alike;
        Py_DECREF(alike);
        return ask(self, key, hash);
    }
    PyObject *frame = Py_NewRef(entry->frame); /* another thread may empty the table meanwhile */
    int status;
    Launch launch = self->launch;
    const void *config = entry->config;
    void **parameters = entry->parameters;
    Py_BEGIN_ALLOW_THREADS
    status = launch(config, self->function, parameters, NULL);
    Py_END_ALLOW_THREADS
    PyObject *done = status ? PyObject_CallFunction(self->again, "Oi", frame, status)
                            : Py_NewRef(Py_None);
    Py_DECREF(frame);
    if (done == NULL)
        return NULL;
    Py_DECREF(done);
    Py_RETURN_TRUE;
}

/* What the tensors of the first call look like; without the interface if one of them cannot be read by it. */
static int look(Short *self, PyObject *capsule, PyObject *tensors)
{
    if (capsule == Py_None)
        return 0;
    const Exchange *exchange = PyCapsule_GetPointer(capsule, "dlpack_exchange_api");
    if (exchange == NULL)
        return -1;
    if (exchange->version.major != 1 || exchange->view == NULL)
        return 0;
    Py_ssize_t many = PyTuple_GET_SIZE(tensors);
    self->likes = PyMem_Calloc((size_t)many + 1, sizeof *self->likes);
    if (self->likes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (; self->tensors < many; self->tensors++)
        if (!like_of(exchange, PyTuple_GET_ITEM(tensors, self->tensors), &self->likes[self->tensors]))
            return 0;
    self->capsule = Py_NewRef(capsule);
    self->exchange = exchange;
    return 0;
}

static int init(PyObject *object, PyObject *args, PyObject *Py_UNUSED(named))
{
    Short *self = (Short *)object;
    unsigned long long launch, function;
    PyObject *check, *query, *device, *handle, *anew, *again, *capsule, *tensors;
    const char *kinds;
    Py_ssize_t count;
    if (self->check != NULL) {
        PyErr_SetString(PyExc_TypeError, "it is made once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "s#OOOOOOKKOO!", &kinds, &count, &check, &query, &device, &handle, &anew, &again,
                          &launch, &function, &capsule, &PyTuple_Type, &tensors))
        return -1;
    if (count < 0 || count > MOST) {
        PyErr_Format(PyExc_ValueError, "at most %d arguments", MOST);
        return -1;
    }
    self->check = Py_NewRef(check);
    self->query = Py_NewRef(query);
    self->device = Py_NewRef(device);
    self->handle = Py_NewRef(handle);
    self->anew = Py_NewRef(anew);
    self->again = Py_NewRef(again);
    self->launch = (Launch)(uintptr_t)launch;
    self->function = (void *)(uintptr_t)function;
    self->count = count;
    self->table.words = count + 1;
    memcpy(self->kinds, kinds, (size_t)count);
    self->vectorcall = run;
    return look(self, capsule, tensors);
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Short *self = (Short *)object;
    Py_VISIT(self->check);
    Py_VISIT(self->query);
    Py_VISIT(self->device);
    Py_VISIT(self->handle);
    Py_VISIT(self->anew);
    Py_VISIT(self->again);
    Py_VISIT(self->capsule);
    for (Py_ssize_t i = 0; i < self->tensors; i++)
        Py_VISIT(self->likes[i].type);
    for (int i = 0; i < SLOTS; i++)
        Py_VISIT(self->table.entries[i].frame);
    return 0;
}

static int clear(PyObject *object)
{
    Short *self = (Short *)object;
    Py_CLEAR(self->check);
    Py_CLEAR(self->query);
    Py_CLEAR(self->device);
    Py_CLEAR(self->handle);
    Py_CLEAR(self->anew);
    Py_CLEAR(self->again);
    Py_CLEAR(self->capsule);
    self->exchange = NULL;
    while (self->tensors > 0)
        Py_CLEAR(self->likes[--self->tensors].type);
    PyMem_Free(self->likes);
    self->likes = NULL;
    forget_all(&self->table);
    return 0;
}

static void dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject ShortType = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dslc.runtime.cuda._short.Short",
    .tp_basicsize = sizeof(Short),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Short(kinds, check, query, device, handle, anew, again, launch, function, exchange, tensors)",
    .tp_new = PyType_GenericNew,
    .tp_init = init,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Short, vectorcall),
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_dealloc = dealloc,
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_short", NULL, -1, NULL};

PyMODINIT_FUNC PyInit__short(void)
{
    data_ptr = PyUnicode_InternFromString("data_ptr");
    is_neg = PyUnicode_InternFromString("is_neg");
    if (data_ptr == NULL || is_neg == NULL || PyType_Ready(&ShortType) < 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || PyModule_AddObjectRef(made, "Short", (PyObject *)&ShortType) < 0
        || PyModule_AddIntConstant(made, "MOST", MOST) < 0) {
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}
