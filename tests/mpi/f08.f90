! SPDX-License-Identifier: BSD-3-Clause
! The module mpi_f08.
program f08
    use mpi_f08
    implicit none
    integer :: rank, size, next, prev, i, token, got
    type(MPI_Request) :: req(2)
    type(MPI_Status) :: st, sts(2)
    integer :: total

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    next = mod(rank + 1, size)
    prev = mod(rank + size - 1, size)
    do i = 1, 5
        token = rank * 100 + i
        call MPI_Irecv(got, 1, MPI_INTEGER, MPI_ANY_SOURCE, i, &
                       MPI_COMM_WORLD, req(1))
        call MPI_Isend(token, 1, MPI_INTEGER, next, i, MPI_COMM_WORLD, req(2))
        call MPI_Waitall(2, req, sts)
        if (got /= prev * 100 + i .or. sts(1)%MPI_SOURCE /= prev) &
            call MPI_Abort(MPI_COMM_WORLD, 3)
    end do
    call MPI_Isend(token, 1, MPI_INTEGER, next, 8, MPI_COMM_WORLD, req(1))
    call MPI_Recv(got, 1, MPI_INTEGER, prev, 8, MPI_COMM_WORLD, st)
    call MPI_Wait(req(1), MPI_STATUS_IGNORE)
    if (st%MPI_TAG /= 8) call MPI_Abort(MPI_COMM_WORLD, 3)
    call MPI_Allreduce(rank, total, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD)
    if (total /= size * (size - 1) / 2) call MPI_Abort(MPI_COMM_WORLD, 3)
    if (rank == 0) print '(a)', 'PASS f08'
    call MPI_Finalize()
end program
