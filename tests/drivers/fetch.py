"""Fetches OpenCL drivers into a folder each and says how a program uses one of them.

fetch.py DRIVER FOLDER [COMMAND...] fetches one into FOLDER/DRIVER, and runs the command with it.

Nothing is installed: packages of PyPI and Debian are unpacked, and the loader finds the
driver by OCL_ICD_VENDORS. A driver of a newer Debian runs with the C library that it was
built for.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import dataclasses
import glob
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "kernels"))
import devices  # noqa: E402

MACHINE = "x86_64-linux-gnu"
LOADER = "ld-linux-x86-64.so.2"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
ARM64 = "aarch64-linux-gnu"
# Packages that a cross build links with, and that its programs need
ARM64_PACKAGES = [
    "libc6-dev", "libglib2.0-dev", "libgstreamer1.0-dev", "libgstreamer-plugins-base1.0-dev",
    "gstreamer1.0-tools", "gstreamer1.0-plugins-base", "gstreamer1.0-plugins-good",
    "ocl-icd-opencl-dev", "opencl-c-headers", "opencl-clhpp-headers", "libclfft-dev",
    "libvkfft-dev", "libclblast-dev", "pocl-opencl-icd", "libzip-dev", "libcairo2-dev",
    "libjson-glib-dev", "libfftw3-dev", "librandom123-dev"]
FOLDER = os.path.join(os.environ["GST_OPENCL_DOWNLOADS"], "drivers")  # of tests/modes/common.sh


class Missing(Exception):
    """A driver that cannot be had, and why."""


@dataclasses.dataclass
class Driver:
    """A driver in its folder."""

    name: str
    folder: str
    library: str = ""  # pattern of the path
    environment: dict = dataclasses.field(default_factory=dict)
    prefix: list = dataclasses.field(default_factory=list)  # of the command

    def set_up(self):
        """Writes the ICD file, and gives the driver caches of its own."""
        found = sorted(glob.glob(self.library))
        if not found:
            raise Missing(f"no {self.library}")
        vendors = os.path.join(self.folder, "vendors.icd")
        with open(vendors, "w", encoding="utf-8") as file:
            file.write(found[0] + "\n")
        caches = os.path.join(self.folder, "cache")
        os.makedirs(caches, exist_ok=True)
        self.environment.update({"OCL_ICD_VENDORS": vendors, "XDG_CACHE_HOME": caches,
                                 "POCL_CACHE_DIR": os.path.join(caches, "pocl")})

    def environ(self, more):
        """The environment of a process; the driver's libraries come behind those of `more`."""
        made = {**os.environ, **more}
        paths = [made.get("LD_LIBRARY_PATH"), self.environment.get("LD_LIBRARY_PATH")]
        made.update(self.environment)
        if any(paths):
            made["LD_LIBRARY_PATH"] = ":".join(path for path in paths if path)
        return made


def command(words, **options):
    run = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                         check=False, **options)
    if run.returncode != 0:
        raise Missing(f"{words[0]}: {(run.stderr or run.stdout).strip()[-300:]}")
    return run.stdout


def once(folder, fill):
    """Calls fill for a new folder, which then gets this name, unless there is one."""
    if os.path.exists(folder):
        return
    os.makedirs(os.path.dirname(folder), exist_ok=True)
    with tempfile.TemporaryDirectory(dir=os.path.dirname(folder)) as unfinished:
        filled = os.path.join(unfinished, "filled")
        os.mkdir(filled)
        fill(filled)
        os.rename(filled, folder)


def of_pypi(driver, requirements):
    def fill(folder):
        command([sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:",
                 "--dest", folder, *requirements])
        for wheel in glob.glob(os.path.join(folder, "*.whl")):
            zipfile.ZipFile(wheel).extractall(folder)
            os.remove(wheel)
        # Intel's has a loader of its own, which would take the place of the system's.
        for loader in glob.glob(os.path.join(folder, "*.data/data/lib/libOpenCL.so*")):
            os.remove(loader)

    once(driver.folder, fill)
    data = glob.glob(os.path.join(driver.folder, "*.data/data/lib"))
    if data:
        driver.environment["LD_LIBRARY_PATH"] = ":".join(sorted(data))


def unpack_debian(folder, suite, packages, architecture=None):
    """Unpacks packages and all that they depend on, the C library too. Without an architecture, this
    machine's."""
    for path in ("lists/partial", "archives/partial"):
        os.makedirs(os.path.join(folder, "apt", path))
    apt = os.path.join(folder, "apt")
    with open(os.path.join(apt, "status"), "w", encoding="ascii"):
        pass  # nothing is installed
    with open(os.path.join(apt, "sources.list"), "w", encoding="ascii") as file:
        for place, name in (("debian", suite), ("debian-security", f"{suite}-security")):
            file.write(f"deb [signed-by={KEYRING}] http://deb.debian.org/{place} {name} main\n")
    options = {"Dir::Etc::sourcelist": f"{apt}/sources.list", "Dir::Etc::sourceparts": "-",
               "Dir::State::lists": f"{apt}/lists", "Dir::State::status": f"{apt}/status",
               "Dir::Cache": apt, "Dir::Cache::archives": f"{apt}/archives",
               "APT::Sandbox::User": "root", "APT::Install-Recommends": "no",
               "Debug::NoLocking": "yes"}
    if architecture:
        options.update({"APT::Architecture": architecture, "APT::Architectures::": architecture})
    words = ["apt-get", *(f"-o{name}={value}" for name, value in options.items())]
    command([*words, "update"])
    command([*words, "-y", "--download-only", "install", *packages])
    for package in glob.glob(f"{apt}/archives/*.deb"):
        command(["dpkg-deb", "-x", package, os.path.join(folder, "root")])
    shutil.rmtree(apt)
    if os.path.isdir(f"{folder}/root/lib"):  # until Debian 12 some are there
        command(["cp", "-a", f"{folder}/root/lib/.", f"{folder}/root/usr/lib"])


