"""Writes .oct recordings of the published layout, with Python's zipfile.

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import zipfile

import numpy as np

TYPES = {(1, False): "u1", (1, True): "i1", (2, False): "<u2", (2, True): "<i2",
         (4, False): "<u4", (4, True): "<i4"}


def chirp_of(samples, bend=0.1):
    """Returns the position of each sample on the grid of even wavenumbers."""
    u = np.arange(samples) / (samples - 1)
    return ((samples - 1) * (u + bend * u * (1 - u))).astype("<f4")


def save_map_of(chirp):
    """Writes the map of a chirp to map.npy."""
    from gstopencl.calibrationfiles import map_of_places
    np.save("map.npy", map_of_places("chirp", chirp.astype(float)))


class Recording:
    """`frames` has the A-lines of each B-scan, `apodization` those of the reference arm alone."""

    def __init__(self, frames, apodization=None, **more):
        self.frames = frames
        self.apodization = apodization
        self.chirp = self.offset = self.reference = None
        self.scaling, self.signed, self.bit_depth = 1.0, False, 12
        self.millimetres = (1.5, 0.8, 0.6)
        self.size_y = None
        self.slow_axis, self.b_scans = 1, 1
        self.index = 1.0
        self.slash = "\\"
        self.compression = zipfile.ZIP_STORED
        self.attributes = {}
        self.per_file = 1
        for name, value in more.items():
            assert hasattr(self, name), name
            setattr(self, name, value)

    def spectra(self):
        """Yields the samples of each entry."""
        apodization = self.apodization
        for n in range(0, len(self.frames), self.per_file):
            parts = []
            for frame in self.frames[n:n + self.per_file]:
                if apodization is not None:
                    parts.append(apodization[min(n, len(apodization) - 1)])
                parts.append(frame)
            yield np.concatenate(parts)

    def header(self):
        frames = np.asarray(self.frames)
        lines, samples = frames.shape[1:]
        apo = 0 if self.apodization is None else self.apodization.shape[1]
        bytes_per_pixel = frames.dtype.itemsize
        z, x, y = self.millimetres
        files = []
        for n in range(len(self.frames) // self.per_file):
            fields = {"Type": "Raw", "SizeZ": samples, "SizeX": lines + apo, "SizeY": self.per_file,
                      "RangeZ": z, "RangeX": x, "RangeY": y, "BytesPerPixel": bytes_per_pixel,
                      "ScanRegionStart0": apo, "NumberOfScanRegions": 1, "ScanRegionEnd0": lines + apo}
            if apo:
                fields.update(ApoRegionStart0=0, ApoRegionEnd0=apo, NumberOfApoRegions=1)
            fields.update(self.attributes)
            text = " ".join(f'{name}="{value}"' for name, value in fields.items() if value is not None)
            files.append(f"<DataFile {text}>data\\Spectral{n}.data</DataFile>")
        for name in ("Chirp", "OffsetErrors", "ApodizationSpectrum"):
            if self.real(name) is not None:
                files.append(f'<DataFile Type="Real" SizeZ="{samples}" RangeZ="1" BytesPerPixel="4">'
                             f"data\\{name}.data</DataFile>")
        size_y = self.size_y or len(self.frames) // (self.slow_axis * self.b_scans)
        joined = "\n    ".join(files)
        return f"""<?xml version="1.0" encoding="UTF-8"?>
<Ocity version="1.0">
  <DataFiles>
    {joined}
  </DataFiles>
  <Image Type="RawSpectra">
    <SizePixel Unit="px"><SizeZ>{samples // 2}</SizeZ><SizeX>{lines}</SizeX><SizeY>{size_y}</SizeY></SizePixel>
    <SizeReal Unit="mm"><SizeZ>{z}</SizeZ><SizeX>{x}</SizeX><SizeY>{y}</SizeY></SizeReal>
  </Image>
  <Acquisition>
    <IntensityAveraging><Spectra>1</Spectra><AScans>1</AScans><BScans>{self.b_scans}</BScans></IntensityAveraging>
    <SpeckleAveraging><FastAxis>1</FastAxis><SlowAxis>{self.slow_axis}</SlowAxis></SpeckleAveraging>
    <RefractiveIndex>{self.index}</RefractiveIndex>
  </Acquisition>
  <Instrument>
    <BinaryToElectronCountScaling>{self.scaling}</BinaryToElectronCountScaling>
    <BitDepth>{self.bit_depth}</BitDepth>
    <BytesPerPixel>{bytes_per_pixel}</BytesPerPixel>
    <RawDataIsSigned>{self.signed}</RawDataIsSigned>
    <CentralWavelength>1310.0</CentralWavelength>
  </Instrument>
  <MetaInfo><Comment>f&#252;r M&amp;M &lt;test&gt;</Comment></MetaInfo>
</Ocity>
"""

    def real(self, name):
        return {"Chirp": self.chirp, "OffsetErrors": self.offset,
                "ApodizationSpectrum": self.reference}[name]

    def entries(self):
        """Yields the name and the bytes of each entry."""
        yield "Header.xml", self.header().encode()
        for n, samples in enumerate(self.spectra()):
            yield f"data{self.slash}Spectral{n}.data", samples.tobytes()
        for name in ("Chirp", "OffsetErrors", "ApodizationSpectrum"):
            if self.real(name) is not None:
                yield f"data{self.slash}{name}.data", np.asarray(self.real(name), "<f4").tobytes()

    def write(self, path):
        write_zip(path, self.entries(), self.compression)


def write_zip(path, entries, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, data in entries:
            info = zipfile.ZipInfo("x")
            info.filename = name  # ZipInfo ends a name at a zero byte, and Windows' at a backslash
            info.compress_type = compression
            archive.writestr(info, data)
