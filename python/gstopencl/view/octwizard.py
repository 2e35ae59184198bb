"""Calibration from two mirrors, step by step

SPDX-License-Identifier: LGPL-2.1-or-later
"""
import collections
import pathlib
import shutil
import threading
import time

import numpy as np

from ..livecalibration import LiveCalibration
from ..structures import array_of, structure_of
from .gtk import Gdk, GLib, Gst, Gtk, in_row, name_widget, pack
from .octplot import Plot

RESULT = "Result"
# Peak above the noise that a calibration needs, in dB
GOOD_SNR = 30
TEXTS = {
    "First mirror": "Put a mirror in place of the sample, well away from zero delay. Turn the "
    "light down until no sample is saturated, then press Take.",
    "Second mirror": "Move the mirror, or the reference arm, to the other side of zero delay and "
    "to another depth, then press Take.",
}
PHANTOM = " The phantom has already moved its mirror."
# The simulated instrument moves its mirror by itself: depth as a fraction of the samples, and phase
# of the dispersion at both ends in rad, whose sign changes on the other side of zero delay.
SIMULATED = {"First mirror": (0.12, 20), "Second mirror": (0.16, -20)}
# Measurements after which all frames of the previous place have left the queues
SETTLED = 12
# Other ways to calibrate, which a new map replaces
REPLACED = {"wavelengths": "", "wavelength-min": 0.0, "wavelength-max": 0.0,
            "dispersion-a2": 0.0, "dispersion-a3": 0.0}
WIDTH, HEIGHT = 900, 560  # pixels
UNUSED_DEPTHS = 8  # from zero delay on, where the light's own spectrum is


