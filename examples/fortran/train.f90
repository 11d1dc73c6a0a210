! Trains a small network with a loss of the program's own, saves it, loads it into another network, and checks
! that both compute the same. Every error ends the program with its message.
!
!   gfortran -c $(pkg-config --variable=source adze-fortran)
!   gfortran train.f90 adze.o $(pkg-config --libs adze-fortran) -o train && ./train
!
! The data are points of y = sin(3 x1) x2. The network is 2-32-32-1 with tanh.
module network
  use adze
  use, intrinsic :: iso_c_binding
  implicit none
contains

  ! Ends the program with the recorded error, if there is one.
  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status == ADZ_OK) return
    print '(3a)', adz_status_name(status), ': ', adz_error_message()
    stop 1
  end subroutine

  ! A call that fails returns NULL and records why. A NULL in later calls keeps that error, so it is enough to ask
  ! once, at the end of a chain of calls.
  function made(t) result(same)
    type(adz_tensor), intent(in) :: t
    type(adz_tensor) :: same
    same = t
    if (.not. adz_associated(t)) call must(adz_error_code())
  end function

  ! The network 2-32-32-1. What it consists of is kept by the network itself.
  function new_network() result(net)
    type(adz_module) :: net
    type(adz_linear_options) :: options
    options%dtype = ADZ_F64
    net = adz_sequential_new([adz_linear_new(2, 32, options), adz_tanh_new(), &
      adz_linear_new(32, 32, options), adz_tanh_new(), adz_linear_new(32, 1, options)])
    if (.not. adz_associated(net)) call must(adz_error_code())
  end function

  ! The mean of log(cosh(y - target)): quadratic near 0, and linear far from it, so that outliers pull less.
  function log_cosh(y, target_) result(loss)
    type(adz_tensor), intent(in) :: y, target_
    type(adz_tensor) :: loss
    loss = made(adz_mean(adz_log(adz_cosh(adz_sub(y, target_))), ADZ_ALL_DIMS, ADZ_DROPDIM))
  end function

end module network

program train
  use network
  implicit none
  integer, parameter :: points = 256, epochs = 400
  real(c_double) :: x(2, points), y(1, points), first(1, points), second(1, points)
  type(adz_scope) :: scope, step_scope
  type(adz_module) :: net, other
  type(adz_optimizer) :: adam
  type(adz_tensor) :: inputs, targets, loss
  integer :: epoch, i

  call must(adz_manual_seed(1))
  do i = 1, points
    x(:, i) = [mod(i, 16) / 8d0 - 1, (i / 16) / 8d0 - 1]
  end do
  y(1, :) = sin(3 * x(1, :)) * x(2, :)

  ! Tensors that are made below live until the scope is closed.
  scope = adz_scope_open()
  inputs = made(adz_tensor_from(x)) ! x(2, points) is the tensor [points, 2]
  targets = made(adz_tensor_from(y))
  net = new_network()
  adam = adz_adam_new(adz_module_parameters(net), 1d-2, adz_adam_options(beta2=0.99d0))
  if (.not. adz_associated(adam)) call must(adz_error_code())

  do epoch = 1, epochs
    step_scope = adz_scope_open()
    call must(adz_optimizer_zero_grad(adam))
    loss = log_cosh(adz_module_forward(net, inputs), targets)
    call must(adz_backward(loss))
    call must(adz_optimizer_step(adam))
    if (mod(epoch, 100) == 0) print '(a, i0, a, es9.2)', 'epoch ', epoch, ', loss ', adz_item(loss)
    if (epoch == epochs .and. adz_item(loss) > 1d-3) error stop 'the network has not learnt'
    call must(adz_scope_close(step_scope))
  end do

  call must(adz_module_save(net, 'train.safetensors'))
  other = new_network()
  call must(adz_module_load(other, 'train.safetensors', .true.))
  call must(adz_tensor_read(made(adz_module_forward(net, inputs)), first))
  call must(adz_tensor_read(made(adz_module_forward(other, inputs)), second))
  if (any(first /= second)) error stop 'the loaded network computes something else'
  print '(a)', 'the loaded network computes the same'

  call adz_module_release(other)
  call adz_optimizer_release(adam)
  call adz_module_release(net)
  call must(adz_scope_close(scope))
end program train
