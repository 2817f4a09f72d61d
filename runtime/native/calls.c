/* Calls of kernels on this machine's CPU, in C: host.py does the same in Python, where this was not built.

   `run` has threads take the turns of one call. A `Short` is made for calls like one that was made: called with
   (arguments, stream), it compares the arrays with those of the first call, fills in where they begin and what
   the scalars are, and runs the kernel, or the kernels of a program in order. It gives False where anything differs, and nothing has happened then;
   the long way says what is wrong, if something is. */

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>
#include <structmember.h>

#include "arrays.h"
#include "scalars.h"
#include "turns.h"

enum { MOST = 62, WORDS = 254, STEPS = 16, REGIONS = 32, ALIGN = 64 };

typedef struct {
    Kernel kernel;
    int64_t turns;
    int threads;
    size_t scratch;
    Py_ssize_t first; /* of its words */
} Step;

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *failed; /* is called with the number of a step and its result that is not 0 */
    Step steps[STEPS];
    size_t memory; /* bytes of buffers between kernels and of workspaces, */
    struct {
        size_t offset, size;
    } zeroed[REGIONS]; /* of which these are zeros before a call */
    Py_ssize_t count, words, many, regions;
    char kinds[MOST + 1]; /* an argument each: array, array that is written, integer, float, boolean */
    Array arrays[MOST];
    int64_t fixed[MOST]; /* scalars that the turns or other words follow from are as they were, */
    char is_fixed[MOST]; /* where this says so */
    uint64_t template[WORDS];
    struct {
        short argument; /* whose value is added to the word, or -1 */
        char form; /* how a scalar is written: i, f, d; m is an offset in the call's memory */
    } sources[WORDS];
} Short;

static int is_array(char kind) { return kind == 'a' || kind == 'w'; }

static uint64_t word_of(char form, uint64_t value)
{
    double real;
    float single;
    uint32_t bits;
    if (form != 'f')
        return value;
    memcpy(&real, &value, sizeof real);
    single = (float)real;
    memcpy(&bits, &single, sizeof bits);
    return bits;
}

/* Whether what is written lies apart from all others. */
static int are_apart(const Short *self, const uint64_t *values)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        if (self->kinds[i] != 'w')
            continue;
        for (Py_ssize_t j = 0; j < self->count; j++) {
            if (j == i || !is_array(self->kinds[j]) || (self->kinds[j] == 'w' && j < i))
                continue;
            if (values[i] < values[j] + self->arrays[j].extent && values[j] < values[i] + self->arrays[i].extent)
                return 0;
        }
    }
    return 1;
}

static PyObject *call(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Short *self = (Short *)object;
    if (PyVectorcall_NARGS(nargsf) != 2 || names != NULL || !PyTuple_Check(args[0])) {
        PyErr_SetString(PyExc_TypeError, "expected a tuple of arguments, and a stream");
        return NULL;
    }
    if (PyTuple_GET_SIZE(args[0]) != self->count || args[1] != Py_None)
        Py_RETURN_FALSE;
    PyObject *const *given = ((PyTupleObject *)args[0])->ob_item; /* the caller holds them */
    uint64_t values[MOST], words[WORDS];
    for (Py_ssize_t i = 0; i < self->count; i++) {
        if (is_array(self->kinds[i])) {
            if (!is_like(&self->arrays[i], given[i], &values[i]))
                Py_RETURN_FALSE;
        } else if (!scalar_of(self->kinds[i], given[i], &values[i])
                   || (self->is_fixed[i] && values[i] != (uint64_t)self->fixed[i])) {
            Py_RETURN_FALSE;
        }
    }
    if (!are_apart(self, values))
        Py_RETURN_FALSE;
    char *memory = NULL;
    if (self->memory && (memory = aligned_alloc(ALIGN, self->memory)) == NULL)
        return PyErr_NoMemory();
    for (Py_ssize_t i = 0; i < self->words; i++) {
        int from = self->sources[i].argument;
        words[i] = self->template[i];
        if (from >= 0)
            words[i] += word_of(self->sources[i].form, values[from]);
        if (self->sources[i].form == 'm')
            words[i] += (uint64_t)(uintptr_t)memory;
    }
    int32_t failed = 0;
    int step = -1;
    Py_BEGIN_ALLOW_THREADS
    for (Py_ssize_t i = 0; i < self->regions; i++)
        memset(memory + self->zeroed[i].offset, 0, self->zeroed[i].size);
    while (failed == 0 && ++step < self->many) {
        const Step *s = &self->steps[step];
        failed = run_turns(s->kernel, words + s->first, s->turns, s->threads, s->scratch);
    }
    free(memory);
    Py_END_ALLOW_THREADS
    if (failed == NO_MEMORY)
        return PyErr_NoMemory();
    if (failed) {
        PyObject *said = PyObject_CallFunction(self->failed, "ii", step, failed);
        Py_XDECREF(said);
        return said == NULL ? NULL : Py_NewRef(Py_True);
    }
    Py_RETURN_TRUE;
}

/* Of every step (kernel, turns, threads, scratch, words), of every word (argument, form, word), of every argument
   (kind, array or what a scalar has to be or None). */
static int read_words(Short *self, PyObject *words)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(words); i++) {
        int argument, form;
        unsigned long long word;
        if (self->words >= WORDS || !PyArg_ParseTuple(PyTuple_GET_ITEM(words, i), "iCK", &argument, &form, &word)
            || argument >= self->count)
            return -1;
        self->sources[self->words].argument = (short)argument;
        self->sources[self->words].form = (char)form;
        self->template[self->words++] = word;
    }
    return 0;
}

