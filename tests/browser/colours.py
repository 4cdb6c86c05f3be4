"""Computed colours in the browser, and the contrast between two of them."""

from __future__ import annotations

import re

from selenium.webdriver import Chrome

COLOURS = """const style = getComputedStyle(document.querySelector(arguments[0]));
    return [style.color, style.backgroundColor]"""


def prefer(chrome: Chrome, scheme: str) -> None:
    feature = {"name": "prefers-color-scheme", "value": scheme}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})


def channels(colour: str) -> list[float]:
    return [float(part) for part in re.findall(r"[\d.]+", colour)]


def luminance(colour: str) -> float:
    """Relative luminance as WCAG 2 defines it."""
    linear = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in (channel / 255 for channel in channels(colour)[:3])
    ]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(text: str, ground: str) -> float:
    light, dark = sorted((luminance(text), luminance(ground)), reverse=True)
    return (light + 0.05) / (dark + 0.05)
