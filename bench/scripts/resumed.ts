/** Loops that resume at nine tenths of an epoch: how soon they step, and whether they get the same batches. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { markdownTable } from '../../cli/recipes/table.ts';

export const RESUME_REQUIREMENTS = [
  'transformers==5.23.0',
  'accelerate==1.15.0',
  'torchdata==0.11.0',
  'pillow',
] as const;
const SHAPES =
  'pairs pairs_in_workers dictionaries sliced drawn distributed stateful accelerated_skip accelerated_continue trainer stream augmented'.split(
    ' ',
  );
const LEAST_THAT_JUMP = 9;
const SLOWEST_JUMP = 1.05;

export interface ResumeBench {
  readonly root: string;
  readonly work: string;
  /** It has their packages. */
  readonly python: string;
  /** How many of each kind; the quickest counts. */
  readonly starts: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

/** What a start noted: of its first step the seconds and CPU seconds since it began, and all batches. */
interface Start {
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly batches: readonly string[];
}

/** @returns whether enough of them jump, and all get the same batches */
export async function benchResumes(bench: ResumeBench): Promise<boolean> {
  const rows: (readonly string[])[] = [];
  let jumps = 0;
  let differ = 0;
  for (const shape of SHAPES) {
    bench.say(shape);
    const { fresh, resumed } = await startsOf(shape, bench);
    const rest = resumed[0]?.batches ?? [];
    const all = fresh[0]?.batches ?? [];
    const isSame = rest.length < all.length && all.slice(-rest.length).join() === rest.join();
    const before = least(fresh, 'seconds');
    const after = least(resumed, 'seconds');
    const cpuTimes = least(resumed, 'cpuSeconds') / least(fresh, 'cpuSeconds');
    // On a busy machine, the clock on the wall compares nothing.
    if (cpuTimes <= SLOWEST_JUMP) jumps += 1;
    if (!isSame) differ += 1;
    const numbers = [before, after, after / before, cpuTimes].map((each) => each.toFixed(2));
    rows.push([shape.replaceAll('_', ' '), ...numbers, isSame ? 'yes' : 'NO']);
  }
  const head = ['loop', 'fresh: first step, s', 'resumed, s', 'times', 'CPU: times', 'same batches'];
  bench.say(`\n${markdownTable(head, rows)}\n`);
  bench.say(`${jumps} of ${rows.length} step within ${SLOWEST_JUMP} times the CPU seconds of a fresh start`);
  return jumps >= LEAST_THAT_JUMP && differ === 0;
}

const least = (starts: readonly Start[], name: 'seconds' | 'cpuSeconds'): number =>
  Math.min(...starts.map((start) => start[name]));

/** The first of each kind goes on to the end, the others end after a step. */
async function startsOf(shape: string, bench: ResumeBench) {
  const fresh: Start[] = [];
  const resumed: Start[] = [];
  for (let number = 0; number < bench.starts; number += 1) {
    fresh.push(await startOf(shape, bench, number, undefined));
    resumed.push(await startOf(shape, bench, number, join(bench.work, shape, '0-fresh/checkpoints')));
  }
  return { fresh, resumed };
}

async function startOf(
  shape: string,
  { root, work, python, signal }: ResumeBench,
  number: number,
  from: string | undefined,
): Promise<Start> {
  const folder = join(work, shape, `${number}-${from === undefined ? 'fresh' : 'resumed'}`);
  for (const name of ['ended', 'cells', 'checkpoints']) await mkdir(join(folder, name), { recursive: true });
  if (from !== undefined) await cp(from, join(folder, 'checkpoints'), { recursive: true });
  const env = {
    ...process.env,
    PYTHONPATH: ['agent/for_scripts', 'instrument'].map((name) => join(root, 'training', name)).join(':'),
    OMP_NUM_THREADS: '1',
    NOTES: join(folder, 'notes'),
    TIDEWHEEL_CHECKPOINT_DIR: join(folder, 'checkpoints'),
    TIDEWHEEL_SKIP_UNREAD: '1',
    TIDEWHEEL_ENDED_DIR: join(folder, 'ended'),
    TIDEWHEEL_INSTRUMENT_DIR: join(folder, 'cells'),
    ...(number > 0 && { FIRST: '1' }),
  };
  const script = join(root, 'training/tests/instrument/scripts/skipping.py');
  const began = Date.now() / 1_000;
  const child = spawn(python, ['-W', 'ignore', script, shape], {
    env,
    stdio: ['ignore', 'ignore', 'inherit'],
    signal,
  });
  const [code]: unknown[] = await once(child, 'exit');
  if (code !== 0) throw new Error(`${shape} ended with ${String(code)}`);
  const lines = (await readFile(join(folder, 'notes'), 'utf8')).trimEnd().split('\n');
  const notes = lines.map((line) => line.split(' '));
  const [at = '', cpuSeconds = ''] = notes[0] ?? [];
  return {
    seconds: Number(at) - began,
    cpuSeconds: Number(cpuSeconds),
    batches: notes.map(([, , batch = '']) => batch),
  };
}
