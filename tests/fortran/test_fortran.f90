! Tensors from arrays and back, options, texts, callbacks, lists, training and errors, as a Fortran program has them.
module helpers
  use adze
  use, intrinsic :: iso_c_binding
  implicit none
  integer :: failures = 0
contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what
    if (holds) return
    failures = failures + 1
    print '(4a)', 'FAILED: ', what, '; ', adz_error_message()
  end subroutine

  ! That a call has failed with an error, whose message has a word; the error is cleared.
  subroutine refused(status, word, what)
    integer(c_int), intent(in) :: status
    character(*), intent(in) :: word, what
    character(400) :: message
    integer(c_int) :: code
    code = adz_error_take(message)
    if (code == status .and. index(message, word) > 0) return
    failures = failures + 1
    print '(6a)', 'FAILED: ', what, ' gave ', adz_status_name(code), ' ', trim(message)
  end subroutine

  ! y = x^2 + the number that user points to
  function squared(x_, user) bind(C) result(y_)
    type(c_ptr), value :: x_, user
    type(c_ptr) :: y_
    type(adz_tensor) :: y
    real(c_double), pointer :: number
    call c_f_pointer(user, number)
    y = adz_add_number(adz_square(adz_tensor(x_)), number)
    y_ = y%p
  end function

  ! Two results, for a plan: the double and the square of the tensor that user points to.
  function two_results(results, user) bind(C) result(status)
    type(c_ptr), intent(inout) :: results(*)
    type(c_ptr), value :: user
    integer(c_int) :: status
    type(adz_tensor), pointer :: x
    type(adz_tensor) :: y
    call c_f_pointer(user, x)
    y = adz_add(x, x)
    results(1) = y%p
    y = adz_square(x)
    results(2) = y%p
    status = adz_error_code()
  end function

  subroutine on_error(status, message, user) bind(C)
    integer(c_int), value :: status
    type(c_ptr), value :: message, user
    character(200), pointer :: heard
    call c_f_pointer(user, heard)
    heard = adz_status_name(status) // ' ' // adz_string(message)
  end subroutine

end module helpers

program test_fortran
  use helpers
  implicit none
  type(adz_scope) :: scope
  integer(c_int) :: status

  scope = adz_scope_open()
  call memory_order()
  call kinds_and_sections()
  call views_of_memory()
  call lists_and_options()
  call texts()
  call callbacks()
  call errors()
  call training()
  status = adz_scope_close(scope)
  call check(status == ADZ_OK, 'the scope is closed')
  if (failures > 0) stop 1
  print '(a)', 'all hold'

