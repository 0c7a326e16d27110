"""The gradient of mean((x w)²) from Python, by ctypes alone.

    python3 gradient.py $(pkg-config --variable=libdir tapeformer)
"""
import ctypes, sys

c = ctypes.CDLL(sys.argv[1] + "/libtapeformer.so")


class Shape(ctypes.Structure):
    _fields_ = [("rank", ctypes.c_int), ("size", ctypes.c_long * 6)]


def shape(*sizes):
    return Shape(len(sizes), (ctypes.c_long * 6)(*sizes))


def array(*values):
    return (ctypes.c_float * len(values))(*values)


floats, tensor = ctypes.POINTER(ctypes.c_float), ctypes.c_void_p
for name, result, arguments in [
    ("tape_new", ctypes.c_void_p, []),
    ("tape_leaf", tensor, [ctypes.c_void_p, Shape, floats, floats]),
    ("tape_matmul", tensor, [ctypes.c_void_p, tensor, tensor]),
    ("tape_square", tensor, [ctypes.c_void_p, tensor]),
    ("tape_mean", tensor, [ctypes.c_void_p, tensor, ctypes.c_int]),
    ("tape_backward", None, [ctypes.c_void_p, tensor]),
    ("tape_free", None, [ctypes.c_void_p]),
]:
    getattr(c, name).restype, getattr(c, name).argtypes = result, arguments

x, w, dw = array(1, 2, 3, 4), array(5, -1), array(0, 0)
t = c.tape_new()
product = c.tape_matmul(t, c.tape_leaf(t, shape(2, 2), x, None), c.tape_leaf(t, shape(2, 1), w, dw))
c.tape_backward(t, c.tape_mean(t, c.tape_square(t, product), -(2**31)))  # ALL_AXES
c.tape_free(t)
print("dw =", list(dw))
assert list(dw) == [36.0, 50.0]  # mean over i of 2 (x w)_i x_i: x w = (3, 11)
