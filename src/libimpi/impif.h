!     SPDX-License-Identifier: BSD-3-Clause
!     The four attributes of IMPI for MPI_COMM_GET_ATTR: see impi.h.
      integer IMPI_CLIENT_SIZE, IMPI_CLIENT_COLOR
      integer IMPI_HOST_SIZE, IMPI_HOST_COLOR
      parameter (IMPI_CLIENT_SIZE=1229783041)
      parameter (IMPI_CLIENT_COLOR=1229783042)
      parameter (IMPI_HOST_SIZE=1229783043)
      parameter (IMPI_HOST_COLOR=1229783044)
