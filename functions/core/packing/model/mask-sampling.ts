/** Resizes a mask to the nearest neighbour: each new pixel is the old pixel under its centre. */

/** How an image was resized: it was scaled as a whole, then cropped or padded. */
export interface Geometry {
  readonly source: { readonly width: number; readonly height: number };
  /** Scale of the whole image, before it was cropped or padded. */
  readonly scale: { readonly x: number; readonly y: number };
  readonly result: { readonly width: number; readonly height: number };
  /** The result's first pixel in the scaled image; below 0 if it lies in the padding. */
  readonly offset: { readonly x: number; readonly y: number };
}

/** For each column or row of the result that of the source; -1 in the padding. */
function sources(result: number, source: number, scale: number, offset: number): Int32Array {
  const whole = Math.round(source * scale);
  return Int32Array.from({ length: result }, (_, place) => {
    const at = place + offset;
    if (at < 0 || at >= whole) return -1;
    return Math.min(source - 1, Math.floor((at + 0.5) / scale));
  });
}

/** @param pixels the numbers of each channel, pixel by pixel, row by row. Padding is 0 */
export function sampleMask<Pixels extends Uint8Array | Uint16Array>(
  pixels: Pixels,
  into: Pixels,
  { source, scale, result, offset }: Geometry,
): Pixels {
  const channels = pixels.length / (source.width * source.height);
  const columns = sources(result.width, source.width, scale.x, offset.x);
  const rows = sources(result.height, source.height, scale.y, offset.y);
  let to = 0;
  for (const row of rows)
    for (const column of columns) {
      const from = (row * source.width + column) * channels;
      if (row >= 0 && column >= 0)
        for (let channel = 0; channel < channels; channel += 1)
          into[to + channel] = pixels[from + channel] ?? 0;
      to += channels;
    }
  return into;
}
