/** Width and height of an image, by its header. The bytes are hostile: whatever is not understood gives undefined. */
import { imageSize as sizeInHeader } from 'image-size';

export interface ImageSize {
  readonly width: number;
  readonly height: number;
}

/** @param head the first bytes of the file, up to HEAD_BYTES of media-facts.ts */
export function imageSize(head: Uint8Array): ImageSize | undefined {
  const size = sizeIn(head);
  return size !== undefined && size.width > 0 && size.height > 0 ? size : undefined;
}

function sizeIn(head: Uint8Array): ImageSize | undefined {
  try {
    const { width, height } = sizeInHeader(head);
    return { width, height };
  } catch {
    // The library throws Error, TypeError and RangeError for bytes that it does not understand or that end too early.
    return undefined;
  }
}
