! A bar under load whose material is a network: the law that bar_law.f90 has trained and written as C is called as a
! user material at every integration point, by two threads. Newton's method converges quadratically with the tangent
! that comes with the law. The same run with a tangent by finite differences stands beside it.
!
!   ./bar_law && gcc -O2 -c law.c && gfortran -O2 -fopenmp bar.f90 law.o -o bar && ./bar
!
! The bar has the length 1, is fixed at x = 0, tapers to half its section, and is pulled by a body force along its
! length and by a force at its end.
module material
  use, intrinsic :: iso_c_binding
  implicit none

  ! law.h in Fortran. A state is memory of law_state_bytes(), which law_init makes ready.
  interface
    integer(c_size_t) function law_state_bytes() bind(C)
      import :: c_size_t
    end function
    integer(c_int) function law_init(state, bytes) bind(C)
      import :: c_int, c_int64_t, c_size_t
      integer(c_int64_t), intent(inout) :: state(*)
      integer(c_size_t), value :: bytes
    end function
    integer(c_int) function law_tangent(state, strain, stress, tangent) bind(C)
      import :: c_int, c_int64_t, c_double
      integer(c_int64_t), intent(inout) :: state(*)
      real(c_double), intent(in) :: strain
      real(c_double), intent(out) :: stress, tangent
    end function
  end interface

contains

  ! The user material routine: stress and tangent at a strain. A step above 0 takes the tangent from a second stress.
  subroutine umat(state, strain, step, stress, tangent)
    integer(c_int64_t), intent(inout) :: state(:)
    real(c_double), intent(in) :: strain, step
    real(c_double), intent(out) :: stress, tangent
    real(c_double) :: moved, unused
    integer(c_int) :: code
    code = law_tangent(state, strain, stress, tangent)
    if (code /= 0) error stop 'the law refuses its state: was law_init called?'
    if (step <= 0) return
    code = law_tangent(state, strain + step, moved, unused)
    tangent = (moved - stress) / step
  end subroutine

end module material

program bar
  use material
  use omp_lib
  implicit none
  integer, parameter :: elements = 400, threads = 2, most = 30
  real(c_double), parameter :: length = 1d0 / elements, body = 0.5d0, pull = 0.2d0, tolerance = 1d-11
  integer(c_int64_t), allocatable :: states(:, :)
  real(c_double) :: exact(0:most), differences(0:most), order
  integer :: n_exact, n_differences, i

  ! A state for each thread, each in a multiple of 16 bytes, so that it is aligned as C wants it.
  allocate (states(2 * ((law_state_bytes() + 15) / 16), threads))
  do i = 1, threads
    if (law_init(states(:, i), 8 * size(states, 1, kind=c_size_t)) /= 0) error stop 'the state is too small'
  end do

  call newton(0d0, exact, n_exact)
  call newton(1d-2, differences, n_differences)
  print '(a)', 'residual after each iteration of Newton''s method'
  print '(a9, 2a24)', 'iteration', 'tangent of the law', 'finite differences'
  do i = 0, max(n_exact, n_differences)
    if (i <= n_exact) then
      print '(i9, 2es24.3)', i, exact(i), differences(i)
    else
      print '(i9, 24x, es24.3)', i, differences(i)
    end if
  end do

  ! Where e becomes e^p from one iteration to the next, p is the order. The last residual is rounding.
  order = log(exact(n_exact - 1) / exact(n_exact - 2)) / log(exact(n_exact - 2) / exact(n_exact - 3))
  print '(a, f4.1)', 'order of convergence with the tangent of the law: ', order
  if (order < 1.7d0) error stop 'the convergence is not quadratic'
  if (n_differences <= n_exact) error stop 'finite differences took fewer iterations'

contains

  ! Solves for the displacements, and returns the norm of the residual after each iteration.
  subroutine newton(step, residuals, n)
    real(c_double), intent(in) :: step
    real(c_double), intent(out) :: residuals(0:)
    integer, intent(out) :: n
    real(c_double) :: u(0:elements), residual(elements), diagonal(elements), upper(elements)
    u = 0
    residuals = 0
    do n = 0, most
      call assemble(u, step, residual, diagonal, upper)
      residuals(n) = norm2(residual)
      if (residuals(n) < tolerance) return
      call solve(diagonal, upper, residual)
      u(1:) = u(1:) + residual
    end do
    error stop 'Newton''s method has not converged'
  end subroutine

  ! The residual (load minus internal force) of the free nodes, and its symmetric tridiagonal stiffness. Threads compute
  ! the points, and the sums are made in one order, so that the result does not depend on the threads.
  subroutine assemble(u, step, residual, diagonal, upper)
    real(c_double), intent(in) :: u(0:), step ! u(0) is the fixed end
    real(c_double), intent(out) :: residual(:), diagonal(:), upper(:)
    real(c_double), parameter :: gauss(2) = [-1, 1] / sqrt(3d0)
    real(c_double) :: force(elements), stiffness(elements), strain, stress, tangent, section
    integer :: e, point
    !$omp parallel do num_threads(threads) private(strain, stress, tangent, section, point)
    do e = 1, elements
      strain = (u(e) - u(e - 1)) / length
      force(e) = 0
      stiffness(e) = 0
      do point = 1, 2
        section = 1 - 0.5d0 * (e - 0.5d0 + gauss(point) / 2) * length
        call umat(states(:, omp_get_thread_num() + 1), strain, step, stress, tangent)
        force(e) = force(e) + section * stress / 2
        stiffness(e) = stiffness(e) + section * tangent / (2 * length)
      end do
    end do
    !$omp end parallel do
    residual = body * length - force
    residual(:elements - 1) = residual(:elements - 1) + force(2:)
    residual(elements) = residual(elements) - body * length / 2 + pull
    diagonal = stiffness
    diagonal(:elements - 1) = diagonal(:elements - 1) + stiffness(2:)
    upper = 0
    upper(:elements - 1) = -stiffness(2:)
  end subroutine

  ! Solves a symmetric tridiagonal system by elimination; x is the right-hand side, then the solution.
  subroutine solve(diagonal, upper, x)
    real(c_double), intent(inout) :: diagonal(:), x(:)
    real(c_double), intent(in) :: upper(:)
    integer :: i
    do i = 2, size(x)
      diagonal(i) = diagonal(i) - upper(i - 1)**2 / diagonal(i - 1)
      x(i) = x(i) - upper(i - 1) / diagonal(i - 1) * x(i - 1)
    end do
    x(size(x)) = x(size(x)) / diagonal(size(x))
    do i = size(x) - 1, 1, -1
      x(i) = (x(i) - upper(i) * x(i + 1)) / diagonal(i)
    end do
  end subroutine

end program bar
