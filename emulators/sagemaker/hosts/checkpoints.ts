/** Keeps one host's checkpoint folder and the job's checkpoint prefix in step. */
import type { BigIntStats, Dirent } from 'node:fs';
import { constants, copyFile, mkdir, readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { checkpointIn, isSame, planPass, type SeenFile } from './checkpoint-plan.ts';
import { planFiles } from './host-channels.ts';
import {
  deleteObject,
  keyBelow,
  listObjects,
  parseS3Uri,
  type S3Location,
  type S3Object,
  uploadFile,
} from './objects.ts';
import { followOutside } from './opt-ml.ts';
import type { SmallObjects } from './small-objects.ts';

interface CheckpointSyncOptions {
  readonly s3: S3Client;
  readonly s3Uri: string;
  /** Of one host. */
  readonly directory: string;
  /** Its /opt/ml. */
  readonly base: string;
  /** For copies that are being uploaded; outside the folder, on the same disk. */
  readonly stagingDirectory: string;
  readonly smallObjects: SmallObjects;
  readonly onSynced: () => void;
  readonly log: (line: string) => void;
}

interface StoredFile {
  readonly object: S3Object;
  /** Relative to the folder. */
  readonly path: string;
}

const CONCURRENT_DOWNLOADS = 8;
const FINISH_ATTEMPTS = 5;
/** The kernel stamps files with the time of its last tick. */
const CLOCK_TICK_NS = 20_000_000n;

export class CheckpointSync {
  readonly #options: CheckpointSyncOptions;
  readonly #prefix: S3Location;
  readonly #synced = new Map<string, SeenFile>();
  #missed: ReadonlySet<string> = new Set();
  /** What was in S3 when the host started. */
  #files: readonly StoredFile[] = [];
  #isRestored = false;
  #isFollowing = false;
  #running: Promise<unknown> = Promise.resolve();
  /** One pass at a time. */
  #pass: Promise<unknown> = Promise.resolve();
  #wake = new AbortController();

  constructor(options: CheckpointSyncOptions) {
    this.#options = options;
    const { bucket, key } = parseS3Uri(options.s3Uri);
    this.#prefix = { bucket, key: key === '' || key.endsWith('/') ? key : `${key}/` };
  }

  /**
   * S3 to the folder, at the start of a host.
   * @param other that of another host of the job, restored a moment ago: its files are copied
   */
  async restore(signal: AbortSignal, other?: CheckpointSync): Promise<void> {
    const { s3, directory, smallObjects } = this.#options;
    const { bucket } = this.#prefix;
    await mkdir(directory, { recursive: true });
    this.#files = other === undefined ? await this.#filesInS3(signal) : other.#files;
    await eachLimited(this.#files, CONCURRENT_DOWNLOADS, async ({ object, path }) => {
      const target = join(directory, path);
      if (other === undefined) await smallObjects.download(s3, { bucket, ...object }, target, signal);
      else await other.#copyTo(target, path);
      signal.throwIfAborted();
      this.#synced.set(path, seen(path, await stat(target, { bigint: true })));
    });
    this.#isRestored = true;
  }

  async #filesInS3(signal: AbortSignal): Promise<readonly StoredFile[]> {
    const objects = await listObjects(this.#options.s3, this.#prefix, signal);
    return objects.flatMap((object) =>
      planFiles([object.key], this.#prefix.key, 'checkpoints').map(({ path }) => ({ object, path })),
    );
  }

  async #copyTo(target: string, path: string): Promise<void> {
    await mkdir(dirname(target), { recursive: true });
    await copyFile(join(this.#options.directory, path), target, constants.COPYFILE_FICLONE);
  }

  /** Passes every few seconds until stopped. */
  follow(seconds: number): void {
    this.#isFollowing = true;
    this.#running = this.#loop(seconds * 1000);
  }

  async #loop(pauseMs: number): Promise<void> {
    while (this.#isFollowing) {
      try {
        await this.#carryInTurn(() => BigInt(Date.now()) * 1_000_000n - CLOCK_TICK_NS);
      } catch (error) {
        this.#options.log(`checkpoint sync of ${this.#options.directory}: ${messageOf(error)}, trying again`);
      }
      await delay(pauseMs, undefined, { signal: this.#wake.signal }).catch(() => {});
    }
  }

  /** A pass that waits for no file to age: for a moment at which no program writes. */
  async passAtRest(): Promise<void> {
    if (!this.#isFollowing) return;
    await this.#carryInTurn(() => undefined).catch((error: unknown) => {
      this.#options.log(`checkpoint sync of ${this.#options.directory}: ${messageOf(error)}, trying again`);
    });
  }

  #carryInTurn(settledBeforeNs: () => bigint | undefined): Promise<boolean> {
    const carried = this.#pass.then(() => this.#carry(settledBeforeNs()));
    this.#pass = carried.catch(() => undefined);
    return carried;
  }

  /** Stops following and uploads the rest; no program may write any more. */
  async finish(): Promise<void> {
    this.#isFollowing = false;
    this.#wake.abort();
    await this.#running;
    await this.#pass;
    // A download that was cut short leaves torn files, which must not replace the whole ones in S3.
    if (!this.#isRestored) return;
    for (let attempt = 1; attempt <= FINISH_ATTEMPTS; attempt += 1) {
      try {
        await this.#carry(undefined);
        return;
      } catch (error) {
        this.#options.log(`last checkpoint sync of ${this.#options.directory}: ${messageOf(error)}`);
        await delay(200 * attempt);
      }
    }
  }

  async #carry(settledBeforeNs: bigint | undefined): Promise<boolean> {
    const { s3, directory, base, onSynced } = this.#options;
    const look = { files: await lookAround(directory, base), settledBeforeNs };
    const { uploads, deletions, missing } = planPass(look, this.#synced, this.#missed);
    const isCheckpoint = checkpointIn(look.files);
    let hasCarried = false;
    let hasCheckpoint = false;
    let isWhole = true;
    for (const file of uploads) {
      const result = await this.#upload(file);
      hasCarried ||= result === 'uploaded';
      hasCheckpoint ||= result === 'uploaded' && isCheckpoint(file);
      // What comes after may depend on it: the order of writing is kept by waiting for the next pass.
      if (result === 'changed') {
        isWhole = false;
        break;
      }
    }
    this.#missed = missing;
    for (const path of isWhole ? deletions : []) {
      await deleteObject(s3, { bucket: this.#prefix.bucket, key: keyBelow(this.#prefix.key, path) });
      this.#synced.delete(path);
      hasCarried = true;
    }
    if (hasCheckpoint) onSynced();
    return hasCarried;
  }

  /** Uploads a copy that was taken while the file stood still, so that S3 never holds a torn file. */
  async #upload(file: SeenFile): Promise<'uploaded' | 'changed' | 'gone'> {
    const { s3, directory, base, stagingDirectory } = this.#options;
    const source = await followOutside(join(directory, file.path), base);
    const copy = join(stagingDirectory, 'uploading');
    try {
      await mkdir(stagingDirectory, { recursive: true });
      await copyFile(source, copy, constants.COPYFILE_FICLONE);
      const now = seen(file.path, await stat(source, { bigint: true }));
      if (!isSame(now, file)) return 'changed';
      await uploadFile(s3, copy, { bucket: this.#prefix.bucket, key: keyBelow(this.#prefix.key, file.path) });
      this.#synced.set(file.path, file);
      return 'uploaded';
    } catch (error) {
      if (isMissing(error)) return 'gone';
      throw error;
    } finally {
      await rm(copy, { force: true });
    }
  }
}

/** Every regular file below the folder. Links to files count as files, links to folders are not followed. */
async function lookAround(directory: string, base: string): Promise<SeenFile[]> {
  const found: SeenFile[] = [];
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    for (const entry of await entriesOf(join(directory, folder))) {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
      if (entry.isDirectory()) folders.push(path);
      else {
        const file = join(directory, path);
        const stats = await statOrNothing(entry.isSymbolicLink() ? await followOutside(file, base) : file);
        if (stats?.isFile()) found.push(seen(path, stats));
      }
    }
  }
  return found;
}

async function entriesOf(folder: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch (error) {
    if (isMissing(error)) return [];
    throw error;
  }
}

async function statOrNothing(path: string): Promise<BigIntStats | undefined> {
  try {
    return await stat(path, { bigint: true });
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

const seen = (path: string, stats: BigIntStats): SeenFile => ({
  path,
  size: Number(stats.size),
  modifiedNs: stats.mtimeNs,
  // A rename sets this and leaves the time of modification, which a program may also set to anything.
  changedNs: stats.ctimeNs,
  inode: stats.ino,
});

const isMissing = (error: unknown): boolean =>
  error instanceof Error &&
  'code' in error &&
  (error.code === 'ENOENT' || error.code === 'ENOTDIR' || error.code === 'ELOOP');
