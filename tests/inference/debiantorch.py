"""PyTorch of Debian 12, unpacked into the user's cache and not installed: 0.6 GB

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import glob
import os

from samples import packages


def unpack_torch(folder):
    """Unpacks torchvision, and what it needs and the system does not have."""
    archives = os.path.join(folder, "archives")
    os.makedirs(os.path.join(archives, "partial"))
    packages.run(["apt-get", "--yes", "--download-only", "--no-install-recommends",
                  f"-oDir::Cache::archives={archives}", "-oAPT::Sandbox::User=root",
                  "-oDebug::NoLocking=1", "install", "python3-torchvision"])
    for package in glob.glob(f"{archives}/*.deb"):
        packages.run(["dpkg-deb", "-x", package, os.path.join(folder, "root")])
        os.remove(package)


def torch_environment():
    """Returns the environment of a Python that has PyTorch."""
    root = os.path.join(packages.fill_once(packages.cache_folder("torch"), unpack_torch), "root")
    libraries = [f"{root}/usr/lib", *glob.glob(f"{root}/usr/lib/*-linux-gnu*"),
                 *glob.glob(f"{root}/lib/*-linux-gnu*")]
    return {**os.environ, "PYTHONPATH": f"{root}/usr/lib/python3/dist-packages",
            "LD_LIBRARY_PATH": ":".join(libraries)}
