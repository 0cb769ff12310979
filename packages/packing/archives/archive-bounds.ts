/** Which archives are unpacked, and what a person does about another one. */

export interface ArchiveBounds {
  readonly files: number;
  /** All its files together. */
  readonly bytes: number;
  /** `bytes` divided by the bytes of the archive, above `bytesOfAnyRatio`. */
  readonly ratio: number;
  readonly bytesOfAnyRatio: number;
  /** Folders in a name. */
  readonly depth: number;
  /** That one function may take, of its 15 minutes. */
  readonly seconds: number;
}

export const ARCHIVE_BOUNDS: ArchiveBounds = {
  files: 500_000,
  bytes: 40e9,
  ratio: 200,
  bytesOfAnyRatio: 256 * 1024 * 1024,
  depth: 32,
  seconds: 780,
};

export const UNPACKED_KINDS = 'only .zip, .tar, .tar.gz and .tgz are unpacked';

const SEND_THE_FILES = 'unpack it, and send the files with npx --no-install tidewheel drop DIR --bundle';

/** By what is wrong. */
const REMEDIES = {
  damaged: 'make it again, and drop it under the same key',
  encrypted: 'make it without a password',
  method: 'make it with deflate, or as .tar.gz',
  link: 'put files in its place (tar --dereference)',
  name: 'rename the file, and make it again',
  archive: 'drop each archive by itself',
  apart: 'drop it beside the archive, under the key that is declared, and make the archive without it',
  tooLarge: SEND_THE_FILES,
  died: SEND_THE_FILES,
  retracted: 'drop other bytes under its key',
} as const;

/** No file of it is packed. The message has the remedy, and not the archive's key. */
export class ArchiveRefusedError extends Error {
  override readonly name = 'ArchiveRefusedError';
  readonly reason: keyof typeof REMEDIES;

  constructor(reason: keyof typeof REMEDIES, what: string) {
    super(`${what}: ${REMEDIES[reason]}`);
    this.reason = reason;
  }
}

/** Counts what comes out of an archive. */
export class ArchiveMeter {
  readonly #bounds: ArchiveBounds;
  readonly #archiveBytes: number;
  readonly #now: () => number;
  readonly #until: number;
  files = 0;
  #bytes = 0;

  constructor(bounds: ArchiveBounds, archiveBytes: number, now: () => number) {
    this.#bounds = bounds;
    this.#archiveBytes = archiveBytes;
    this.#now = now;
    this.#until = now() + bounds.seconds * 1_000;
  }

  file(): void {
    this.files += 1;
    const { files } = this.#bounds;
    if (this.files > files) throw new ArchiveRefusedError('tooLarge', `it has more than ${files} files`);
  }

  add(bytes: number): void {
    this.#bytes += bytes;
    const { bytes: most, ratio, bytesOfAnyRatio, seconds } = this.#bounds;
    const size = `${megabytes(this.#archiveBytes)} MB`;
    if (this.#bytes > most)
      throw new ArchiveRefusedError('tooLarge', `its ${size} hold more than ${megabytes(most)} MB`);
    if (this.#bytes > bytesOfAnyRatio && this.#bytes > ratio * this.#archiveBytes)
      throw new ArchiveRefusedError('tooLarge', `its ${size} hold more than ${ratio} times as much`);
    if (this.#now() > this.#until)
      throw new ArchiveRefusedError('tooLarge', `its ${size} are not unpacked within ${seconds} s`);
  }
}

const megabytes = (bytes: number): number => Number((bytes / 1e6).toPrecision(3));
