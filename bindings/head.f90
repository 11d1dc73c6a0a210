! adze for Fortran. Made from the headers of the library; docs/fortran.md explains it.
!
! A program compiles this file with its own compiler, because .mod files belong to one compiler:
!
!     gfortran -c $(pkg-config --variable=source adze-fortran)
!     gfortran program.f90 adze.o $(pkg-config --libs adze-fortran)
!
! - Objects are types with one pointer, such as type(adz_tensor). A declared object is NULL.
! - An argument that may be NULL in C is optional here. adz_none() stands for a tensor that is left out.
! - Options are types whose components begin with the defaults: adz_sgd_options(momentum=0.9d0).
! - Shapes and lists are arrays, and have no counts: adz_zeros([3, 2], ADZ_F64), adz_cat([a, b], 0).
! - Integers of 64 bits in C may be of the default kind or of 64 bits, all of a call of the same kind.
! - Texts lose their trailing blanks, as in open(file=...), except those whose length C is told.
! - A Fortran array is column-major: array(d, n) is the tensor [n, d], and no element moves. With
!   transposed=.true. it is the tensor [d, n], whose elements are copied in the other order.
module adze
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: output_unit
  implicit none
  private

  public :: adz_texts, adz_string

  ! Texts for the components of options that are C strings. The program keeps it as long as the options:
  !
  !     type(adz_texts), target :: kept
  !     options%prefix = kept%one('encoder.')       ! const char *
  !     options%columns = kept%many(['x', 'y'])     ! const char *const *
  type :: adz_texts
    character(kind=c_char), allocatable :: letters(:, :)
    type(c_ptr), allocatable :: starts(:)
  contains
    procedure :: one => adzf_one
    procedure :: many => adzf_many
  end type adz_texts

  interface
    integer(c_size_t) function adzf_strlen(text) bind(C, name='strlen')
      import
      type(c_ptr), value :: text
    end function
    integer(c_int) function adzf_dup(descriptor) bind(C, name='dup')
      import
      integer(c_int), value :: descriptor
    end function
    type(c_ptr) function adzf_fdopen(descriptor, mode) bind(C, name='fdopen')
      import
      integer(c_int), value :: descriptor
      character(kind=c_char), intent(in) :: mode(*)
    end function
    type(c_ptr) function adzf_fopen(path, mode) bind(C, name='fopen')
      import
      character(kind=c_char), intent(in) :: path(*), mode(*)
    end function
    integer(c_int) function adzf_fclose(stream) bind(C, name='fclose')
      import
      type(c_ptr), value :: stream
    end function
  end interface

  interface adzf_texts
    module procedure adzf_strings, adzf_counted
  end interface

