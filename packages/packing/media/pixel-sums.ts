/** Mean and standard deviation of the channels of many prepared images, weighted by their pixels. */
import * as z from 'zod';
import type { MediaFacts } from '../documents/documents.ts';

/** Sums of red, green and blue over all pixels, from 0 to 255. */
export const pixelsSchema = z.object({
  pixels: z.number().int().min(0),
  sums: z.array(z.number()),
  squares: z.array(z.number()),
});
type StoredPixels = z.infer<typeof pixelsSchema>;

export interface ChannelStatistics {
  /** From 0 to 1, as loaders want them. */
  readonly mean: number[];
  readonly std: number[];
}

const plus = (a: readonly number[], b: readonly number[]): number[] =>
  a.map((value, at) => value + (b[at] ?? 0));

export class PixelSums {
  #all: StoredPixels = { pixels: 0, sums: [0, 0, 0], squares: [0, 0, 0] };

  /** Images that were not prepared have no mean. */
  addImage({ width = 0, height = 0, mean, std }: MediaFacts): void {
    if (mean === undefined || std === undefined) return;
    const pixels = width * height;
    const squares = mean.map((value, channel) => pixels * (value ** 2 + (std[channel] ?? 0) ** 2));
    this.add({ pixels, sums: mean.map((value) => value * pixels), squares });
  }

  add({ pixels, sums, squares }: StoredPixels): void {
    const before = this.#all;
    this.#all = {
      pixels: before.pixels + pixels,
      sums: plus(before.sums, sums),
      squares: plus(before.squares, squares),
    };
  }

  /** Undefined without a prepared image. */
  get stored(): StoredPixels | undefined {
    return this.#all.pixels === 0 ? undefined : this.#all;
  }
}

export function channelStatistics({ pixels, sums, squares }: StoredPixels): ChannelStatistics {
  const mean = sums.map((sum) => sum / pixels);
  const std = mean.map((value, channel) =>
    Math.sqrt(Math.max(0, (squares[channel] ?? 0) / pixels - value ** 2)),
  );
  const scaled = (values: readonly number[]): number[] =>
    values.map((value) => Math.round((value / 255) * 1e6) / 1e6);
  return { mean: scaled(mean), std: scaled(std) };
}
