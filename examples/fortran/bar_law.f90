! Trains the law of a material and writes it as C with its tangent, for bar.f90: law.c and law.h in a folder.
!
!   bar_law [FOLDER]
!
! The network is 1-16-16-1 with tanh. Its data are points of a material that hardens little: stress = strain /
! sqrt(1 + strain^2) + strain / 10, with strains from -3 to 3. The file computes one point in f64, and the caller
! holds its state, so that each thread of a solver has one.
module law
  use adze
  use, intrinsic :: iso_c_binding
  implicit none
  type(adz_module) :: net
  type(adz_tensor), target :: strain(1) ! the input of the exported function
contains

  ! Ends the program with the recorded error, if there is one.
  subroutine must(status)
    integer(c_int), intent(in) :: status
    if (status == ADZ_OK) return
    print '(3a)', adz_status_name(status), ': ', adz_error_message()
    error stop 1
  end subroutine

  function stress_of(strain_, user) bind(C) result(stress_)
    type(c_ptr), value :: strain_, user
    type(c_ptr) :: stress_
    type(adz_tensor) :: stress
    stress = adz_module_forward(net, adz_tensor(strain_))
    stress_ = stress%p
  end function

  ! What the file is to compute: the stress, and its derivative by the strain.
  function stress_and_tangent(results, user) bind(C) result(status)
    type(c_ptr), intent(inout) :: results(*)
    type(c_ptr), value :: user
    integer(c_int) :: status
    type(c_ptr), target :: stress(1)
    type(adz_tensor) :: tangent
    type(adz_functional_options) :: options
    options%results = c_loc(stress)
    tangent = adz_jacobian_rows(stress_of, user, strain(1), options)
    status = adz_error_code()
    if (status /= ADZ_OK) return
    results(1) = stress(1)
    results(2) = tangent%p
  end function

  ! Fits the network to the points of the material.
  subroutine train()
    integer, parameter :: points = 61
    real(c_double) :: x(1, points), y(1, points)
    type(adz_linear_options) :: options
    type(adz_optimizer) :: adam
    type(adz_scope) :: scope
    type(adz_tensor) :: inputs, targets
    integer :: i, epoch
    x(1, :) = [((i - 31) / 10d0, i = 1, points)]
    y = x / sqrt(1 + x**2) + x / 10
    inputs = adz_tensor_from(x)
    targets = adz_tensor_from(y)
    options%dtype = ADZ_F64
    net = adz_sequential_new([adz_linear_new(1, 16, options), adz_tanh_new(), adz_linear_new(16, 16, options), &
      adz_tanh_new(), adz_linear_new(16, 1, options)])
    adam = adz_adam_new(adz_module_parameters(net), 1d-2)
    do epoch = 1, 1000
      scope = adz_scope_open()
      call must(adz_optimizer_zero_grad(adam))
      call must(adz_backward(adz_mse_loss(adz_module_forward(net, inputs), targets, ADZ_REDUCE_MEAN)))
      call must(adz_optimizer_step(adam))
      call must(adz_scope_close(scope))
    end do
    print '(a, es8.1)', 'mean squared error of the law: ', &
      adz_item(adz_mse_loss(adz_module_forward(net, inputs), targets, ADZ_REDUCE_MEAN))
    call adz_optimizer_release(adam)
  end subroutine

end module law

program bar_law
  use law
  implicit none
  character(500) :: folder
  type(adz_scope) :: scope
  type(adz_plan) :: plan
  type(adz_plan_options) :: captured
  type(adz_c_options) :: options
  folder = '.'
  if (command_argument_count() > 0) call get_command_argument(1, folder)
  call must(adz_manual_seed(1))
  scope = adz_scope_open()
  call train()

  strain(1) = adz_tensor_from(reshape([0.1d0], [1, 1]))
  captured%inputs = adz_tensor_list_of(strain)
  captured%module = net
  plan = adz_plan_new_many(stress_and_tangent, n_results=2, options=captured)
  if (.not. adz_associated(plan)) call must(adz_error_code())
  options%state = ADZ_C_STATE_CALLER
  options%precision = ADZ_F64
  call must(adz_plan_write_c_many([plan], ['tangent'], trim(folder) // '/law.c', options))
  print '(a)', 'law.c and law.h are written'

  call adz_plan_free(plan)
  call adz_module_release(net)
  call must(adz_scope_close(scope))
end program bar_law
