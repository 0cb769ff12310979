/** Loops that resume at nine tenths of an epoch: how soon they step, and whether they get the same batches. */
import { spawn } from 'node:child_process';
import { copyFile, cp, mkdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { markdownTable } from '../../cli/recipes/table.ts';
import { environmentOf } from './environment.ts';

const SHAPES = [
  'pairs',
  'pairs_in_workers',
  'dictionaries',
  'sliced',
  'drawn',
  'distributed',
  'stateful',
  'accelerated_skip',
  'accelerated_continue',
  'trainer',
  'stream',
  'augmented',
] as const;
const REQUIREMENTS = ['transformers==5.23.0', 'accelerate==1.15.0', 'torchdata==0.11.0', 'pillow'];
const LEAST_THAT_JUMP = 9;
const SLOWEST_JUMP = 1.05;

interface Step {
  /** Since the process began. */
  readonly seconds: number;
  readonly cpuSeconds: number;
  readonly batch: string;
}

interface Row {
  readonly shape: string;
  readonly fresh: Step;
  readonly resumed: Step;
  readonly isSame: boolean;
}

export interface ResumeBench {
  readonly root: string;
  readonly work: string;
  readonly cache: string;
  readonly pythonPath: string;
  /** Starts of each kind, of which the quickest counts. */
  readonly starts: number;
  readonly signal: AbortSignal;
  readonly say: (text: string) => void;
}

/** @returns whether enough of them jump, and all get the same batches */
export async function benchResumes(bench: ResumeBench): Promise<boolean> {
  const python = await environmentOf(REQUIREMENTS, bench.pythonPath, bench.cache);
  const rows: Row[] = [];
  for (const shape of SHAPES) {
    bench.say(shape);
    rows.push(await resumeOf(shape, python, bench));
  }
  bench.say(`\n${tableOf(rows)}\n`);
  const jumps = rows.filter(hasJumped).length;
  bench.say(
    `${jumps} of ${rows.length} step within ${SLOWEST_JUMP} times the seconds or CPU seconds of a fresh start`,
  );
  return jumps >= LEAST_THAT_JUMP && rows.every(({ isSame }) => isSame);
}

async function resumeOf(shape: string, python: string, bench: ResumeBench): Promise<Row> {
  const start = (name: string, from: string | undefined, isFirst: boolean): Promise<readonly Step[]> =>
    startOf({ shape, python, folder: join(bench.work, shape, name), from, isFirst }, bench);
  const whole = await start('whole', undefined, false);
  const saved = join(bench.work, shape, 'whole/checkpoints');
  const rest = await start('rest', saved, false);
  const fresh = [whole];
  const resumed = [rest];
  for (let number = 1; number < bench.starts; number += 1) {
    fresh.push(await start(`fresh-${number}`, undefined, true));
    resumed.push(await start(`resumed-${number}`, saved, true));
  }
  const batches = (steps: readonly Step[]): string => steps.map(({ batch }) => batch).join();
  return {
    shape,
    fresh: quickest(fresh),
    resumed: quickest(resumed),
    isSame: rest.length > 0 && batches(whole.slice(-rest.length)) === batches(rest),
  };
}

interface Start {
  readonly shape: string;
  readonly python: string;
  readonly folder: string;
  /** Its checkpoints; undefined: none. */
  readonly from: string | undefined;
  /** Whether it ends after its first step. */
  readonly isFirst: boolean;
}

async function startOf(plan: Start, { root, signal }: ResumeBench): Promise<readonly Step[]> {
  const { folder } = plan;
  const checkpoints = join(folder, 'checkpoints');
  for (const name of ['ended', 'cells']) await mkdir(join(folder, name), { recursive: true });
  if (plan.from === undefined) await mkdir(checkpoints);
  else await cp(plan.from, checkpoints, { recursive: true });
  const script = join(folder, 'skipping.py');
  await copyFile(join(import.meta.dirname, 'written/skipping.py'), script);
  const environment = {
    ...process.env,
    PYTHONPATH: [join(root, 'training/agent/for_scripts'), join(root, 'training/instrument')].join(':'),
    OMP_NUM_THREADS: '1',
    CHECKPOINTS: checkpoints,
    NOTES: join(folder, 'notes'),
    TIDEWHEEL_CHECKPOINT_DIR: checkpoints,
    TIDEWHEEL_ENDED_DIR: join(folder, 'ended'),
    TIDEWHEEL_INSTRUMENT_DIR: join(folder, 'cells'),
    ...(plan.isFirst && { FIRST: '1' }),
  };
  const began = Date.now() / 1_000;
  const stdio = ['ignore', 'ignore', 'inherit'] as const;
  const child = spawn(plan.python, ['-W', 'ignore', script, plan.shape], {
    env: environment,
    stdio: [...stdio],
    signal,
  });
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('exit', resolve));
  if (code !== 0) throw new Error(`${plan.shape} ended with ${String(code)}`);
  const lines = (await readFile(join(folder, 'notes'), 'utf8')).trimEnd().split('\n');
  await rm(join(folder, 'cells'), { recursive: true });
  return lines.map((line) => {
    const [at = '', cpuSeconds = '', batch = ''] = line.split(' ');
    return { seconds: Number(at) - began, cpuSeconds: Number(cpuSeconds), batch };
  });
}

/** The first steps of several starts: the least time and CPU time of any. */
function quickest(starts: readonly (readonly Step[])[]): Step {
  const firsts = starts.flatMap((steps) => steps.slice(0, 1));
  return {
    seconds: Math.min(...firsts.map(({ seconds }) => seconds)),
    cpuSeconds: Math.min(...firsts.map(({ cpuSeconds }) => cpuSeconds)),
    batch: '',
  };
}

/** On a busy machine, the clock on the wall compares nothing. */
const hasJumped = ({ fresh, resumed }: Row): boolean =>
  resumed.seconds <= SLOWEST_JUMP * fresh.seconds || resumed.cpuSeconds <= SLOWEST_JUMP * fresh.cpuSeconds;

function tableOf(rows: readonly Row[]): string {
  const head = [
    'loop',
    'fresh: first step, s',
    'resumed: first step, s',
    'times',
    'CPU: times',
    'same batches',
  ];
  const cells = rows.map(({ shape, fresh, resumed, isSame }) => [
    shape.replaceAll('_', ' '),
    fresh.seconds.toFixed(2),
    resumed.seconds.toFixed(2),
    (resumed.seconds / fresh.seconds).toFixed(2),
    (resumed.cpuSeconds / fresh.cpuSeconds).toFixed(2),
    isSame ? 'yes' : 'NO',
  ]);
  return markdownTable(head, cells);
}
