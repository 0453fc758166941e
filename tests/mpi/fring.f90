! SPDX-License-Identifier: BSD-3-Clause
! The module mpi: ring, wildcards, nonblocking calls, waiting, reductions.
program fring
    use mpi
    implicit none
    integer :: rank, size, ierr, next, prev, i, token, total, flag_count
    integer :: req(2), st(MPI_STATUS_SIZE), sts(MPI_STATUS_SIZE, 2), n
    double precision :: x(3), y(3)
    logical :: flag

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, size, ierr)
    next = mod(rank + 1, size)
    prev = mod(rank + size - 1, size)
    do i = 1, 5
        token = rank * 100 + i
        total = -1
        call MPI_Irecv(total, 1, MPI_INTEGER, MPI_ANY_SOURCE, i, &
                       MPI_COMM_WORLD, req(1), ierr)
        call MPI_Isend(token, 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, &
                       req(2), ierr)
        call MPI_Waitall(2, req, sts, ierr)
        call check(total == prev * 100 + i, 'ring')
        call check(sts(MPI_SOURCE, 1) == prev, 'source')
        call check(req(1) == MPI_REQUEST_NULL, 'null')
    end do
    call MPI_Irecv(y, 3, MPI_DOUBLE_PRECISION, prev, 9, MPI_COMM_WORLD, &
                   req(1), ierr)
    x = (/ rank * 1d0, 2d0, 3d0 /)
    call MPI_Send(x, 3, MPI_DOUBLE_PRECISION, next, 9, MPI_COMM_WORLD, ierr)
    flag = .false.
    flag_count = 0
    do while (.not. flag)
        call MPI_Test(req(1), flag, st, ierr)
    end do
    call MPI_Get_count(st, MPI_DOUBLE_PRECISION, n, ierr)
    call check(n == 3 .and. y(1) == prev, 'doubles')
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, &
                       ierr)
    call check(total == size * (size - 1) / 2, 'sum')
    call MPI_Allreduce(MPI_IN_PLACE, x, 3, MPI_DOUBLE_PRECISION, MPI_MAX, &
                       MPI_COMM_WORLD, ierr)
    call check(x(1) == size - 1, 'in place')
    call groups_of_other_clients
    if (rank == 0) print '(a)', 'PASS fring'
    call MPI_Finalize(ierr)
contains
    ! Open MPI's functions read Fortran's handle out of a group (crashed).
    subroutine groups_of_other_clients
        integer :: all, g(7), i, n, e, last(1), range(3, 1)

        call MPI_Comm_group(MPI_COMM_WORLD, all, e)
        last(1) = size - 1
        range(:, 1) = (/0, size - 1, 1/)
        call MPI_Group_excl(all, 1, last, g(1), e)
        call MPI_Group_incl(all, 1, last, g(2), e)
        call MPI_Group_range_incl(all, 1, range, g(3), e)
        range(:, 1) = (/0, 0, 1/)
        call MPI_Group_range_excl(all, 1, range, g(4), e)
        call MPI_Group_union(g(1), g(2), g(5), e)
        call MPI_Group_intersection(all, g(4), g(6), e)
        call MPI_Group_difference(all, g(2), g(7), e)
        do i = 1, 7
            call MPI_Group_size(g(i), n, e)
            if (i == 2) then
                call check(n == 1, 'group of one')
            else if (i == 3 .or. i == 5) then
                call check(n == size, 'group of all')
            else
                call check(n == size - 1, 'group without one')
            end if
            call MPI_Group_free(g(i), e)
        end do
        call MPI_Group_free(all, e)
    end subroutine
    subroutine check(ok, what)
        logical, intent(in) :: ok
        character(*), intent(in) :: what
        integer :: e
        if (.not. ok) then
            print '(a,i0,2a)', 'rank ', rank, ' failed: ', what
            call MPI_Abort(MPI_COMM_WORLD, 3, e)
        end if
    end subroutine
end program
