/** Input channels in Pipe mode: a FIFO for each epoch, <channel>_0, <channel>_1 and so on, fed from S3 as it is read. */

import { execFile } from 'node:child_process';
import { constants } from 'node:fs';
import { type FileHandle, open, rm } from 'node:fs/promises';
import { dirname } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Channel } from '@aws-sdk/client-sagemaker';
import { hasCode } from '@tidewheel/kit/errors.ts';
import { shuffled } from '@tidewheel/kit/seeded-random.ts';
import { transferFailure } from '../model/refusals.ts';
import type { Host } from './container.ts';
import { type ChannelListing, channelDirectory, listChannel, receivers } from './host-channels.ts';
import { openObject } from './objects.ts';

interface PipeOptions {
  readonly s3: S3Client;
  readonly channel: Channel;
  readonly host: Host;
  /** All hosts that the channel goes to. */
  readonly hosts: readonly Host[];
}

const makeFifo = promisify(execFile);
/** How often a FIFO without a reader is checked. */
const POLL_MS = 20;

export class PipeFeeder {
  readonly #options: PipeOptions;
  readonly #stop = new AbortController();
  #listing: ChannelListing = { bucket: '', files: [] };

  constructor(options: PipeOptions) {
    this.#options = options;
  }

  /** Makes the FIFO of the first epoch; the program may open it at once. */
  async prepare(): Promise<void> {
    this.#listing = await listChannel(this.#options.s3, this.#options.channel, this.#stop.signal);
    await this.#makeFifo(0);
  }

  stop(): void {
    this.#stop.abort();
  }

  /** Feeds epoch after epoch until stopped. */
  async run(): Promise<void> {
    try {
      for (let epoch = 0; !this.#stop.signal.aborted; epoch += 1) {
        const writer = await this.#openForReader(epoch);
        if (!writer) return;
        // The next one is there before this one ends: a program may open it as soon as it has read to the end.
        await this.#makeFifo(epoch + 1);
        try {
          await this.#feed(writer, epoch);
        } finally {
          await writer.close();
          await rm(this.#path(epoch), { force: true });
        }
      }
    } catch (error) {
      if (!this.#stop.signal.aborted) {
        throw transferFailure('Data download failed', error);
      }
    }
  }

  #path(epoch: number): string {
    return `${channelDirectory(this.#options.host, this.#options.channel)}_${epoch}`;
  }

  async #makeFifo(epoch: number): Promise<void> {
    // Node has no mkfifo; coreutils, busybox and macOS all have the program.
    await makeFifo('mkfifo', ['--', this.#path(epoch)], { cwd: dirname(this.#path(epoch)) });
  }

  /** Opening for writing would hold one of Node's few threads until a reader comes: this asks again and again instead. */
  async #openForReader(epoch: number): Promise<FileHandle | undefined> {
    while (!this.#stop.signal.aborted) {
      try {
        return await open(this.#path(epoch), constants.O_WRONLY | constants.O_NONBLOCK);
      } catch (error) {
        if (!hasCode(error, 'ENXIO')) throw error;
        await delay(POLL_MS);
      }
    }
    return undefined;
  }

  /** All objects one after another; a reader that closes early ends the epoch. */
  async #feed(writer: FileHandle, epoch: number): Promise<void> {
    for (const { key } of this.#objectsOf(epoch)) {
      const body = await openObject(
        this.#options.s3,
        { bucket: this.#listing.bucket, key },
        this.#stop.signal,
      );
      for await (const chunk of body)
        if (!(await this.#write(writer, Buffer.from(chunk as Uint8Array)))) return;
    }
  }

  #objectsOf(epoch: number): ChannelListing['files'] {
    const { channel, host, hosts } = this.#options;
    const seed = channel.ShuffleConfig?.Seed;
    const files =
      seed === undefined ? this.#listing.files : shuffled(this.#listing.files, Number(seed) + epoch);
    const distribution = channel.DataSource?.S3DataSource?.S3DataDistributionType;
    return files.filter((_, position) => receivers(hosts, position, distribution).includes(host));
  }

  /** false when the reader has gone or the host ends. */
  async #write(writer: FileHandle, bytes: Buffer): Promise<boolean> {
    let offset = 0;
    while (offset < bytes.length) {
      if (this.#stop.signal.aborted) return false;
      try {
        const { bytesWritten } = await writer.write(bytes, offset);
        offset += bytesWritten;
      } catch (error) {
        if (hasCode(error, 'EPIPE')) return false;
        // The reader is slower than S3: the pipe is full.
        if (!hasCode(error, 'EAGAIN')) throw error;
        await delay(1);
      }
    }
    return true;
  }
}
