#pragma once
struct PyObject;
struct PyModuleDef {
  int head;
  const char* name;
  const char* doc;
  long size;
  void* methods;
  void* slots;
  void* traverse;
  void* clear;
  void* free;
};
#define PyModuleDef_HEAD_INIT 0
#define PyMODINIT_FUNC extern "C" PyObject*
extern "C" PyObject* PyModule_Create(PyModuleDef*);
