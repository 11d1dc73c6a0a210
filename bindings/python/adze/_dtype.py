"""The types of elements: adze.float32 and so on."""


class dtype(int):
    """The type of a tensor's elements. There is one object for each: `x.dtype is adze.float32`."""
    _all = {}

    def __new__(cls, number):
        try:
            return cls._all[number]
        except KeyError:
            raise ValueError(f'no dtype has the number {number}') from None

    def __repr__(self):
        return 'adze.' + self._name

    __str__ = __repr__

    def __reduce__(self):
        return dtype, (int(self),)

    @property
    def is_floating_point(self):
        return self._name.startswith(('float', 'bfloat'))

    @property
    def itemsize(self):
        return self._itemsize


for _number, (_name, _size) in enumerate([('float32', 4), ('float64', 8), ('int32', 4), ('int64', 8), ('uint8', 1),
                                          ('bool', 1), ('float16', 2), ('bfloat16', 2)]):
    _made = int.__new__(dtype, _number)
    _made._name, _made._itemsize = _name, _size
    dtype._all[_number] = globals()[_name] = _made
float, double, half, int_, long = float32, float64, float16, int32, int64  # noqa: F821
