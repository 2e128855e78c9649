"""A convolutional net that tells drawn circles, squares and triangles apart."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

SHAPES = Path(__file__).with_name("shapes.npz")


def build() -> tuple[Any, Any, Any]:
    import keras
    from keras import layers

    model = keras.Sequential(
        [
            keras.Input((32, 32, 1), name="drawing"),
            layers.Rescaling(1 / 255, name="to_unit_range"),
            layers.Conv2D(32, 3, padding="same", activation="relu", name="strokes"),
            layers.Conv2D(32, 3, padding="same", activation="relu", name="corners"),
            layers.MaxPooling2D(name="halve"),
            layers.Conv2D(64, 3, padding="same", activation="relu", name="outlines"),
            layers.GlobalAveragePooling2D(name="average"),
            layers.Dense(3, activation="softmax", name="which_shape"),
        ],
        name="shapes",
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model, *data()


def data() -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """512 drawings of 32 x 32 pixels, and which shape each one shows."""
    with np.load(SHAPES) as stored:
        return stored["x"].astype("float32"), stored["y"]


def draw(count: int = 512, size: int = 32) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """The drawings again: `np.savez_compressed(SHAPES, **dict(zip("xy", draw())))` made the file."""
    random = np.random.default_rng(7)
    rows, columns = np.mgrid[:size, :size]
    x, y = np.zeros((count, size, size, 1), np.uint8), random.integers(0, 3, count)
    for image, shape in zip(x, y, strict=True):
        row, column = random.uniform(11, 21, 2)
        radius = random.uniform(5, 10)
        across, down = abs(columns - column), rows - row
        distance = [
            np.hypot(across, down),
            np.maximum(across, abs(down)),
            np.maximum(down * 1.4, across * 1.2 - down * 0.7),
        ][shape]
        image[..., 0] = np.where(abs(distance - radius) < 1.2, random.integers(150, 255), 0)
    return x, y
