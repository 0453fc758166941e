/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hwloc asks of libudev (names of disks), for a program that is linked
 * statically: Debian has no libudev.a.
 */
#include <stddef.h>

struct udev;
struct udev_device;

struct udev *udev_new(void);
struct udev *udev_unref(struct udev *udev);
struct udev_device *udev_device_unref(struct udev_device *dev);
struct udev_device *
udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                       const char *sysname);
const char *udev_device_get_property_value(struct udev_device *dev,
                                           const char *key);

struct udev *udev_new(void)
{
    return NULL;
}

struct udev *udev_unref(struct udev *udev)
{
    return NULL;
}

struct udev_device *udev_device_unref(struct udev_device *dev)
{
    return NULL;
}

struct udev_device *
udev_device_new_from_subsystem_sysname(struct udev *udev, const char *subsystem,
                                       const char *sysname)
{
    return NULL;
}

const char *udev_device_get_property_value(struct udev_device *dev,
                                           const char *key)
{
    return NULL;
}
