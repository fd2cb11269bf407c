"""Renders a part of the Mandelbrot set, with a kernel, into a NumPy array, and writes it as a PNG file."""

import struct
import sys
import zlib
from pathlib import Path

import dlaunch
import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]

PROTOTYPE = """mandelbrot(image: out u8[rows,cols,3], rows: i32 = rows, cols: i32 = cols,
                          center_x: f32, center_y: f32, height: f32, limit: i32)"""


def render(rows: int, cols: int, center: tuple[float, float], height: float, limit: int) -> Image:
    """Color each pixel of a view by the steps, at most `limit`, that its point takes to escape."""
    image = np.empty((rows, cols, 3), np.uint8)
    block = (32, 8)
    grid = (-(-cols // block[0]), -(-rows // block[1]))
    with dlaunch.load(Path(__file__).with_name("mandelbrot.ptx")) as library:
        library.kernel(PROTOTYPE)[grid, block](image, *center, height, limit)
    return image


def png(image: Image) -> bytes:
    """Encode an image of 8-bit RGB."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows, cols, _ = image.shape
    header = struct.pack(">IIBBBBB", cols, rows, 8, 2, 0, 0, 0)
    lines = b"".join(b"\0" + line.tobytes() for line in image)  # 0: this line is not filtered
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def main() -> None:
    """Write the picture to the file that the command line names."""
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "build/demo.png")
    image = render(720, 1280, center=(-0.7443, 0.1326), height=0.0075, limit=600)
    path.write_bytes(png(image))
    print(f"mandelbrot on {dlaunch.driver_info().kind}: {image.shape[1]} x {image.shape[0]} pixels in {path}")


if __name__ == "__main__":
    main()
