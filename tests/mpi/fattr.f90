! SPDX-License-Identifier: BSD-3-Clause
! The attributes of impif.h, and those of MPI that are of all clients, by both
! Fortran bindings of MPI-1 and MPI-2, a grid, and a stencil over it with
! nonblocking reductions.
program fattr
    use mpi
    implicit none
    include 'impif.h'
    integer :: ierr, rank, nprocs, part, psize, i, step
    integer :: grid, dims(2), left, right, down, up, req
    logical :: flag, periods(2)
    integer(kind=MPI_ADDRESS_KIND) :: clients, color, hosts, bound
    integer :: old
    character(len=16) :: text
    double precision :: u(0:9, 0:9), v(0:9, 0:9), sum, total, expected

    call MPI_Init(ierr)
    call MPI_Comm_rank(MPI_COMM_WORLD, rank, ierr)
    call MPI_Comm_size(MPI_COMM_WORLD, nprocs, ierr)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_SIZE, clients, flag, &
        ierr)
    if (.not. flag .or. clients < 2) call fail(1)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_CLIENT_COLOR, color, flag, ierr)
    if (.not. flag .or. color < 0 .or. color >= clients) call fail(2)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, IMPI_HOST_SIZE, hosts, flag, ierr)
    if (.not. flag .or. hosts < clients) call fail(3)
    call MPI_Attr_get(MPI_COMM_WORLD, IMPI_CLIENT_SIZE, old, flag, ierr)
    if (.not. flag .or. old /= clients) call fail(4)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, bound, flag, ierr)
    if (.not. flag .or. bound < 32767) call fail(5)
    call get_environment_variable('BARE_TAGUB', text, status=old)
    if (old == 0) then
        read (text, *) old
        if (bound /= old) call fail(5)
    end if
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, bound, flag, ierr)
    if (.not. flag .or. bound /= nprocs) call fail(8)
    call MPI_Attr_get(MPI_COMM_WORLD, MPI_UNIVERSE_SIZE, old, flag, ierr)
    if (.not. flag .or. old /= nprocs) call fail(9)
    call MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_WTIME_IS_GLOBAL, bound, flag, &
        ierr)
    if (.not. flag .or. bound /= 0) call fail(10)
    call MPI_Comm_split(MPI_COMM_WORLD, int(color), 0, part, ierr)
    call MPI_Comm_get_attr(part, IMPI_CLIENT_SIZE, clients, flag, ierr)
    if (.not. flag .or. clients /= 1) call fail(6)
    call MPI_Comm_size(part, psize, ierr)
    if (psize > nprocs) call fail(7)
    call MPI_Comm_free(part, ierr)

    ! The sum over a periodic grid stays when each cell takes its
    ! neighbours' mean.
    dims = 0
    periods = .true.
    call MPI_Dims_create(nprocs, 2, dims, ierr)
    call MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, .true., grid, ierr)
    call MPI_Cart_shift(grid, 0, 1, up, down, ierr)
    call MPI_Cart_shift(grid, 1, 1, left, right, ierr)
    u = rank + 1
    expected = 64.d0 * nprocs * (nprocs + 1) / 2
    do step = 1, 10
        call swap(u)
        do i = 1, 8
            v(1:8, i) = (u(0:7, i) + u(2:9, i) + u(1:8, i - 1) &
                + u(1:8, i + 1)) / 4
        end do
        u = v
        sum = 0
        do i = 1, 8
            sum = sum + dot_product(u(1:8, i), (/ (1.d0, old = 1, 8) /))
        end do
        call MPI_Iallreduce(sum, total, 1, MPI_DOUBLE_PRECISION, MPI_SUM, &
            grid, req, ierr)
        call MPI_Wait(req, MPI_STATUS_IGNORE, ierr)
        if (abs(total - expected) > 1d-6) call fail(20 + step)
    end do
    call MPI_Comm_free(grid, ierr)
    if (rank == 0) print '(a)', 'PASS fattr'
    call MPI_Finalize(ierr)

contains

    subroutine swap(a)
        double precision, intent(inout) :: a(0:9, 0:9)
        integer :: column

        call MPI_Type_vector(8, 1, 10, MPI_DOUBLE_PRECISION, column, ierr)
        call MPI_Type_commit(column, ierr)
        call MPI_Sendrecv(a(1, 1), 8, MPI_DOUBLE_PRECISION, left, 1, &
            a(1, 9), 8, MPI_DOUBLE_PRECISION, right, 1, grid, &
            MPI_STATUS_IGNORE, ierr)
        call MPI_Sendrecv(a(1, 8), 8, MPI_DOUBLE_PRECISION, right, 2, &
            a(1, 0), 8, MPI_DOUBLE_PRECISION, left, 2, grid, &
            MPI_STATUS_IGNORE, ierr)
        call MPI_Sendrecv(a(1, 1), 1, column, up, 3, a(9, 1), 1, column, &
            down, 3, grid, MPI_STATUS_IGNORE, ierr)
        call MPI_Sendrecv(a(8, 1), 1, column, down, 4, a(0, 1), 1, column, &
            up, 4, grid, MPI_STATUS_IGNORE, ierr)
        call MPI_Type_free(column, ierr)
    end subroutine

    subroutine fail(where)
        integer, intent(in) :: where

        print *, 'rank', rank, 'failed at', where
        call MPI_Abort(MPI_COMM_WORLD, 3, ierr)
    end subroutine
end program
