/* Scalars of a call as words of 64 bits. */

#ifndef DSLC_SCALARS_H
#define DSLC_SCALARS_H

#include <Python.h>
#include <stdint.h>
#include <string.h>

/* A scalar as a word: 0 where it is none of its kind. The way without C says what is wrong. */
static int scalar_of(char kind, PyObject *object, uint64_t *into)
{
    if (kind == 'b') {
        *into = object == Py_True;
        return PyBool_Check(object);
    }
    if (kind == 'f') {
        double real = PyFloat_CheckExact(object)  ? PyFloat_AS_DOUBLE(object)
                      : PyLong_CheckExact(object) ? PyLong_AsDouble(object)
                                                  : -1;
        memcpy(into, &real, sizeof real);
        if (PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
        return PyFloat_CheckExact(object) || PyLong_CheckExact(object);
    }
    int outside = 1;
    *into = PyLong_CheckExact(object) ? (uint64_t)PyLong_AsLongLongAndOverflow(object, &outside) : 0;
    return !outside;
}

#endif
