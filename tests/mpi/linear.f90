! SPDX-License-Identifier: BSD-3-Clause
! A real library: a dense system of equations by ScaLAPACK over a grid of all
! processes; the sum of the residual's entries says whether it is right.
program linear
    implicit none
    integer, parameter :: n = 192, nb = 16
    integer :: context, rows, cols, row, col, me, nprocs, info, mine, nine
    integer :: desca(9), descb(9), i, j
    integer, allocatable :: pivots(:)
    double precision, allocatable :: a(:, :), b(:, :), a0(:, :), b0(:, :)
    double precision :: rest
    integer, external :: numroc, indxl2g
    double precision, external :: pdlange

    call blacs_pinfo(me, nprocs)
    rows = int(sqrt(dble(nprocs)))
    do while (mod(nprocs, rows) /= 0)
        rows = rows - 1
    end do
    cols = nprocs / rows
    call blacs_get(-1, 0, context)
    call blacs_gridinit(context, 'R', rows, cols)
    call blacs_gridinfo(context, rows, cols, row, col)
    mine = max(1, numroc(n, nb, row, 0, rows))
    nine = max(1, numroc(n, nb, col, 0, cols))
    allocate (a(mine, nine), a0(mine, nine), b(mine, 1), b0(mine, 1))
    allocate (pivots(mine + nb))
    call descinit(desca, n, n, nb, nb, 0, 0, context, mine, info)
    call descinit(descb, n, 1, nb, nb, 0, 0, context, mine, info)
    do j = 1, numroc(n, nb, col, 0, cols)
        do i = 1, numroc(n, nb, row, 0, rows)
            a(i, j) = entry_of(indxl2g(i, nb, row, 0, rows), &
                indxl2g(j, nb, col, 0, cols))
        end do
    end do
    do i = 1, mine
        b(i, 1) = indxl2g(i, nb, row, 0, rows)
    end do
    a0 = a
    b0 = b
    call pdgesv(n, 1, a, 1, 1, desca, pivots, b, 1, 1, descb, info)
    if (info /= 0) call blacs_abort(context, 3)
    call pdgemm('N', 'N', n, 1, n, 1.d0, a0, 1, 1, desca, b, 1, 1, descb, &
        -1.d0, b0, 1, 1, descb)
    rest = pdlange('M', n, 1, b0, 1, 1, descb, a)
    if (.not. rest < 1d-8) call blacs_abort(context, 4)
    if (me == 0) print '(a)', 'PASS linear'
    call blacs_gridexit(context)
    call blacs_exit(0)

contains

    double precision function entry_of(i, j)
        integer, intent(in) :: i, j

        entry_of = mod(i * 131 + j * 71 + i * j, 97) / 97.d0
        if (i == j) entry_of = entry_of + 60
    end function
end program
