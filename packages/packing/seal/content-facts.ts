/** What the manifest says of the content: channels of prepared images, lines and tokens of text. Copies do not count. */

import type { MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { channelStatistics, PixelSums } from '../media/pixel-sums.ts';

export class ContentFacts {
  readonly #pixels = new PixelSums();
  #images = 0;
  #texts = 0;
  #lines = 0;
  #tokens = 0;

  add({ media, repeat }: Pick<MemberLine, 'media' | 'repeat'>): void {
    if (media === undefined || repeat !== undefined) return;
    if (media.mean !== undefined) this.#images += 1;
    this.#pixels.addImage(media);
    if (media.lines === undefined) return;
    this.#texts += 1;
    this.#lines += media.lines;
    this.#tokens += media.tokens ?? 0;
  }

  /** As part of a manifest; empty if nothing is known. */
  get sealed(): Pick<Manifest, 'content'> {
    const pixels = this.#pixels.stored;
    const images = pixels && {
      images: { count: this.#images, pixels: pixels.pixels, ...channelStatistics(pixels) },
    };
    const text =
      this.#texts === 0
        ? undefined
        : { text: { members: this.#texts, lines: this.#lines, tokens: this.#tokens } };
    return images === undefined && text === undefined ? {} : { content: { ...images, ...text } };
  }
}
