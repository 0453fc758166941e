/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Loads a plugin that uses MPI with RTLD_LOCAL: nothing of the MPI library
 * comes into the global scope.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char *argv[])
{
    void *plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    int (*hello)(void);

    if (!plugin) {
        fprintf(stderr, "%s\n", dlerror());
        return 1;
    }
    *(void **)&hello = dlsym(plugin, "hello_main");
    return hello ? hello() : 1;
}
