! SPDX-License-Identifier: BSD-3-Clause
! mpif.h, fixed form: what an old program does.
      program fold
      include 'mpif.h'
      integer rank, size, ierr, i, next, prev, v, w, req
      integer st(MPI_STATUS_SIZE)
      call MPI_INIT(ierr)
      call MPI_COMM_RANK(MPI_COMM_WORLD, rank, ierr)
      call MPI_COMM_SIZE(MPI_COMM_WORLD, size, ierr)
      next = mod(rank + 1, size)
      prev = mod(rank + size - 1, size)
      do 10 i = 1, 5
          v = rank * 10 + i
          call MPI_IRECV(w, 1, MPI_INTEGER, prev, i,
     &                   MPI_COMM_WORLD, req, ierr)
          call MPI_SEND(v, 1, MPI_INTEGER, next, i,
     &                  MPI_COMM_WORLD, ierr)
          call MPI_WAIT(req, st, ierr)
          if (w .ne. prev * 10 + i .or. st(MPI_SOURCE) .ne. prev)
     &        call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
 10   continue
      call MPI_SENDRECV(v, 1, MPI_INTEGER, next, 7, w, 1,
     &                  MPI_INTEGER, MPI_ANY_SOURCE, MPI_ANY_TAG,
     &                  MPI_COMM_WORLD, st, ierr)
      if (st(MPI_TAG) .ne. 7) call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
      w = rank
      call MPI_BCAST(w, 1, MPI_INTEGER, size - 1, MPI_COMM_WORLD, ierr)
      if (w .ne. size - 1) call MPI_ABORT(MPI_COMM_WORLD, 3, ierr)
      call MPI_BARRIER(MPI_COMM_WORLD, ierr)
      if (rank .eq. 0) print '(a)', 'PASS fold'
      call MPI_FINALIZE(ierr)
      end
