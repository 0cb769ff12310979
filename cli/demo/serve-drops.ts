/** After the demo: goes on serving. A watched folder is uploaded as it is filled; every new run is followed. */
import { mkdir, readFile, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { watch } from 'chokidar';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { followRun } from '../show/follow.ts';
import { DEMO_PIPELINE } from './demo.ts';
import { newestRun } from './run-demo.ts';
import type { Session } from './session.ts';
import { type TakenFiles, takenFiles } from './taken-files.ts';
import { waitForRun } from './wait-for-run.ts';

export async function serveDrops(session: Session): Promise<void> {
  const { screen, signal, api } = session;
  const watcher = await watchFolder(session);
  screen.line();
  screen.done('ready for a drop (Ctrl-C ends)');
  let last = (await newestRun(session))?.runId;
  while (!signal.aborted) {
    last = await waitForRun(session, DEMO_PIPELINE, last);
    if (last !== undefined) await followRun(api, last, screen, signal);
  }
  await watcher.close();
}

/** So many files are in memory at once. */
const LANES = 8;

/**
 * drop/<pipeline>/… goes to <pipeline>/incoming/…; a file is taken when it has stopped growing, again when it has changed,
 * and at the start of the program if it was put there while nothing ran.
 */
async function watchFolder(session: Session) {
  const { screen, stateDirectory } = session;
  const folder = join(stateDirectory, 'drop');
  await mkdir(join(folder, DEMO_PIPELINE), { recursive: true });
  const taken = await takenFiles(join(stateDirectory, 'dropped.jsonl'));
  const watcher = watch(folder, { awaitWriteFinish: { stabilityThreshold: 500 } });
  const lanes: Promise<unknown>[] = [];
  let count = 0;
  const take = (path: string): void => {
    const [pipeline = '', ...rest] = relative(folder, path).split(sep);
    if (rest.length === 0) return;
    const key = bucketKeys.incoming(pipeline) + rest.join('/');
    const lane = (count += 1) % LANES;
    lanes[lane] = (lanes[lane] ?? Promise.resolve())
      .then(() => drop(session, { path, key, taken }))
      .then((isNew) => isNew && screen.line(`  dropped ${key}`))
      .catch((error: unknown) => screen.problem(`${path} could not be dropped: ${String(error)}`));
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
