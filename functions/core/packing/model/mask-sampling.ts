/** Nearest neighbours: every pixel of a resized mask is a pixel of the mask, the one under its centre. */

/** How an image of some size was resized: what of it, in pixels of the enlarged or reduced whole, is to be seen where. */
export interface Geometry {
  readonly source: { readonly width: number; readonly height: number };
  /** Of the whole, before anything was cut off or added. */
  readonly scale: { readonly x: number; readonly y: number };
  readonly result: { readonly width: number; readonly height: number };
  /** Of the result's first pixel in the scaled whole; below 0 where it lies in what was added around it. */
  readonly offset: { readonly x: number; readonly y: number };
}

/** Column or row of the source for each of the result; -1 for what was added around it. */
function sources(result: number, source: number, scale: number, offset: number): Int32Array {
  const whole = Math.round(source * scale);
  return Int32Array.from({ length: result }, (_, place) => {
    const at = place + offset;
    if (at < 0 || at >= whole) return -1;
    return Math.min(source - 1, Math.floor((at + 0.5) / scale));
  });
}

/** @param pixels `channels` numbers each, row by row; what was added around it is 0 */
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