contains

  ! ---- texts

  ! The letters of a text, and the zero that ends it in C.
  pure function adzf_letters(text) result(letters)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: letters(:)
    integer :: i
    allocate (letters(len(text) + 1))
    do i = 1, len(text)
      letters(i) = text(i:i)
    end do
    letters(len(text) + 1) = c_null_char
  end function

  subroutine adzf_strings(texts, letters, starts)
    character(*), intent(in) :: texts(:)
    character(kind=c_char), intent(inout), target, contiguous :: letters(:, :)
    type(c_ptr), intent(out) :: starts(:)
    integer :: i
    do i = 1, size(texts)
      letters(:len_trim(texts(i)) + 1, i) = adzf_letters(trim(texts(i)))
      starts(i) = c_loc(letters(1, i))
    end do
  end subroutine

  subroutine adzf_counted(texts, letters, counted)
    character(*), intent(in) :: texts(:)
    character(kind=c_char), intent(inout), target, contiguous :: letters(:, :)
    type(adz_text), intent(out) :: counted(:)
    type(c_ptr) :: starts(size(texts))
    integer :: i
    call adzf_strings(texts, letters, starts)
    do i = 1, size(texts)
      counted(i) = adz_text(starts(i), len_trim(texts(i), kind=c_size_t))
    end do
  end subroutine

  ! The text of a C string; empty for NULL.
  function adz_string(start) result(text)
    type(c_ptr), intent(in) :: start
    character(:), allocatable :: text
    text = adzf_text(adz_text(start, 0_c_size_t))
    if (c_associated(start)) text = adzf_text(adz_text(start, adzf_strlen(start)))
  end function

  function adzf_string(start) result(text)
    type(c_ptr), intent(in) :: start
    character(:), allocatable :: text
    text = adz_string(start)
  end function

  function adzf_text(counted) result(text)
    type(adz_text), intent(in) :: counted
    character(:), allocatable :: text
    character(kind=c_char), pointer :: letters(:)
    integer(c_size_t) :: i, n
    n = 0
    if (c_associated(counted%bytes)) n = counted%size
    allocate (character(n) :: text)
    if (n == 0) return
    call c_f_pointer(counted%bytes, letters, [n])
    do i = 1, n
      text(i:i) = letters(i)
    end do
  end function

  ! Copies what C has written into a buffer, and fills the rest with blanks.
  subroutine adzf_fill(text, letters)
    character(*), intent(out) :: text
    character(kind=c_char), intent(in) :: letters(:)
    integer :: i
    text = ''
    do i = 1, len(text)
      if (letters(i) == c_null_char) exit
      text(i:i) = letters(i)
    end do
  end subroutine

  function adzf_one(self, text) result(start)
    class(adz_texts), intent(inout), target :: self
    character(*), intent(in) :: text
    type(c_ptr) :: start
    if (allocated(self%letters)) deallocate (self%letters)
    allocate (self%letters(len(text) + 1, 1))
    self%letters(:, 1) = adzf_letters(text)
    start = c_loc(self%letters)
  end function

  function adzf_many(self, texts) result(start)
    class(adz_texts), intent(inout), target :: self
    character(*), intent(in) :: texts(:)
    type(c_ptr) :: start
    if (allocated(self%letters)) deallocate (self%letters)
    if (allocated(self%starts)) deallocate (self%starts)
    allocate (self%letters(len(texts) + 1, size(texts)), self%starts(size(texts)))
    call adzf_strings(texts, self%letters, self%starts)
    start = c_null_ptr
    if (size(texts) > 0) start = c_loc(self%starts)
  end function

  function adzf_bytes(bytes) result(start)
    integer(c_int8_t), intent(in), target, contiguous :: bytes(:)
    type(c_ptr) :: start
    start = c_null_ptr
    if (size(bytes) > 0) start = c_loc(bytes)
  end function

  ! ---- files

  ! A C stream to a file, or to the standard output.
  function adzf_open(path) result(stream)
    character(*), intent(in), optional :: path
    type(c_ptr) :: stream
    if (present(path)) then
      stream = adzf_fopen(adzf_letters(trim(path)), adzf_letters('w'))
    else
      flush (output_unit)
      stream = adzf_fdopen(adzf_dup(1_c_int), adzf_letters('w'))
    end if
  end function

  subroutine adzf_close(stream)
    type(c_ptr), intent(in) :: stream
    integer(c_int) :: code
    code = adzf_fclose(stream)
    if (code /= 0) code = adzf_refuse('fclose', ADZ_ERR_IO, 'the text could not be written; is the disk full?')
  end subroutine

  ! ---- errors

  function adzf_refuse(op, status, message) result(code)
    character(*), intent(in) :: op, message
    integer(c_int), intent(in) :: status
    integer(c_int) :: code
    code = adz_error_set(op, status, message)
  end function

  function adzf_wrong_size(op, name, size_, at_least, wanted) result(code)
    character(*), intent(in) :: op, name, at_least
    integer(c_int64_t), intent(in) :: size_, wanted
    integer(c_int) :: code
    code = adzf_refuse(op, ADZ_ERR_ARGUMENT, name // ' has the size ' // adzf_number(size_) // '; give it ' // &
      at_least // adzf_number(wanted) // ' elements')
  end function

  ! The number of tensors of an argument that may be left out.
  function adzf_count(tensors) result(n)
    type(adz_tensor), intent(in), optional :: tensors(:)
    integer(c_int64_t) :: n
    n = 0
    if (present(tensors)) n = size(tensors, kind=c_int64_t)
  end function

  function adzf_number(number) result(text)
    integer(c_int64_t), intent(in) :: number
    character(:), allocatable :: text
    character(24) :: digits
    write (digits, '(i0)') number
    text = trim(digits)
  end function

  function adzf_shown(sizes) result(text)
    integer(c_int64_t), intent(in) :: sizes(:)
    character(:), allocatable :: text
    integer :: i
    text = '['
    do i = 1, size(sizes)
      if (i > 1) text = text // ', '
      text = text // adzf_number(sizes(i))
    end do
    text = text // ']'
  end function

  ! ---- shapes and lists

  function adzf_shape(sizes) result(shape)
    integer(c_int64_t), intent(in) :: sizes(:)
    type(adz_shape) :: shape
    shape = adz_shape_of(sizes)
  end function

  function adzf_dims(dims) result(list)
    integer(c_int), intent(in) :: dims(:)
    type(adz_dims) :: list
    list = adz_dims_of(dims)
  end function

  ! The sizes of a shape. A shape without a rank is that of NULL, which is an error.
  function adzf_sizes(shape) result(sizes)
    type(adz_shape), intent(in) :: shape
    integer(c_int64_t), allocatable :: sizes(:)
    integer(c_int) :: code
    sizes = shape%sizes(:max(0, shape%rank))
    if (shape%rank < 0) code = adz_error_null('tensor_shape', 't')
  end function

  subroutine adzf_tensor_list(list, tensors)
    type(adz_tensor_list), intent(in) :: list
    type(adz_tensor), intent(out), allocatable :: tensors(:)
    type(adz_tensor), pointer :: items(:)
    if (list%count == 0) then
      allocate (tensors(0))
      return
    end if
    call c_f_pointer(list%items, items, [list%count])
    tensors = items
  end subroutine

  subroutine adzf_named_list(list, tensors)
    type(adz_named_list), intent(in) :: list
    type(adz_named_tensor), intent(out), allocatable :: tensors(:)
    type(adz_named_tensor), pointer :: items(:)
    if (list%count == 0) then
      allocate (tensors(0))
      return
    end if
    call c_f_pointer(list%items, items, [list%count])
    tensors = items
  end subroutine

  function any_associated(pointers) result(yes)
    type(c_ptr), intent(in) :: pointers(:)
    logical :: yes
    yes = count_associated(pointers) > 0
  end function

  function count_associated(pointers) result(n)
    type(c_ptr), intent(in) :: pointers(:)
    integer(c_int64_t) :: n
    integer :: i
    n = 0
    do i = 1, size(pointers)
      if (c_associated(pointers(i))) n = n + 1
    end do
  end function

  ! ---- arrays

  ! The tensor's dimensions in reverse order. This is a view.
  function adzf_reversed(t) result(view)
    type(adz_tensor), intent(in) :: t
    type(adz_tensor) :: view
    integer(c_int) :: i, rank
    rank = adz_tensor_rank(t)
    view = adz_permute(t, [(rank - 1 - i, i = 0, rank - 1)])
  end function

  function adzf_asked(transposed) result(yes)
    logical, intent(in), optional :: transposed
    logical :: yes
    yes = .false.
    if (present(transposed)) yes = transposed
  end function

  function adzf_from(at, sizes, dtype, transposed) result(t)
    type(c_ptr), intent(in) :: at
    integer(c_int64_t), intent(in) :: sizes(:)
    integer(c_int), intent(in) :: dtype
    logical, intent(in), optional :: transposed
    type(adz_tensor) :: t
    t = adz_tensor_from(at, sizes(size(sizes):1:-1), dtype)
    if (adzf_asked(transposed) .and. c_associated(t%p)) t = adz_contiguous(adzf_reversed(t))
  end function

  function adzf_wrap(at, sizes, dtype, contiguous_) result(t)
    type(c_ptr), intent(in) :: at
    integer(c_int64_t), intent(in) :: sizes(:)
    integer(c_int), intent(in) :: dtype
    logical, intent(in) :: contiguous_
    type(adz_tensor) :: t
    integer(c_int) :: code
    if (.not. contiguous_) then
      code = adzf_refuse('tensor_wrap', ADZ_ERR_ARGUMENT, 'the elements of the array do not lie one after the ' // &
        'other, as in a section; give the whole array, or copy the section with adz_tensor_from')
      return
    end if
    t = adz_tensor_wrap(at, sizes(size(sizes):1:-1), dtype)
  end function

  ! Whether an array has the tensor's elements: their type, and the sizes in reverse order or in the same one.
  function adzf_fits(op, t, sizes, dtype, transposed) result(status)
    character(*), intent(in) :: op
    type(adz_tensor), intent(in) :: t
    integer(c_int64_t), intent(in) :: sizes(:)
    integer(c_int), intent(in) :: dtype
    logical, intent(in), optional :: transposed
    integer(c_int) :: status
    type(adz_shape) :: whole
    integer(c_int64_t) :: wanted(ADZ_MAX_RANK)
    integer :: rank
    logical :: equal
    status = ADZ_OK
    if (.not. c_associated(t%p)) then
      status = adz_error_null(op, 't')
      return
    end if
    whole = raw_adz_tensor_shape(t%p)
    rank = whole%rank
    wanted = whole%sizes
    if (.not. adzf_asked(transposed)) wanted(:rank) = wanted(rank:1:-1)
    equal = rank == size(sizes)
    if (equal) equal = all(wanted(:rank) == sizes)
    if (adz_tensor_dtype(t) /= dtype) then
      status = adzf_refuse(op, ADZ_ERR_DTYPE, 'the tensor is ' // adz_dtype_name(adz_tensor_dtype(t)) // &
        ' and the array ' // adz_dtype_name(dtype) // '; convert the tensor with adz_to_dtype')
    else if (.not. equal) then
      status = adzf_refuse(op, ADZ_ERR_SHAPE, 'the array has the shape ' // adzf_shown(sizes) // ', but a tensor ' // &
        adzf_shown(whole%sizes(:rank)) // ' needs ' // adzf_shown(wanted(:rank)) // '; Fortran counts sizes the other ' // &
        'way round unless transposed is true')
    end if
  end function

  function adzf_read(t, at, sizes, dtype, transposed) result(status)
    type(adz_tensor), intent(in) :: t
    type(c_ptr), intent(in) :: at
    integer(c_int64_t), intent(in) :: sizes(:)
    integer(c_int), intent(in) :: dtype
    logical, intent(in), optional :: transposed
    integer(c_int) :: status, closed
    type(adz_scope) :: scope
    type(adz_tensor) :: from
    status = adzf_fits('tensor_read', t, sizes, dtype, transposed)
    if (status /= ADZ_OK .or. .not. c_associated(at)) return
    scope = adz_scope_open()
    from = t
    if (adzf_asked(transposed)) from = adzf_reversed(t)
    status = adz_error_code()
    if (c_associated(from%p)) status = adz_tensor_read(from, at, product(sizes) * int(adz_dtype_size(dtype), c_int64_t))
    closed = adz_scope_close(scope)
    if (status == ADZ_OK) status = closed
  end function

  function adzf_write(t, at, sizes, dtype, transposed) result(status)
    type(adz_tensor), intent(in) :: t
    type(c_ptr), intent(in) :: at
    integer(c_int64_t), intent(in) :: sizes(:)
    integer(c_int), intent(in) :: dtype
    logical, intent(in), optional :: transposed
    integer(c_int) :: status, closed
    type(adz_scope) :: scope
    type(adz_tensor) :: made
    type(c_ptr) :: start
    status = adzf_fits('tensor_write', t, sizes, dtype, transposed)
    if (status /= ADZ_OK .or. .not. c_associated(at)) return
    scope = adz_scope_open()
    start = at
    made = t
    if (adzf_asked(transposed)) then
      made = adzf_from(at, sizes, dtype, .true.)
      start = c_null_ptr
      if (c_associated(made%p)) start = adz_tensor_data(made)
    end if
    status = adz_error_code()
    if (c_associated(made%p)) &
      status = adz_tensor_write(t, start, product(sizes) * int(adz_dtype_size(dtype), c_int64_t))
    closed = adz_scope_close(scope)
    if (status == ADZ_OK) status = closed
  end function

  function adzf_pointer(t, dtype, sizes, at) result(status)
    type(adz_tensor), intent(in) :: t
    integer(c_int), intent(in) :: dtype
    integer(c_int64_t), intent(out) :: sizes(:)
    type(c_ptr), intent(out) :: at
    integer(c_int) :: status
    type(adz_shape) :: found
    at = c_null_ptr
    sizes = 0
    if (c_associated(t%p)) then
      found = raw_adz_tensor_shape(t%p)
      if (found%rank == size(sizes)) sizes = found%sizes(found%rank:1:-1)
    end if
    status = adzf_fits('tensor_pointer', t, sizes, dtype)
    if (status /= ADZ_OK) return
    if (.not. adz_tensor_is_contiguous(t)) then
      status = adzf_refuse('tensor_pointer', ADZ_ERR_ARGUMENT, 'the tensor is a view whose elements do not lie ' // &
        'one after the other; call adz_contiguous first')
      return
    end if
    at = adz_tensor_data(t)
    if (.not. c_associated(at) .and. product(sizes) > 0) status = adz_error_code()
  end function

end module adze
