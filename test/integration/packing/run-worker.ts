/** Runs worker.ts in a separate process, which a test may kill with SIGKILL. */
import { spawn } from 'node:child_process';
import path from 'node:path';
import type { RunningWorker, WorkerEnd, WorkerRun } from './kill-campaign.ts';

export function startWorker(run: WorkerRun): RunningWorker {
  const file = path.join(import.meta.dirname, 'worker.ts');
  const parameters = [run.endpoint, run.bucket, run.pipeline, run.runId, JSON.stringify(run.settings)];
  const child = spawn(process.execPath, [file, ...parameters], { stdio: ['ignore', 'ignore', 'pipe'] });
  let errors = '';
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<WorkerEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ killed: signal === 'SIGKILL', code, errors }));
  });
  return { ended, kill: () => void child.kill('SIGKILL') };
}

export const runWorker = (run: WorkerRun): Promise<WorkerEnd> => startWorker(run).ended;
