/** What a prepared image looks like, in numbers: a perceptual hash, and mean and deviation of each channel. */

export interface ImageLook {
  /**
   * dHash, 64 bits in 16 hexadecimal digits: whether each of 8 x 8 fields is darker than the next one to its right. A
   * photograph that was scaled or saved again keeps almost all of them.
   */
  readonly dhash: string;
  /** Of red, green and blue, from 0 to 255. */
  readonly mean: readonly number[];
  readonly std: readonly number[];
}

const CHANNELS = 3;
const [COLUMNS, ROWS] = [9, 8] as const;

/** @param pixels red, green and blue of each pixel, row by row, as readers will decode them */
export function imageLook(pixels: Uint8Array, width: number, height: number): ImageLook {
  const sums = new Float64Array(CHANNELS);
  const squares = new Float64Array(CHANNELS);
  const fields = new Float64Array(COLUMNS * ROWS);
  const counts = new Uint32Array(COLUMNS * ROWS);
  for (let y = 0, at = 0; y < height; y += 1) {
    const row = Math.floor((y * ROWS) / height) * COLUMNS;
    for (let x = 0; x < width; x += 1, at += CHANNELS) {
      const field = row + Math.floor((x * COLUMNS) / width);
      for (let channel = 0; channel < CHANNELS; channel += 1) {
        const value = pixels[at + channel] ?? 0;
        sums[channel] = (sums[channel] ?? 0) + value;
        squares[channel] = (squares[channel] ?? 0) + value * value;
        // Green weighs as much as red and blue together: close enough to what an eye sees.
        fields[field] = (fields[field] ?? 0) + (channel === 1 ? 2 * value : value);
      }
      counts[field] = (counts[field] ?? 0) + 1;
    }
  }
  const count = Math.max(1, width * height);
  const mean = [...sums].map((sum) => sum / count);
  const std = mean.map((value, channel) =>
    Math.sqrt(Math.max(0, (squares[channel] ?? 0) / count - value * value)),
  );
  return { dhash: hashOf(fields, counts), mean: mean.map(rounded), std: std.map(rounded) };
}

const rounded = (value: number): number => Math.round(value * 1e3) / 1e3;

function hashOf(fields: Float64Array, counts: Uint32Array): string {
  // Whole numbers, so that no rounding decides a bit. An image of fewer than 9 pixels a side has empty fields.
  const light = [...fields].map((sum, field) => Math.floor(sum / Math.max(1, counts[field] ?? 0)));
  let hash = 0n;
  for (let row = 0; row < ROWS; row += 1)
    for (let column = 0; column + 1 < COLUMNS; column += 1) {
      const at = row * COLUMNS + column;
      hash = (hash << 1n) | ((light[at] ?? 0) < (light[at + 1] ?? 0) ? 1n : 0n);
    }
  return hash.toString(16).padStart(16, '0');
}
