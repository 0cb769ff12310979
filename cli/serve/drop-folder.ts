/** The drop folder: drop/<pipeline>/… is uploaded to <pipeline>/incoming/…; the screen names the files that cannot be taken. */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import { type FSWatcher, watch } from 'chokidar';
import { dropFolderOf } from '../show/where-to-look.ts';
import type { Session } from './session.ts';
import { type TakenFiles, takenFiles } from './taken-files.ts';
import { dropTarget } from './unclaimed-files.ts';

/** So many files are in memory at once. */
const LANES = 8;

/** A file is taken when it stopped growing, again after a change, and at the start if it was put there meanwhile. */
export async function watchDropFolder(session: Session): Promise<FSWatcher> {
  const { screen, stateDirectory } = session;
  const folder = dropFolderOf(stateDirectory);
  await mkdir(folder, { recursive: true });
  const taken = await takenFiles(join(stateDirectory, 'dropped.jsonl'));
  const watcher = watch(folder, { awaitWriteFinish: { stabilityThreshold: 500 } });
  const ignored = new Set<string>();
  const lanes: Promise<unknown>[] = [];
  let count = 0;
  const take = (path: string): void => {
    const target = dropTarget(relative(folder, path));
    if (target.kind === 'ignored') {
      if (!ignored.has(target.place))
        screen.problem(`${shownKey(target.place)} is ignored: ${target.remedy}`);
      ignored.add(target.place);
      return;
    }
    const { key } = target;
    const lane = (count += 1) % LANES;
    lanes[lane] = (lanes[lane] ?? Promise.resolve())
      .then(() => drop(session, { path, key, taken }))
      .then((isNew) => isNew && screen.line(`  dropped ${shownKey(key)}`))
      .catch((error: unknown) =>
        screen.problem(`${shownKey(path)} could not be dropped: ${messageOf(error)}`),
      );
  };
  watcher.on('add', take).on('change', take);
  return watcher;
}

interface Drop {
  readonly path: string;
  readonly key: string;
  readonly taken: TakenFiles;
}

/** false: the same file was dropped before. A file that an earlier run deleted from the bucket does not return there. */
async function drop({ region }: Session, { path, key, taken }: Drop): Promise<boolean> {
  const { size, mtimeMs } = await stat(path);
  const file = { path, size, mtimeMs };
  if (taken.has(file)) return false;
  const Body = await readFile(path);
  await region.clients.s3.send(new PutObjectCommand({ Bucket: region.stack.bucket, Key: key, Body }));
  await taken.add(file);
  return true;
}
