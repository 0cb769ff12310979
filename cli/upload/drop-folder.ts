/** Uploads a folder's files as arrivals: many at once, each once. */

import { messageOf } from '@tidewheel/kit/errors.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import type { TakenFiles } from '../serve/taken-files.ts';
import type { LocalFile } from './local-files.ts';
import { putFile } from './put-file.ts';

export interface DropProgress {
  readonly files: number;
  readonly bytes: number;
}

interface DropOptions {
  readonly store: BlobStore;
  readonly prefix: string;
  readonly files: readonly LocalFile[];
  readonly journal: TakenFiles;
  readonly lanes: number;
  readonly signal: AbortSignal;
  readonly onProgress: (done: DropProgress) => void;
}

export interface DroppedFiles extends DropProgress {
  readonly failed: readonly { readonly name: string; readonly why: string }[];
}

/** A file that fails does not stop the others. */
export async function dropFiles({
  store,
  prefix,
  files,
  journal,
  signal,
  ...options
}: DropOptions): Promise<DroppedFiles> {
  let [done, bytes] = [0, 0];
  const failed: { name: string; why: string }[] = [];
  await eachLimited(files, options.lanes, async (file) => {
    if (signal.aborted) return;
    try {
      await putFile(store, prefix + file.name, file, (count) => {
        bytes += count;
        options.onProgress({ files: done, bytes });
      });
      await journal.add(file);
      done += 1;
      options.onProgress({ files: done, bytes });
    } catch (error: unknown) {
      failed.push({ name: file.name, why: messageOf(error) });
    }
  });
  return { files: done, bytes, failed };
}
