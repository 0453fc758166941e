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
    call groups_of_other_clients
    call attribute_follows_a_duplicate
    call neighbours_of_a_graph
    if (rank == 0) print '(a)', 'PASS f08'
    call MPI_Finalize()
contains
    subroutine check(ok, what)
        logical, intent(in) :: ok
        character(*), intent(in) :: what
        if (ok) return
        print '(a,i0,2a)', 'FAIL rank ', rank, ': ', what
        call MPI_Abort(MPI_COMM_WORLD, 3)
    end subroutine

    subroutine groups_of_other_clients
        type(MPI_Group) :: all, g(7)
        type(MPI_Comm) :: comm
        integer :: last(1), range(3, 1), at(1), n, r, k
        call MPI_Comm_group(MPI_COMM_WORLD, all)
        last = size - 1
        range(:, 1) = [size - 1, size - 1, 1]
        call MPI_Group_excl(all, 1, last, g(1))
        call MPI_Group_incl(all, 1, last, g(2))
        call MPI_Group_range_incl(all, 1, range, g(3))
        call MPI_Group_range_excl(all, 1, range, g(4))
        call MPI_Group_union(g(1), g(2), g(5))
        call MPI_Group_intersection(all, g(4), g(6))
        call MPI_Group_difference(all, g(2), g(7))
        do k = 1, 7
            call MPI_Group_size(g(k), n)
            if (k == 2 .or. k == 3) then
                call check(n == 1, 'group of one')
            else if (k == 5) then
                call check(n == size, 'group of all')
            else
                call check(n == size - 1, 'group without one')
            end if
        end do
        call MPI_Group_compare(g(1), g(4), r)
        call check(r == MPI_IDENT, 'equal groups')
        call MPI_Group_translate_ranks(g(2), 1, [0], all, at)
        call check(at(1) == size - 1, 'rank in another group')
        call MPI_Comm_create(MPI_COMM_WORLD, g(5), comm)
        call MPI_Comm_compare(comm, MPI_COMM_WORLD, r)
        call check(r == MPI_CONGRUENT, 'communicator of a group')
        call MPI_Comm_free(comm)
        do k = 1, 7
            call MPI_Group_free(g(k))
        end do
        call MPI_Group_free(all)
    end subroutine

    subroutine attribute_follows_a_duplicate
        integer(MPI_ADDRESS_KIND) :: here, there
        type(MPI_Comm) :: one, two
        integer :: key
        logical :: found
        call MPI_Comm_create_keyval(MPI_COMM_DUP_FN, &
                                    MPI_COMM_NULL_DELETE_FN, key, &
                                    0_MPI_ADDRESS_KIND)
        here = 123456789012_MPI_ADDRESS_KIND + rank
        call MPI_Comm_dup(MPI_COMM_WORLD, one)
        call MPI_Comm_set_attr(one, key, here)
        call MPI_Comm_dup(one, two)
        call MPI_Comm_get_attr(two, key, there, found)
        call check(found .and. here == there, 'attribute of a duplicate')
        call MPI_Comm_free(two)
        call MPI_Comm_free(one)
        call MPI_Comm_free_keyval(key)
    end subroutine

    subroutine neighbours_of_a_graph
        type(MPI_Comm) :: graph
        integer :: from(2), to(2), seen(2), in, out
        logical :: weighted
        from = [prev, next]
        to = [next, prev]
        call MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 2, from, [1, 2], &
                                            2, to, [1, 2], MPI_INFO_NULL, &
                                            .false., graph)
        call MPI_Dist_graph_neighbors_count(graph, in, out, weighted)
        call check(in == 2 .and. out == 2 .and. weighted, 'neighbours')
        call MPI_Neighbor_allgather(rank, 1, MPI_INTEGER, seen, 1, &
                                    MPI_INTEGER, graph)
        call check(all(seen == from), 'what neighbours gave')
        call MPI_Comm_free(graph)
        call MPI_Dist_graph_create(MPI_COMM_WORLD, 1, [rank], [1], [next], &
                                   [7], MPI_INFO_NULL, .false., graph)
        call MPI_Neighbor_alltoall(rank, 1, MPI_INTEGER, seen, 1, &
                                   MPI_INTEGER, graph)
        call check(seen(1) == prev, 'what the one before gave')
        call MPI_Comm_free(graph)
    end subroutine
end program
