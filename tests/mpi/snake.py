#!/usr/bin/python3
# SPDX-License-Identifier: BSD-3-Clause
"""mpi4py in a world with C programs of another library: snake.c does the same
on their side."""
import array
import os

from mpi4py import MPI

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
right, left = (rank + 1) % size, (rank - 1) % size

# messages of numbers, blocking and not, and matched ones
out = array.array("d", [rank + i / 4 for i in range(1000)])
got = array.array("d", [0]) * 1000
req = comm.Irecv([got, MPI.DOUBLE], left, 1)
comm.Send([out, MPI.DOUBLE], right, 1)
req.Wait()
assert got[999] == left + 999 / 4
req = comm.Isend([out, MPI.DOUBLE], right, 2)
status = MPI.Status()
message = comm.Mprobe(MPI.ANY_SOURCE, 2, status)
assert status.source == left and status.Get_count(MPI.DOUBLE) == 1000
message.Recv([got, MPI.DOUBLE])
req.Wait()

# everybody
total = array.array("i", [0])
comm.Allreduce([array.array("i", [rank]), MPI.INT], [total, MPI.INT], MPI.SUM)
assert total[0] == size * (size - 1) // 2
value = array.array("i", [42 if rank == 0 else 0])
comm.Bcast([value, MPI.INT], 0)
assert value[0] == 42
every = array.array("i", [0]) * size
comm.Allgather([array.array("i", [rank * rank]), MPI.INT], [every, MPI.INT])
assert list(every) == [i * i for i in range(size)]
comm.Ibarrier().Wait()

# parts, groups, grids
part = comm.Split(rank % 2, -rank)
assert part.size == (size + 1 - rank % 2) // 2
part.Free()
group = comm.Get_group()
back = group.Incl(list(range(size - 1, -1, -1)))
turned = comm.Create(back)
assert turned.rank == size - 1 - rank
turned.Free()
ring = comm.Create_cart([size], [True])
assert ring.Shift(0, 1) == (left, right)
ring.Free()
# a file in which each has every size-th block
name = os.environ.get("SNAKE_FILE")
if name:
    blocks = MPI.INT.Create_vector(10, 100, 100 * size).Commit()
    ints = array.array("i", [rank * 1000 + i for i in range(1000)])
    file = MPI.File.Open(comm, name, MPI.MODE_CREATE | MPI.MODE_RDWR)
    file.Set_view(rank * 400, MPI.INT, blocks)
    file.Write_all([ints, MPI.INT])
    file.Sync()
    comm.Barrier()
    file.Set_view(right * 400, MPI.INT, blocks)
    file.Read_at_all(0, [ints, MPI.INT])
    assert list(ints) == [right * 1000 + i for i in range(1000)]
    file.Close()
    blocks.Free()
print("python", rank, "is right", flush=True)
