/* Arguments as words of a key, and back. */

#ifndef DSLC_SHORT_SCALARS_H
#define DSLC_SHORT_SCALARS_H

#include <Python.h>
#include <stdint.h>

/* A word as Python's number of its kind. */
static PyObject *number_for(char kind, uint64_t word)
{
    double real;
    switch (kind) {
    case 'i':
        return PyLong_FromLongLong((long long)word);
    case 'b':
        return PyBool_FromLong((long)word);
    case 'f':
        memcpy(&real, &word, sizeof real);
        return PyFloat_FromDouble(real);
    default:
        return PyLong_FromUnsignedLongLong(word);
    }
}

/* A scalar as a word of the key: 0 where it is none of its kind. The way without C says what is wrong. */
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
