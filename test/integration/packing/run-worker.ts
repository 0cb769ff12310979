/** Runs worker.ts in a process of its own, which a test may kill with SIGKILL. */
import { spawn } from 'node:child_process';
import path from 'node:path';

export interface WorkerRun {
  readonly endpoint: string;
  readonly bucket: string;
  readonly pipeline: string;
  readonly runId: string;
  readonly settings: object;
}

export interface WorkerEnd {
  readonly killed: boolean;
  readonly code: number | null;
  readonly output: string;
  readonly errors: string;
}

export interface RunningWorker {
  readonly ended: Promise<WorkerEnd>;
  kill(): void;
}

export function startWorker(run: WorkerRun): RunningWorker {
  const file = path.join(import.meta.dirname, 'worker.ts');
  const parameters = [run.endpoint, run.bucket, run.pipeline, run.runId, JSON.stringify(run.settings)];
  const child = spawn(process.execPath, [file, ...parameters], { stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
  const ended = new Promise<WorkerEnd>((resolve) => {
    child.once('exit', (code, signal) => resolve({ killed: signal === 'SIGKILL', code, output, errors }));
  });
  return { ended, kill: () => void child.kill('SIGKILL') };
}

export const runWorker = (run: WorkerRun): Promise<WorkerEnd> => startWorker(run).ended;
