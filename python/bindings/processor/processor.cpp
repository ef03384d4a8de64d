// craton._processor: what this processor can run. For every processor of the architecture, so that it can be asked before an
// extension is loaded that is not.

#include <Python.h>

namespace {

PyObject* level(PyObject*, PyObject*) {
    const char* found = "";
#if defined(__x86_64__)
    __builtin_cpu_init(); // asks the system too whether it saves the wide registers
    const auto has_v2 = [] {
        return __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("ssse3") && __builtin_cpu_supports("popcnt");
    };
    const auto has_v3 = [] {
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
               __builtin_cpu_supports("bmi2") && __builtin_cpu_supports("f16c") && __builtin_cpu_supports("lzcnt");
    };
    const auto has_v4 = [] {
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512cd") &&
               __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
    };
    found = "x86-64";
    if (has_v2()) {
        found = "x86-64-v2";
        if (has_v3()) found = has_v4() ? "x86-64-v4" : "x86-64-v3";
    }
#endif
    return PyUnicode_FromString(found);
}

PyMethodDef methods[] = {
    {"level", level, METH_NOARGS,
     "level() -> str\n--\n\nThe level of the x86-64 architecture that this processor and system have; empty on others."},
    {nullptr, nullptr, 0, nullptr}};

PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_processor", nullptr, 0, methods, nullptr, nullptr, nullptr, nullptr};

} // namespace

PyMODINIT_FUNC PyInit__processor() { return PyModule_Create(&definition); }
