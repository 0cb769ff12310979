/** The memory of a worker: what it reads into, and the parts that it sends. */
import { readBuffersFor, type WindowLimits } from './fetch-window.ts';
import type { ReadBuffers } from './read-buffers.ts';
import { PartBuffers, type UploadLimits } from './shard-upload.ts';

export interface PackMemory {
  readonly buffers: PartBuffers;
  readonly readBuffers: ReadBuffers;
}

/**
 * Keeps the memory of one item for the next, which would otherwise lie beside that of the last one until V8 collects
 * it. The limits of all items are the same.
 */
export class KeptMemory {
  #idle: PackMemory | undefined;

  /** A second taker, or one after a failure, gets memory of its own. */
  take(window: WindowLimits, upload: UploadLimits): PackMemory {
    const taken = this.#idle ?? {
      buffers: new PartBuffers(upload),
      readBuffers: readBuffersFor(window),
    };
    this.#idle = undefined;
    return taken;
  }

  /** Not after a failure: a request that was given up may still write into it. */
  giveBack(memory: PackMemory): void {
    this.#idle = memory;
  }
}
