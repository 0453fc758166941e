! SPDX-License-Identifier: BSD-3-Clause
! Windows by mpif.h, fixed form: what an old program does.
      program rmafld
      include 'mpif.h'
      integer rank, size, ierr, i, next, prev, win, v(100), w(100)
      integer cells(100), wgroup, group(2), ranks(1)
      integer(kind=MPI_ADDRESS_KIND) bytes, at
      common /window/ cells
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      next = mod(rank + 1, size)
      prev = mod(rank + size - 1, size)
      do 10 i = 1, 100
          cells(i) = 0
          v(i) = 1000 * rank + i
 10   continue
      bytes = 400
      at = 0
      call MPI_WIN_CREATE(cells, bytes, 4, MPI_INFO_NULL,
     &                    MPI_COMM_WORLD, win, ierr)
      call MPI_WIN_FENCE(0, win, ierr)
      call MPI_PUT(v, 100, MPI_INTEGER, next, at, 100, MPI_INTEGER,
     &             win, ierr)
      call MPI_WIN_FENCE(0, win, ierr)
      do 20 i = 1, 100
          if (cells(i) .ne. 1000 * prev + i)
     &        call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
 20   continue
      call MPI_WIN_LOCK(MPI_LOCK_SHARED, next, 0, win, ierr)
      call MPI_GET(w, 100, MPI_INTEGER, next, at, 100, MPI_INTEGER,
     &             win, ierr)
      call MPI_WIN_UNLOCK(next, win, ierr)
      if (w(100) .ne. v(100)) call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      call MPI_WIN_GET_GROUP(win, wgroup, ierr)
      ranks(1) = prev
      call MPI_GROUP_INCL(wgroup, 1, ranks, group(1), ierr)
      ranks(1) = next
      call MPI_GROUP_INCL(wgroup, 1, ranks, group(2), ierr)
      v(1) = 7 + rank
      call MPI_WIN_POST(group(1), 0, win, ierr)
      call MPI_WIN_START(group(2), 0, win, ierr)
      call MPI_ACCUMULATE(v, 1, MPI_INTEGER, next, at, 1, MPI_INTEGER,
     &                    MPI_REPLACE, win, ierr)
      call MPI_WIN_COMPLETE(win, ierr)
      call MPI_WIN_WAIT(win, ierr)
      if (cells(1) .ne. 7 + prev)
     &    call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
      call MPI_GROUP_FREE(group(1), ierr)
      call MPI_GROUP_FREE(group(2), ierr)
      call MPI_GROUP_FREE(wgroup, ierr)
      call MPI_WIN_FREE(win, ierr)
      if (win .ne. MPI_WIN_NULL)
     &    call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
      if (rank .eq. 0) print '(a)', 'PASS rma_fold'
      call MPI_FINALIZE(ierr)
      end