def c_library(loader):
    """Version of the C library that the loader belongs to."""
    said = command([loader, "--version"])
    return tuple(map(int, said.split("version ")[1].split(".\n")[0].split(".")[:2]))


def of_debian(driver, suite, packages):
    """The driver's processes, and those that they start, find its files in /usr, where they take
    the place of this machine's if they come with a newer C library."""
    if not shutil.which("apt-get"):
        raise Missing("apt-get is not there")
    once(driver.folder, lambda folder: unpack_debian(folder, suite, packages))
    root = os.path.join(driver.folder, "root")
    loader = os.path.join(root, "usr/lib", MACHINE, LOADER)
    own = tuple(map(int, platform.libc_ver()[1].split(".")[:2]))
    layers = [f"{root}/usr", "/usr"] if c_library(loader) > own else ["/usr", f"{root}/usr"]
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    driver.prefix = with_layers(layers, user)
    return f"{root}/usr/lib/{MACHINE}"


def with_layers(layers, user, before="true"):
    """Prefix of a command that finds the files of these folders in /usr."""
    return ["unshare", *user, "--mount", "sh", "-c",
            f"{before} && mount -t overlay overlay -o lowerdir={':'.join(layers)} /usr "
            '&& exec "$@"', "sh"]


def pocl_of_debian_13(driver):
    folder = of_debian(driver, "trixie", ["pocl-opencl-icd", "llvm-spirv-18"])
    driver.library = f"{folder}/libpocl.so.2.*"


def pocl_of_pypi(driver):
    of_pypi(driver, ["pocl-binary-distribution==3.0"])
    driver.library = f"{driver.folder}/pyopencl/.libs/libpocl-*.so"


def intel(driver):
    of_pypi(driver, ["intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0"])
    driver.library = f"{driver.folder}/intel_opencl_rt-*.data/data/lib/libintelocl.so"


def rusticl(driver, suite):
    folder = of_debian(driver, suite, ["mesa-opencl-icd"])
    driver.library = f"{folder}/libRusticlOpenCL.so.1"
    driver.environment["RUSTICL_ENABLE"] = "llvmpipe"


def rusticl_of_debian_12(driver):
    rusticl(driver, "bookworm")


def rusticl_of_debian_13(driver):
    rusticl(driver, "trixie")


def pocl_for_arm64(driver):
    """Programs for arm64, and those that they start, run in QEMU. qemu -L would not do: it does not
    find the files that programs start or only ask for.

    Where QEMU is not registered with the kernel, a namespace registers it for itself.
    """
    suite = platform.freedesktop_os_release()["VERSION_CODENAME"]
    once(driver.folder, lambda folder: unpack_debian(folder, suite, ARM64_PACKAGES, "arm64"))
    registered = "/proc/sys/fs/binfmt_misc"
    register = f"{{ [ -e {registered}/qemu-aarch64 ] || " \
        f"{{ mount -t binfmt_misc binfmt_misc {registered} && " \
        f"cat /usr/lib/binfmt.d/qemu-aarch64.conf >{registered}/register; }}; }}"
    driver.prefix = with_layers([f"{driver.folder}/root/usr", "/usr"],
                                ["--user", "--map-root-user"], register)
    libraries = f"{driver.folder}/root/usr/lib/{ARM64}"
    driver.library = f"{libraries}/libpocl.so.2.*"
    driver.environment["GST_PLUGIN_SCANNER"] = \
        f"{libraries}/gstreamer1.0/gstreamer-1.0/gst-plugin-scanner"
    driver.environment["GST_REGISTRY"] = os.path.join(driver.folder, "registry.bin")


def oclgrind(driver):
    os.makedirs(driver.folder, exist_ok=True)
    driver.library = "/usr/lib/oclgrind/liboclgrind-rt-icd.so"
    driver.environment.update(devices.OCLGRIND)


DRIVERS = {"pocl-6.0": pocl_of_debian_13, "intel": intel, "rusticl-25": rusticl_of_debian_13,
           "rusticl-22": rusticl_of_debian_12, "pocl-pypi": pocl_of_pypi, "oclgrind": oclgrind}
FOR_ARM64 = "arm64"  # for programs of a cross build


def fetch(name, folder):
    driver = Driver(name, os.path.join(os.path.abspath(folder), name))
    (pocl_for_arm64 if name == FOR_ARM64 else DRIVERS[name])(driver)
    driver.set_up()
    return driver


def main():
    try:
        driver = fetch(*sys.argv[1:3])
    except (Missing, OSError) as error:
        sys.exit(str(error))
    if sys.argv[3:]:
        words = [*driver.prefix, *sys.argv[3:]]
        os.execvpe(words[0], words, driver.environ({}))


if __name__ == "__main__":
    main()
