/** After the demo: goes on serving. A watched folder is uploaded as it is filled; every new run is followed. */
import { mkdir, readFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { watch } from 'chokidar';
import { layout } from '../../functions/core/layout.ts';
import { followRun } from '../show/follow.ts';
import type { Session } from '../start.ts';
import { DEMO_PIPELINE } from './demo.ts';
import { newestRun } from './run-demo.ts';
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

/** drop/<pipeline>/… goes to <pipeline>/incoming/…; a file is taken when it has stopped growing. */
async function watchFolder({ region, screen, stateDirectory }: Session) {
  const folder = join(stateDirectory, 'drop');
  await mkdir(join(folder, DEMO_PIPELINE), { recursive: true });
  const watcher = watch(folder, { ignoreInitial: true, awaitWriteFinish: { stabilityThreshold: 500 } });
  watcher.on('add', (path) => {
    const [pipeline = '', ...rest] = relative(folder, path).split(sep);
    if (rest.length === 0) return;
    const key = layout.incoming(pipeline) + rest.join('/');
    readFile(path)
      .then((Body) =>
        region.clients.s3.send(new PutObjectCommand({ Bucket: region.stack.bucket, Key: key, Body })),
      )
      .then(() => screen.line(`  dropped ${key}`))
      .catch((error: unknown) => screen.problem(`${path} could not be dropped: ${String(error)}`));
  });
  return watcher;
}
