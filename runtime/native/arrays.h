/* NumPy's arrays: where one begins, and whether it looks like another. */

#ifndef DSLC_ARRAYS_H
#define DSLC_ARRAYS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

enum { RANK = 8, ALIGNED = 0x100, WRITEABLE = 0x400 };

/* An array as NumPy's C API lays it out: PyArrayObject, whose members no version has moved ("NumPy C-API, Python
   Types and C-Structures"). So no headers of NumPy are needed, and one build serves all its versions. */
typedef struct {
    PyObject_HEAD
    char *data;
    int rank;
    Py_ssize_t *extents, *strides;
    PyObject *base, *dtype;
    int flags;
} Ndarray;

/* What others have to be like: type and dtype by identity, extents and strides in bytes. */
typedef struct {
    PyTypeObject *type;
    PyObject *dtype;
    int rank, flags;
    uint64_t extent; /* bytes from the first element to behind the last */
    Py_ssize_t extents[2 * RANK];
} Array;

/* 1 where arrays like it can be told; a subclass may mean something else by its memory. */
static int like_of(Array *array, PyObject *object, int is_written)
{
    static PyTypeObject *ndarray;
    if (ndarray == NULL) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        if (numpy == NULL)
            return 0;
        ndarray = (PyTypeObject *)PyObject_GetAttrString(numpy, "ndarray");
        Py_DECREF(numpy);
    }
    if (ndarray == NULL || Py_TYPE(object) != ndarray)
        return 0;
    const Ndarray *found = (const Ndarray *)object;
    if (found->rank > RANK)
        return 0;
    array->type = (PyTypeObject *)Py_NewRef(Py_TYPE(object));
    array->dtype = Py_NewRef(found->dtype);
    array->rank = found->rank;
    array->flags = ALIGNED | (is_written ? WRITEABLE : 0);
    PyObject *size = PyObject_GetAttrString(object, "itemsize");
    if (size == NULL)
        return 0;
    array->extent = PyLong_AsUnsignedLongLong(size);
    Py_DECREF(size);
    for (int i = 0; i < found->rank; i++) {
        if (found->extents[i] == 0 || found->strides[i] < 0)
            return 0; /* what is empty or runs backwards is for the long way */
        array->extents[i] = found->extents[i];
        array->extents[RANK + i] = found->strides[i];
        array->extent += (uint64_t)((found->extents[i] - 1) * found->strides[i]);
    }
    return (found->flags & array->flags) == array->flags;
}

static int is_like(const Array *array, PyObject *object, uint64_t *begin)
{
    const Ndarray *found = (const Ndarray *)object;
    if (Py_TYPE(object) != array->type || found->dtype != array->dtype || found->rank != array->rank
        || (found->flags & array->flags) != array->flags)
        return 0;
    size_t size = (size_t)array->rank * sizeof *found->extents;
    if (memcmp(found->extents, array->extents, size) || memcmp(found->strides, array->extents + RANK, size))
        return 0;
    *begin = (uint64_t)(uintptr_t)found->data;
    return 1;
}

#endif
