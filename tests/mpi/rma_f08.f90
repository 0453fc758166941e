! SPDX-License-Identifier: BSD-3-Clause
! Windows by the module mpi_f08: fences, locks, accumulates, attributes.
program rma_f08
    use mpi_f08
    use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
    implicit none
    integer, parameter :: n = 100
    integer :: rank, size, next, prev
    integer, allocatable, asynchronous :: cells(:)
    integer, asynchronous :: out(n), got(n)
    type(MPI_Win) :: win

    call MPI_Init()
    call MPI_Comm_rank(MPI_COMM_WORLD, rank)
    call MPI_Comm_size(MPI_COMM_WORLD, size)
    next = mod(rank + 1, size)
    prev = mod(rank + size - 1, size)
    call created
    call locked
    call allocated
    if (rank == 0) print '(a)', 'PASS rma_f08'
    call MPI_Finalize()
contains
    subroutine check(ok, what)
        logical, intent(in) :: ok
        character(*), intent(in) :: what
        if (ok) return
        print '(a,i0,2a)', 'FAIL rank ', rank, ': ', what
        call MPI_Abort(MPI_COMM_WORLD, 3)
    end subroutine

    subroutine open_window
        allocate (cells(n))
        cells = 0
        call MPI_Win_create(cells, int(4 * n, MPI_ADDRESS_KIND), 4, &
                            MPI_INFO_NULL, MPI_COMM_WORLD, win)
        call MPI_Barrier(MPI_COMM_WORLD)
    end subroutine

    subroutine close_window
        call MPI_Win_free(win)
        call check(win == MPI_WIN_NULL, 'freed')
        deallocate (cells)
    end subroutine

    subroutine created
        type(MPI_Group) :: mine, all
        integer :: i, result
        call open_window
        call MPI_Win_get_group(win, mine)
        call MPI_Comm_group(MPI_COMM_WORLD, all)
        call MPI_Group_compare(mine, all, result)
        call check(result == MPI_IDENT, 'group')
        call MPI_Group_free(mine)
        call MPI_Group_free(all)
        out = [(1000 * rank + i, i=1, n)]
        call MPI_Win_fence(0, win)
        call MPI_Put(out, n, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, n, &
                     MPI_INTEGER, win)
        call MPI_Win_fence(0, win)
        call check(all_are(cells, 1000 * prev), 'put')
        call MPI_Get(got, n, MPI_INTEGER, next, 0_MPI_ADDRESS_KIND, n, &
                     MPI_INTEGER, win)
        call MPI_Win_fence(0, win)
        call check(all_are(got, 1000 * rank), 'get')
        call close_window
    end subroutine

    logical function all_are(list, from)
        integer, intent(in) :: list(n), from
        integer :: i
        all_are = all(list == [(from + i, i=1, n)])
    end function

    subroutine locked
        integer, asynchronous :: one(1), was(1)
        integer :: i
        one = 1
        call open_window
        do i = 1, 20
            call MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win)
            call MPI_Get(was, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, &
                         MPI_INTEGER, win)
            call MPI_Win_flush(0, win)
            was = was + 1
            call MPI_Put(was, 1, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 1, &
                         MPI_INTEGER, win)
            call MPI_Accumulate(one, 1, MPI_INTEGER, 0, 1_MPI_ADDRESS_KIND, &
                                1, MPI_INTEGER, MPI_SUM, win)
            call MPI_Win_unlock(0, win)
        end do
        call MPI_Barrier(MPI_COMM_WORLD)
        call MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win)
        call MPI_Get(got, 2, MPI_INTEGER, 0, 0_MPI_ADDRESS_KIND, 2, &
                     MPI_INTEGER, win)
        call MPI_Win_unlock(0, win)
        call check(all(got(1:2) == 20 * size), 'sum')
        call MPI_Win_lock_all(0, win)
        call MPI_Fetch_and_op(one, was, MPI_INTEGER, next, &
                              2_MPI_ADDRESS_KIND, MPI_SUM, win)
        call MPI_Win_flush_all(win)
        call MPI_Win_unlock_all(win)
        call check(was(1) == 0, 'fetch')
        call close_window
    end subroutine

    subroutine allocated
        integer, pointer, asynchronous :: mine(:)
        integer, asynchronous :: v(1), in(1)
        integer(MPI_ADDRESS_KIND) :: bytes
        type(c_ptr) :: base
        logical :: found
        call MPI_Win_allocate(int(4 * n, MPI_ADDRESS_KIND), 4, MPI_INFO_NULL, &
                              MPI_COMM_WORLD, base, win)
        call c_f_pointer(base, mine, [n])
        call MPI_Win_get_attr(win, MPI_WIN_BASE, bytes, found)
        call check(found .and. bytes == transfer(base, bytes), 'base')
        call MPI_Win_get_attr(win, MPI_WIN_SIZE, bytes, found)
        call check(found .and. bytes == 4 * n, 'size')
        call MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, bytes, found)
        call check(found .and. bytes == 4, 'unit')
        mine = -1
        v = 5 + rank
        call MPI_Win_fence(0, win)
        call MPI_Put(v, 1, MPI_INTEGER, next, 7_MPI_ADDRESS_KIND, 1, &
                     MPI_INTEGER, win)
        call MPI_Win_fence(0, win)
        call check(mine(8) == 5 + prev .and. mine(7) == -1, 'allocated')
        call MPI_Get(in, 1, MPI_INTEGER, next, 7_MPI_ADDRESS_KIND, 1, &
                     MPI_INTEGER, win)
        call MPI_Win_fence(0, win)
        call check(in(1) == 5 + rank, 'got')
        call MPI_Win_free(win)
    end subroutine
end program