static int read_steps(Short *self, PyObject *steps)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        unsigned long long kernel;
        long long turns;
        Py_ssize_t scratch;
        PyObject *words;
        int threads;
        if (self->many >= STEPS || !PyArg_ParseTuple(PyTuple_GET_ITEM(steps, i), "KLinO!", &kernel, &turns, &threads,
                                                     &scratch, &PyTuple_Type, &words))
            return -1;
        self->steps[self->many++] =
            (Step){(Kernel)(uintptr_t)kernel, turns, threads, (size_t)scratch, self->words};
        if (read_words(self, words))
            return -1;
    }
    return 0;
}

static int read_regions(Short *self, PyObject *regions)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(regions); i++) {
        Py_ssize_t offset, size;
        if (self->regions >= REGIONS || !PyArg_ParseTuple(PyTuple_GET_ITEM(regions, i), "nn", &offset, &size))
            return -1;
        self->zeroed[self->regions].offset = (size_t)offset;
        self->zeroed[self->regions++].size = (size_t)size;
    }
    return 0;
}

static int read_arguments(Short *self, PyObject *arguments)
{
    self->count = PyTuple_GET_SIZE(arguments);
    if (self->count > MOST)
        return -1;
    for (Py_ssize_t i = 0; i < self->count; i++) {
        int kind;
        PyObject *like;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(arguments, i), "CO", &kind, &like))
            return -1;
        self->kinds[i] = (char)kind;
        if (is_array((char)kind)) {
            if (!like_of(&self->arrays[i], like, kind == 'w'))
                return -1;
        } else if (like != Py_None) {
            uint64_t value;
            if (!scalar_of((char)kind, like, &value))
                return -1;
            self->fixed[i] = (int64_t)value;
            self->is_fixed[i] = 1;
        }
    }
    return 0;
}

static int init(PyObject *object, PyObject *args, PyObject *Py_UNUSED(named))
{
    Short *self = (Short *)object;
    Py_ssize_t memory;
    PyObject *arguments, *steps, *regions, *failed;
    if (self->failed != NULL) {
        PyErr_SetString(PyExc_TypeError, "it is made once");
        return -1;
    }
    if (!PyArg_ParseTuple(args, "O!O!nO!O", &PyTuple_Type, &arguments, &PyTuple_Type, &steps, &memory, &PyTuple_Type,
                          &regions, &failed))
        return -1;
    self->memory = (size_t)memory;
    self->failed = Py_NewRef(failed);
    self->vectorcall = call;
    if (read_arguments(self, arguments) || read_steps(self, steps) || read_regions(self, regions)) {
        if (!PyErr_Occurred())
            PyErr_SetString(PyExc_ValueError, "there is no short way for such arguments");
        return -1;
    }
    return 0;
}

static int traverse(PyObject *object, visitproc visit, void *arg)
{
    Short *self = (Short *)object;
    Py_VISIT(self->failed);
    for (Py_ssize_t i = 0; i < MOST; i++) {
        Py_VISIT(self->arrays[i].type);
        Py_VISIT(self->arrays[i].dtype);
        Py_VISIT(self->arrays[i].storage);
    }
    return 0;
}

static int clear(PyObject *object)
{
    Short *self = (Short *)object;
    Py_CLEAR(self->failed);
    self->count = 0;
    for (Py_ssize_t i = 0; i < MOST; i++) {
        Py_CLEAR(self->arrays[i].type);
        Py_CLEAR(self->arrays[i].dtype);
        Py_CLEAR(self->arrays[i].storage);
    }
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
    .tp_name = "dslc.runtime.native._calls.Short",
    .tp_basicsize = sizeof(Short),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_doc = "Short(arguments, steps, memory, zeroed, failed)",
    .tp_new = PyType_GenericNew,
    .tp_init = init,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Short, vectorcall),
    .tp_traverse = traverse,
    .tp_clear = clear,
    .tp_dealloc = dealloc,
};

static PyObject *run(PyObject *Py_UNUSED(module), PyObject *args)
{
    unsigned long long kernel, words;
    long long turns;
    int threads;
    Py_ssize_t scratch;
    int32_t failed;
    if (!PyArg_ParseTuple(args, "KKLin", &kernel, &words, &turns, &threads, &scratch))
        return NULL;
    Py_BEGIN_ALLOW_THREADS
    failed = run_turns((Kernel)(uintptr_t)kernel, (const uint64_t *)(uintptr_t)words, turns, threads, (size_t)scratch);
    Py_END_ALLOW_THREADS
    if (failed == NO_MEMORY)
        return PyErr_NoMemory();
    return PyLong_FromLong(failed);
}

static PyMethodDef methods[] = {
    {"run", run, METH_VARARGS, "run(kernel, words, turns, threads, scratch) -> the first result that is not 0"},
    {NULL, NULL, 0, NULL},
};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "_calls", NULL, -1, methods};

PyMODINIT_FUNC PyInit__calls(void)
{
    if (PyType_Ready(&ShortType) < 0)
        return NULL;
    PyObject *made = PyModule_Create(&module);
    if (made == NULL || PyModule_AddObjectRef(made, "Short", (PyObject *)&ShortType) < 0
        || PyModule_AddIntConstant(made, "ADDS", 1) < 0) { /* values to words that are not 0 */
        Py_XDECREF(made);
        return NULL;
    }
    return made;
}
