"""The procedures of adze.f90 that take Fortran arrays of every kind and rank."""

KINDS = [('r4', 'real(c_float)', 'ADZ_F32'), ('r8', 'real(c_double)', 'ADZ_F64'),
         ('i1', 'integer(c_int8_t)', 'ADZ_U8'), ('i4', 'integer(c_int32_t)', 'ADZ_I32'),
         ('i8', 'integer(c_int64_t)', 'ADZ_I64'), ('l1', 'logical(c_bool)', 'ADZ_BOOL')]
RANKS = range(1, 9)

FROM = '''  function adzf_from_{k}_{r}(array, transposed) result(adz_r)
    {t}, intent(in), contiguous, target :: array({colons})
    logical, intent(in), optional :: transposed
    type(adz_tensor) :: adz_r
    type(c_ptr) :: at
    at = c_null_ptr
    if (size(array) > 0) at = c_loc(array)
    adz_r = adzf_from(at, shape(array, kind=c_int64_t), {d}, transposed)
  end function
'''
WRAP = '''  function adzf_wrap_{k}_{r}(array) result(adz_r)
    {t}, intent(in), target :: array({colons})
    type(adz_tensor) :: adz_r
    type(c_ptr) :: at
    at = c_null_ptr
    if (size(array) > 0) at = c_loc(array({ones}))
    adz_r = adzf_wrap(at, shape(array, kind=c_int64_t), {d}, is_contiguous(array))
  end function
'''
READ = '''  function adzf_read_{k}_{r}(t, array, transposed) result(adz_r)
    type(adz_tensor), intent(in) :: t
    {t}, intent(inout), contiguous, target :: array({colons})
    logical, intent(in), optional :: transposed
    integer(c_int) :: adz_r
    type(c_ptr) :: at
    at = c_null_ptr
    if (size(array) > 0) at = c_loc(array)
    adz_r = adzf_read(t, at, shape(array, kind=c_int64_t), {d}, transposed)
  end function
'''
WRITE = '''  function adzf_write_{k}_{r}(t, array, transposed) result(adz_r)
    type(adz_tensor), intent(in) :: t
    {t}, intent(in), contiguous, target :: array({colons})
    logical, intent(in), optional :: transposed
    integer(c_int) :: adz_r
    type(c_ptr) :: at
    at = c_null_ptr
    if (size(array) > 0) at = c_loc(array)
    adz_r = adzf_write(t, at, shape(array, kind=c_int64_t), {d}, transposed)
  end function
'''
POINTER = '''  function adzf_pointer_{k}_{r}(t, array) result(adz_r)
    type(adz_tensor), intent(in) :: t
    {t}, pointer, intent(out) :: array({colons})
    integer(c_int) :: adz_r
    integer(c_int64_t) :: sizes({r})
    type(c_ptr) :: at
    nullify (array)
    adz_r = adzf_pointer(t, {d}, sizes, at)
    if (adz_r == ADZ_OK) call c_f_pointer(at, array, sizes)
  end function
'''


def arrays():
    """(the procedures, {generic name: [its specific procedures]})"""
    bodies, generic = [], {}
    for name, short, text in (('adz_tensor_from', 'from', FROM), ('adz_tensor_wrap', 'wrap', WRAP),
                              ('adz_tensor_read', 'read', READ), ('adz_tensor_write', 'write', WRITE),
                              ('adz_tensor_pointer', 'pointer', POINTER)):
        for kind, type_, dtype in KINDS:
            for rank in RANKS:
                bodies.append(text.replace('{t}', type_).format(
                    k=kind, r=rank, d=dtype, colons=', '.join([':'] * rank), ones=', '.join(['1'] * rank)))
                generic.setdefault(name, []).append(f'adzf_{short}_{kind}_{rank}')
    return bodies, generic