contains

  ! array(d, n) is the tensor [n, d] with the elements where they are, or transposed the tensor [d, n].
  subroutine memory_order()
    real(c_double) :: x(2, 3), back(2, 3), same(3, 2)
    type(adz_tensor) :: t
    x = reshape([1d0, 2d0, 3d0, 4d0, 5d0, 6d0], [2, 3])
    t = adz_tensor_from(x)
    call check(all(adz_tensor_shape(t) == [3, 2]), 'the shape is reversed')
    call check(adz_tensor_at(t, [2, 0]) == x(1, 3), 'x(i, j) is t[j - 1, i - 1]')
    call check(adz_tensor_at(t, [0_c_int64_t, 1_c_int64_t]) == x(2, 1), 'indices of 64 bits')
    status = adz_tensor_read(t, back)
    call check(status == ADZ_OK .and. all(back == x), 'reading gives the array back')
    t = adz_tensor_from(x, transposed=.true.)
    call check(all(adz_tensor_shape(t) == [2, 3]), 'transposed keeps the shape')
    call check(adz_tensor_at(t, [0, 2]) == x(1, 3), 'x(i, j) is t[i - 1, j - 1]')
    call check(adz_tensor_is_contiguous(t), 'it is contiguous')
    back = 0
    status = adz_tensor_read(t, back, transposed=.true.)
    call check(status == ADZ_OK .and. all(back == x), 'reading transposed gives the array back')
    status = adz_tensor_write(t, 10 * x, transposed=.true.)
    call check(status == ADZ_OK .and. adz_tensor_at(t, [1, 0]) == 10 * x(2, 1), 'writing transposed')
    status = adz_tensor_read(t, same)
    call check(status == ADZ_OK .and. same(3, 2) == 10 * x(2, 3), 'reading the transposed tensor reversed')
  end subroutine

  subroutine kinds_and_sections()
    real(c_float) :: r(2), cube(2, 3, 4)
    integer(c_int32_t) :: i(3)
    integer(c_int64_t) :: j(1, 2)
    integer(c_int8_t) :: k(2)
    logical(c_bool) :: l(2)
    integer :: number
    real(c_double) :: wide(4, 4), part(2, 2)
    type(adz_tensor) :: t
    call check(adz_tensor_dtype(adz_tensor_from([1.5, 2.5])) == ADZ_F32, 'real is f32')
    call check(adz_tensor_dtype(adz_tensor_from([1, 2, 3])) == ADZ_I32, 'integer is i32')
    t = adz_tensor_from([7_c_int64_t, 8_c_int64_t])
    call check(adz_tensor_dtype(t) == ADZ_I64, 'integer of 64 bits is i64')
    t = adz_tensor_from([.true._c_bool, .false._c_bool])
    status = adz_tensor_read(t, l)
    call check(l(1) .and. .not. l(2) .and. adz_tensor_dtype(t) == ADZ_BOOL, 'logical(c_bool) is bool')
    t = adz_tensor_from([3_c_int8_t, 4_c_int8_t])
    status = adz_tensor_read(t, k)
    call check(all(k == [3, 4]) .and. adz_tensor_dtype(t) == ADZ_U8, 'integer(c_int8_t) is u8')
    status = adz_tensor_read(adz_tensor_from([1, 2, 3]), i)
    call check(all(i == [1, 2, 3]), 'integers are read')
    status = adz_tensor_read(adz_tensor_from(reshape([5_c_int64_t, 6_c_int64_t], [1, 2])), j)
    call check(all(j(1, :) == [5, 6]), 'integers of 64 bits are read')
    status = adz_tensor_read(adz_tensor_from([1.5, 2.5]), r)
    call check(all(r == [1.5, 2.5]), 'reals are read')
    cube = 1
    call check(all(adz_tensor_shape(adz_tensor_from(cube)) == [4, 3, 2]), 'three dimensions')
    wide = reshape([(dble(number), number = 1, 16)], [4, 4])
    t = adz_tensor_from(wide(1:3:2, 2:4:2))
    status = adz_tensor_read(t, part)
    call check(all(part == wide(1:3:2, 2:4:2)), 'a section is copied')
    wide = 0
    status = adz_tensor_read(t, wide(1:3:2, 2:4:2))
    call check(all(wide(1:3:2, 2:4:2) == part) .and. wide(2, 2) == 0, 'a section is read into')
    call check(adz_tensor_numel(adz_tensor_from(wide(:, 1:0))) == 0, 'an array without elements')
  end subroutine

  subroutine views_of_memory()
    real(c_double), target :: x(2, 3)
    real(c_double), pointer :: p(:, :), vector(:)
    type(adz_tensor) :: t
    x = 1
    t = adz_tensor_wrap(x)
    x(2, 3) = 5
    call check(adz_tensor_at(t, [2, 1]) == 5, 'a wrapped array is not copied')
    status = adz_tensor_pointer(t, p)
    call check(status == ADZ_OK .and. all(shape(p) == [2, 3]) .and. p(2, 3) == 5, 'a pointer to the elements')
    status = adz_tensor_pointer(t, vector)
    call refused(ADZ_ERR_SHAPE, '[3, 2]', 'a pointer of another rank')
    call check(.not. associated(vector), 'the pointer is null')
    status = adz_tensor_pointer(adz_transpose(t, 0, 1), p)
    call refused(ADZ_ERR_ARGUMENT, 'adz_contiguous', 'a pointer to a view')
    t = adz_tensor_wrap(x(1:1, :))
    call refused(ADZ_ERR_ARGUMENT, 'section', 'a wrapped section')
    call check(.not. adz_associated(t), 'it gives NULL')
  end subroutine

  subroutine lists_and_options()
    type(adz_tensor) :: a, b, parts(3), batch(2), indices
    type(adz_dataset) :: data
    type(adz_loader) :: loader
    type(adz_tensor), allocatable :: parameters(:)
    type(adz_named_tensor), allocatable :: named(:)
    type(adz_module) :: net
    type(adz_conv_options) :: conv
    integer(c_int64_t) :: n, count
    a = adz_ones([2, 3], ADZ_F64)
    b = adz_cat([a, a], 0)
    call check(all(adz_tensor_shape(b) == [4, 3]), 'cat takes an array of tensors')
    b = adz_sum(a, ADZ_ALL_DIMS, ADZ_DROPDIM)
    call check(size(adz_tensor_shape(b)) == 0 .and. adz_item(b) == 6, 'an empty list of dimensions')
    b = adz_sum(a, [-1], ADZ_KEEPDIM)
    call check(all(adz_tensor_shape(b) == [2, 1]), 'a list of dimensions')
    n = 3
    b = adz_zeros([n, n], ADZ_F32)
    status = adz_split(b, 2, 0, parts, count)
    call check(status == ADZ_OK .and. count == 2 .and. all(adz_tensor_shape(parts(2)) == [1, 3]), 'results')
    status = adz_split(b, 1, 0, parts)
    call check(status == ADZ_OK .and. adz_associated(parts(3)), 'a result that is left out')
    status = adz_chunk(b, 4, 0, parts)
    call refused(ADZ_ERR_ARGUMENT, 'at least 4', 'too few results')
    status = adz_unpad_sequence(b, [3, 1, 2], .true., parts)
    call check(status == ADZ_OK .and. all(adz_tensor_shape(parts(3)) == [2]), 'as many results as lengths')
    status = adz_unpad_sequence(b, [3, 1, 2], .true., parts(1:2))
    call refused(ADZ_ERR_ARGUMENT, 'at least 3', 'fewer results than lengths')
    b = adz_sort(adz_tensor_from([3d0, 1d0, 2d0]), 0, .false., indices)
    call check(adz_tensor_at(indices, [0]) == 1, 'a second result')

    data = adz_dataset_new([adz_ones([5, 2], ADZ_F32), adz_zeros([5, 1], ADZ_F32)])
    loader = adz_loader_new(data, adz_loader_options(batch_size=2))
    call check(adz_loader_next(loader, batch), 'a batch')
    call check(all(adz_tensor_shape(batch(2)) == [2, 1]), 'the shape of a batch')
    if (adz_loader_next(loader, batch(:1))) call check(.false., 'a batch without room')
    call refused(ADZ_ERR_ARGUMENT, 'at least 2', 'a batch without room')
    call adz_loader_free(loader)
    call adz_dataset_release(data)

    net = adz_linear_new(3, 2, adz_linear_options(bias=.false., dtype=ADZ_F64))
    parameters = adz_module_parameters(net)
    named = adz_module_named_parameters(net)
    call check(size(parameters) == 1 .and. adz_string(named(1)%name) == 'weight', 'options and lists')
    call adz_module_release(net)
    call check(.not. adz_associated(net), 'the pointer of what has ended is NULL')
    net = adz_linear_new(3, 2)
    call check(size(adz_module_parameters(net)) == 2, 'options that are left out')
    call adz_module_release(net)
    conv = adz_conv_options(stride=adz_shape_of([2, 2]))
    b = adz_conv2d(adz_ones([1, 1, 5, 5], ADZ_F32), adz_ones([1, 1, 1, 1], ADZ_F32), adz_none(), conv)
    call check(all(adz_tensor_shape(b) == [1, 1, 3, 3]), 'a shape among options, and no bias')
  end subroutine

  subroutine texts()
    character(8) :: short
    character(64) :: long
    type(adz_csv) :: csv
    type(adz_csv_options) :: options
    type(adz_texts), target :: kept
    type(adz_tensor) :: t
    integer(c_int64_t) :: n
    call check(adz_status_name(ADZ_ERR_SHAPE) == 'ADZ_ERR_SHAPE', 'a text from C')
    n = adz_tensor_to_string(adz_tensor_from([1, 2]), long)
    call check(long == 'tensor([1, 2], dtype=torch.int32)' .or. index(long, '[1, 2]') > 0, 'a text into a buffer')
    n = adz_tensor_to_string(adz_tensor_from([1, 2]), short)
    call check(n > 8 .and. short == long(:8), 'a text that is cut')
    csv = adz_csv_from_memory('x,y,z' // new_line('a') // '1,2,3' // new_line('a') // '4,5,6' // new_line('a'))
    t = adz_csv_select(csv, [character(4) :: 'z', 'x'])
    call check(adz_tensor_at(t, [1, 0]) == 6 .and. adz_tensor_at(t, [0, 1]) == 1, 'names without trailing blanks')
    call adz_csv_free(csv)
    options%columns = kept%many([character(5) :: 'three', 'one'])
    options%n_columns = 2
    csv = adz_csv_from_memory('one,two,three' // new_line('a') // '1,2,3' // new_line('a'), options)
    t = adz_csv_values(csv)
    call check(adz_tensor_at(t, [0, 0]) == 3 .and. adz_tensor_at(t, [0, 1]) == 1, 'texts among options')
    call adz_csv_free(csv)
  end subroutine

  subroutine callbacks()
    real(c_double), target :: number
    character(200), target :: heard
    type(adz_tensor) :: x, j
    type(adz_tensor), target :: inputs(1)
    type(adz_plan) :: plan
    type(adz_plan_options) :: options
    real(c_double) :: squares(2)
    number = 7
    x = adz_tensor_from([2d0, 3d0])
    j = adz_jacobian(squared, c_loc(number), x)
    call check(adz_tensor_at(j, [1, 1]) == 6 .and. adz_tensor_at(j, [0, 1]) == 0, 'a function of the program')
    inputs = x
    options%inputs = adz_tensor_list_of(inputs)
    plan = adz_plan_new_many(two_results, c_loc(inputs(1)), 2, options)
    call check(adz_associated(plan), 'a function with two results is captured')
    status = adz_tensor_write(x, [5d0, 6d0])
    status = adz_plan_run(plan)
    status = adz_tensor_read(adz_plan_result_at(plan, 1), squares)
    call check(status == ADZ_OK .and. all(squares == [25, 36]), 'a plan computes with other inputs')
    call adz_plan_free(plan)
    heard = ''
    call adz_on_error(on_error, c_loc(heard))
    x = adz_matmul(x, adz_zeros([3, 3], ADZ_F64))
    call check(index(heard, 'ADZ_ERR_SHAPE matmul') == 1, 'a callback with a text: ' // trim(heard))
    call adz_on_error()
    call adz_error_clear()
  end subroutine

  subroutine errors()
    real(c_double) :: other(3, 2), vector(6)
    real(c_float) :: single(2, 3)
    type(adz_tensor) :: t, results(1), nothing
    integer(c_int64_t), allocatable :: sizes(:)
    t = adz_zeros([3, 2], ADZ_F64)
    other = 4
    status = adz_tensor_read(t, other)
    call refused(ADZ_ERR_SHAPE, 'needs [2, 3]', 'an array of another shape')
    call check(all(other == 4), 'it is unchanged')
    status = adz_tensor_read(t, vector)
    call refused(ADZ_ERR_SHAPE, '[6]', 'an array of another rank')
    status = adz_tensor_read(t, single)
    call refused(ADZ_ERR_DTYPE, 'float64', 'an array of another kind')
    status = adz_tensor_write(t, other)
    call refused(ADZ_ERR_SHAPE, '[3, 2]', 'writing an array of another shape')
    status = adz_tensor_read(nothing, other)
    call refused(ADZ_ERR_NULL, 'NULL', 'reading NULL')
    sizes = adz_tensor_shape(nothing)
    call refused(ADZ_ERR_NULL, 'NULL', 'the shape of NULL')
    status = adz_autograd_grad([t, t], inputs=[t, t], results=results)
    call refused(ADZ_ERR_ARGUMENT, 'at least 2', 'too few results')
    status = adz_autograd_backward([t, t], gradients=[t])
    call refused(ADZ_ERR_ARGUMENT, 'gradients has the size 1', 'arrays of two lengths')
    vector(1) = adz_tensor_at(t, [1])
    call refused(ADZ_ERR_ARGUMENT, 'index', 'too few indices')
    call check(vector(1) /= vector(1), 'it gives NaN')
    t = adz_zeros([1, 1, 1, 1, 1, 1, 1, 1, 1], ADZ_F32)
    call refused(ADZ_ERR_SHAPE, '', 'too many dimensions')
    status = adz_module_load(adz_module(), 'x', .true.)
    call refused(ADZ_ERR_NULL, 'NULL', 'a module that is NULL')
    status = adz_tensor_print(adz_zeros([1], ADZ_F32), '/no/such/folder/x')
    call refused(ADZ_ERR_IO, 'folder', 'a file that cannot be written')
  end subroutine

  ! y = 2 x1 - x2 + 1 is found by a linear layer.
  subroutine training()
    real(c_double) :: x(2, 8), y(1, 8), weight(2, 1)
    type(adz_module) :: net
    type(adz_optimizer) :: sgd
    type(adz_tensor) :: inputs, targets, loss
    type(adz_scope) :: inner
    integer :: step
    do step = 1, 8
      x(:, step) = [mod(step, 3) - 1d0, mod(step, 4) - 1.5d0]
    end do
    y(1, :) = 2 * x(1, :) - x(2, :) + 1
    inputs = adz_tensor_from(x)
    targets = adz_tensor_from(y)
    net = adz_linear_new(2, 1, adz_linear_options(dtype=ADZ_F64))
    sgd = adz_sgd_new(adz_module_parameters(net), 0.1d0, adz_sgd_options(momentum=0.5d0))
    do step = 1, 300
      inner = adz_scope_open()
      status = adz_optimizer_zero_grad(sgd)
      loss = adz_mse_loss(adz_module_forward(net, inputs), targets, ADZ_REDUCE_MEAN)
      status = adz_backward(loss)
      status = adz_optimizer_step(sgd)
      call check(status == ADZ_OK, 'a step')
      status = adz_scope_close(inner)
    end do
    status = adz_tensor_read(adz_module_get_parameter(net, 'weight'), weight)
    call check(all(abs(weight(:, 1) - [2d0, -1d0]) < 1d-6), 'the weights are found')
    call adz_optimizer_release(sgd)
    call adz_module_release(net)
  end subroutine

end program test_fortran