def phase_residual(spectrum, table, dispersion):
    """Returns the fringe's phase that the calibration leaves, in rad, over the middle 80 % of the
    even wavenumbers, less a straight line. Arrays of float of the same length"""
    samples = len(spectrum)
    # A spectrum that is finer by zero padding is straight between two of its values.
    fine = np.fft.irfft(np.fft.rfft(spectrum - spectrum.mean()), 8 * samples)
    fringe = np.interp(8 * np.asarray(table), np.arange(8 * samples), fine)
    bins = np.fft.fft(fringe)
    bins[:UNUSED_DEPTHS] = bins[samples // 2:] = 0
    depths = np.fft.fft(np.fft.ifft(bins) * np.exp(-1j * dispersion))
    peak = int(np.argmax(np.abs(depths)))
    near = np.abs(np.arange(samples) - peak) <= max(samples // 64, UNUSED_DEPTHS)
    used = slice(samples // 10, samples - samples // 10)
    phase = np.unwrap(np.angle(np.fft.ifft(np.where(near, depths, 0))))[used]
    index = np.arange(len(phase))
    return phase - np.polyval(np.polyfit(index, phase, 1), index)


def size_on_screen(window):
    """Returns the width and the height of the wizard, on the monitor that shows a window."""
    display = Gdk.Display.get_default()
    monitor = display.get_monitor_at_window(window.get_window()) if window.get_window() else None
    area = monitor.get_workarea() if monitor else None
    return (min(WIDTH, area.width), min(HEIGHT, area.height)) if area else (WIDTH, HEIGHT)


def in_thread(work, done, failed):
    """Calls work () in a thread, and then done (its result) or failed (the reason) in GTK's."""
    def run():
        try:
            found = work()
        except Exception as error:  # of the pipeline or the numerics, which is shown
            reason = getattr(error, "message", str(error)) or type(error).__name__
            GLib.idle_add(lambda: failed(reason) and False)
        else:
            GLib.idle_add(lambda: done(found) and False)
    threading.Thread(target=run, daemon=True).start()


def row_of_plots(*plots):
    return in_row(*plots, expand=plots, spacing=8, homogeneous=True)


class MirrorPage(Gtk.Box):
    """Spectrum and A-scan of a mirror, what is wrong with them, and the button that takes them"""

    def __init__(self, title, simulated, take):
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=8, margin=12)
        self.title, self.spectrum = title, None
        self.spectrum_plot, self.a_scan_plot = Plot("Spectrum", low=0), Plot("A-scan in dB")
        self.checks, self.said = (Gtk.Label(xalign=0, wrap=True) for _ in range(2))
        self.button = Gtk.Button(label="Take", sensitive=False)
        self.button.connect("clicked", lambda _: take(self))
        text = TEXTS[title] + (PHANTOM if simulated else "")
        plots = row_of_plots(self.spectrum_plot, self.a_scan_plot)
        pack(self, Gtk.Label(label=text, xalign=0, wrap=True), plots, self.checks,
             in_row(self.button, self.said, expand=[self.said], spacing=8), expand=[plots])

    def show_signal(self, spectrum, a_scan):
        """Shows two messages of octsignal."""
        saturated = spectrum.get_value("saturated")
        found, snr = a_scan.get_value("peak"), 0
        peak = "no peak"
        if found:
            snr = a_scan.get_value("snr")
            peak = f"peak at bin {a_scan.get_value('peak-bin'):.1f}, SNR {snr:.0f} dB"
        self.spectrum = array_of(spectrum, "spectrum")
        self.spectrum_plot.show_curves(
            self.spectrum, text=f"maximum {spectrum.get_value('maximum'):.0f}")
        self.a_scan_plot.show_curves(array_of(a_scan, "a-scan"), text=peak)
        wrong = [f"{saturated} samples are saturated: reduce the light"] if saturated else []
        if snr < GOOD_SNR:
            wrong.append(f"The peak is less than {GOOD_SNR} dB above the noise: align the mirror")
        self.checks.set_text(" · ".join(wrong) or "✓ not saturated   ✓ signal high enough")
        self.button.set_sensitive(not wrong)


class ResultPage(Gtk.Box):
    """Map, dispersion and widths of a calibration, and where to save it"""

    def __init__(self, folder):
        super().__init__(orientation=Gtk.Orientation.VERTICAL, spacing=8, margin=12)
        self.widths = Gtk.Label(xalign=0, wrap=True)
        self.map = Plot("Resampling in samples")
        self.dispersion = Plot("Dispersion in rad")
        self.residual = Plot("Remaining phase in rad")
        self.keep = Gtk.CheckButton(label="Keep the wavelengths, and take only the dispersion",
                                    no_show_all=True)
        self.said = Gtk.Label(xalign=0, wrap=True)
        self.folder = name_widget(Gtk.Entry(text=str(folder)), "Folder of the settings")
        plots = row_of_plots(self.map, self.dispersion, self.residual)
        saving = in_row(Gtk.Label(label="Save to"), self.folder, expand=[self.folder], spacing=8)
        pack(self, self.widths, plots, self.keep, saving, self.said, expand=[plots])

    def show_result(self, found, spectra):
        """Shows a MirrorCalibration, and what it leaves of both mirrors' phases."""
        table, phase = found.map, found.dispersion
        even = np.arange(len(table))
        residuals = [phase_residual(spectrum, table, sign * phase)
                     for spectrum, sign in zip(spectra, self.signs(spectra, table, phase))]
        rms = max(np.sqrt(np.mean(residual ** 2)) for residual in residuals)
        self.map.show_curves(table - even,
                             text=f"up to {np.abs(table - even).max():.1f} samples")
        self.dispersion.show_curves(phase, text=f"{np.ptp(phase):.1f} rad")
        self.residual.show_curves(*residuals, text=f"{rms:.4f} rad rms")
        self.widths.set_markup(
            '<span size="x-large">FWHM of the first mirror: '
            f"{found.width_before:.1f} bins before, "
            f"<b>{found.width_after:.1f} bins</b> after</span>")

    @staticmethod
    def signs(spectra, table, phase):
        """Returns the sign of the dispersion of each mirror: that with the smaller residual."""
        return [min((1, -1), key=lambda sign: np.mean(
            phase_residual(spectrum, table, sign * phase) ** 2)) for spectrum in spectra]


class Wizard(Gtk.Assistant):
    """Takes two mirrors, shows the calibration, saves it and applies it"""

    def __init__(self, live):
        super().__init__(title="Calibrate with two mirrors", transient_for=live.window,
                         use_header_bar=False)
        self.set_default_size(*size_on_screen(live.window))
        self.live, self.interp = live, live.pipeline.get_by_name("interp")
        self.spectrum, self.a_scan = live.signals
        self.latest, self.spectra, self.found, self.taking = {}, {}, None, None
        self.measured, self.saved, self.is_over = collections.Counter(), False, False
        self.calibration = LiveCalibration(self.interp)
        self.pages = {title: MirrorPage(title, live.is_phantom(), self.take) for title in TEXTS}
        self.result = ResultPage(live.folder / time.strftime("calibration-%Y%m%d-%H%M%S"))
        self.same_side = Gtk.CheckButton(label="Both mirrors are on the same side of zero delay")
        second = self.pages["Second mirror"]
        pack(second, self.same_side)
        for title, page in [*self.pages.items(), (RESULT, self.result)]:
            self.append_page(page)
            self.set_page_title(page, title)
        self.set_page_type(self.result, Gtk.AssistantPageType.CONFIRM)
        self.before = self.prepare_elements()
        self.connect("prepare", lambda _, page: self.enter(page))
        self.connect("apply", lambda _: self.save_and_apply())
        self.connect("cancel", lambda _: self.destroy())
        self.connect("close", lambda _: self.saved and self.destroy())
        self.connect("destroy", lambda _: self.restore())

    # Elements

    def prepare_elements(self):
        """Sets what the steps need, and returns what was set before. A mean that is subtracted
        would remove the mirror."""
        wanted = [(self.spectrum, "message-values", True), (self.a_scan, "message-values", True),
                  (self.spectrum, "line", -1), (self.a_scan, "line", -1)]
        if self.interp.get_property("background").value_nick in ("frame", "rolling"):
            wanted.append((self.interp, "background", "none"))
        if self.live.is_phantom():
            wanted += [(self.live.source(), "pattern", "mirrors"),
                       (self.live.source(), "dispersion-a2", 0.0)]
        before = [(element, name, element.get_property(name)) for element, name, _ in wanted]
        for element, name, value in wanted:
            Gst.util_set_object_arg(element, name, str(value).lower())
        return before

    def restore(self):
        self.is_over = True
        for element, name, value in self.before:
            element.set_property(name, value)

    def enter(self, page):
        if page in self.pages.values():
            page.button.set_sensitive(False)
            self.place_simulated_mirror(page.title)
            self.latest, self.measured = {}, collections.Counter()

    def place_simulated_mirror(self, title):
        if not self.live.is_phantom():
            return
        depth, phase = SIMULATED[title]
        caps = structure_of(self.live.source().get_static_pad("src").get_current_caps(), 0)
        samples = caps.get_int("width").value

        def change(source):
            Gst.util_set_object_arg(source, "depths", f"<{round(depth * samples)}>")
            Gst.util_set_object_arg(source, "amplitudes", "<2000>")
            source.set_property("dispersion-a2", phase / (samples / 2) ** 2)
        self.live.restart_source(change)

    # Steps

    def take(self, page):
        page.button.set_sensitive(False)
        page.said.set_text("Calibrating…")
        self.spectra[page.title] = page.spectrum
        self.taking = page
        if page is self.pages["First mirror"]:
            self.calibration.forget()
        same_side = self.same_side.get_active()
        in_thread(lambda: self.calibration.mirror(same_side),
                  lambda found: self.take_result(page, found),
                  lambda reason: self.refuse(page, reason))

    def hear(self, message):
        """Takes an element message of octsignal."""
        structure = message.get_structure()
        if structure.get_name() == "octsignal" and structure.has_field(
                "a-scan" if message.src == self.a_scan else "spectrum"):
            self.latest[message.src.get_name()] = structure.copy()
            self.measured[message.src.get_name()] += 1
            self.show_latest()

    def has_settled(self):
        return min(self.measured["spectrum"], self.measured["a_scan"]) > SETTLED

    def show_latest(self):
        page = self.get_nth_page(self.get_current_page())
        if page in self.pages.values() and page is not self.taking and self.has_settled():
            page.show_signal(self.latest["spectrum"], self.latest["a_scan"])

    def take_result(self, page, found):
        """Takes the calibration of one mirror, or of this one and the one before."""
        self.taking = None
        if self.is_over:
            return
        if page is self.pages["Second mirror"]:
            if found.dispersion is None:
                self.refuse(page, "The first mirror is forgotten, since the spectra changed")
                return
            self.found = found
            self.result.show_result(found, [self.spectra[title] for title in self.pages])
            self.result.keep.set_visible(self.has_wavelengths())
            self.set_page_complete(self.result, True)
        page.said.set_text("✓ Taken")
        self.set_page_complete(page, True)
        self.next_page()

    def has_wavelengths(self):
        return bool(self.interp.get_property("wavelengths")
                    or self.interp.get_property("wavelength-min"))

    def refuse(self, page, reason):
        """Either mirror may be the wrong one, so both are taken again."""
        self.taking = None
        if self.is_over:
            return
        for other in self.pages.values():
            self.set_page_complete(other, False)
        first = self.pages["First mirror"]
        first.said.set_text(f"✗ {reason}" if page is first else
                            f"✗ {reason}. Take both mirrors again")
        self.set_current_page(0)

    # Result

    def save_and_apply(self):
        try:
            settings = self.save(pathlib.Path(self.result.folder.get_text()).expanduser())
        except OSError as error:
            self.result.said.set_text(f"✗ Not saved: {error}")
            return
        self.saved = True
        self.restore()
        self.before = []
        with self.interp.freeze_notify():
            if not self.keeps_wavelengths():
                for name, value in REPLACED.items():
                    self.interp.set_property(name, value)
            self.interp.set_property("settings", str(settings))
        self.live.say(f"calibration saved and applied: {settings}")

    def keeps_wavelengths(self):
        return self.result.keep.get_active() and self.has_wavelengths()

    def save(self, folder):
        """Writes the map, the dispersion and the settings, and returns the path of the last."""
        folder = folder.resolve()
        folder.mkdir(parents=True)
        try:
            return self.calibration.write(folder, self.keeps_wavelengths())
        except OSError:
            shutil.rmtree(folder, ignore_errors=True)  # so that the user can try again
            raise
