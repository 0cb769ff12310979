/** A script under the agent for some seconds, and the evidence that it leaves. */
import { cp, glob, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startOnMachine, type Trial } from '../../../cli/try/host.ts';
import type { Evidence } from '../../../functions/core/doctor/evidence.ts';
import { readHostStart, readPoints } from '../../../functions/core/doctor/points.ts';
import { readEvidence } from '../../../functions/core/doctor/read-evidence.ts';
import { trainingSchema } from '../../../functions/core/pipeline/training.ts';
import { environmentOf } from '../../scripts/environment.ts';
import { requirementsOf, type Script } from '../../scripts/script.ts';
import { layOutSource } from '../../scripts/source.ts';
import { CACHE, root, type WorkFolder, writeJson } from '../../scripts/work-folder.ts';
import type { Case, ChangedLine, Remedied } from './case.ts';

/** Over which a gain is counted. */
export const STEPS = 2_000;
/** Without an accelerator. The points tell the cores that the machine has. */
const TYPE = 'c5.xlarge';

export interface Means extends WorkFolder {
  readonly seconds: number;
  readonly threads: number | undefined;
  /** Gets a file of each run, as `npx tidewheel doctor --evidence` reads it. */
  readonly keep: string | undefined;
}

/** Runs the script with a remedy taken. `kind`: unlike that of another run at the same time. */
export async function played(
  one: Case,
  { work, agentFile, seconds, threads, keep, signal }: Means,
  kind: 'alone' | 'beside' | 'remedied',
  remedied: Remedied = {},
): Promise<Evidence> {
  const name = `${one.name}-${kind}`;
  const folder = join(work, `source-${name}`);
  const python = await environmentOf(requirementsFor(one), ownPython(), CACHE);
  const entryPoint = await layOut(one, python, folder);
  for (const line of [...(one.lasting ?? []), ...(remedied.line ? [remedied.line] : [])])
    await changeLine(join(folder, entryPoint), line);
  const trial: Trial = {
    folder,
    training: trainingOf(one, entryPoint, remedied),
    channels: {},
    work,
    agentFile,
    pythonPath: python,
    environmentsDirectory: join(root, '.tidewheel/environments'),
    graceSeconds: 20,
    masterPort: kind === 'remedied' ? 29_531 : 29_511,
    environment: {
      HF_HUB_OFFLINE: '1',
      ...(threads !== undefined && { OMP_NUM_THREADS: String(threads) }),
    },
  };
  try {
    const measured = await measuredOfScript(trial, name, seconds, signal);
    if (keep !== undefined) await writeJson(join(keep, `${name}.json`), measured);
    return evidenceOf(measured);
  } finally {
    for (const path of [folder, join(work, name)]) await rm(path, { recursive: true, force: true });
  }
}

const ownPython = (): string => process.env['TIDEWHEEL_PYTHON'] ?? join(root, '.venv/bin/python');

const requirementsFor = ({ source, requirements = [] }: Case): readonly string[] =>
  'script' in source ? requirementsOf(source.script) : requirements;

function trainingOf(one: Case, entryPoint: string, remedied: Remedied): Trial['training'] {
  const script: Pick<Script, 'environment' | 'within'> = 'script' in one.source ? one.source.script : {};
  const given = 'script' in one.source ? one.source.script.arguments : one.arguments;
  return trainingSchema.parse({
    strategy: 'single',
    entryPoint,
    arguments: [...(given ?? []), ...(remedied.arguments ?? [])],
    environment: { ...script.environment, ...remedied.environment },
    workingDirectory: script.within,
  });
}

async function layOut({ source }: Case, pythonPath: string, folder: string): Promise<string> {
  if ('script' in source) return (await layOutSource(source.script, pythonPath, CACHE, folder)).entry;
  await cp(join(import.meta.dirname, 'written'), folder, { recursive: true });
  return source.written;
}

async function changeLine(file: string, [before, after]: ChangedLine): Promise<void> {
  const text = await readFile(file, 'utf8');
  if (text.split(before).length !== 2) throw new Error(`${file} does not have this once: ${before}`);
  await writeFile(
    file,
    text.replace(before, () => after),
  );
}

/** Some trainings end sooner than the seconds that are given. */
const LEAST_POINTS = 5;

/**
 * @throws Error when the script made no step, and with its last lines when it ended by itself with too few points
 */
async function measuredOfScript(
  trial: Trial,
  name: string,
  seconds: number,
  signal: AbortSignal,
): Promise<Measured> {
  const host = await startOnMachine(trial, name, undefined);
  let output = '';
  for (const stream of [host.process.stdout, host.process.stderr])
    stream.on('data', (data: Buffer) => (output = `${output}${data.toString('utf8')}`.slice(-4_000)));
  const kill = (): void => host.process.kill();
  signal.addEventListener('abort', kill);
  const ended = host.process.exited.then(() => true);
  const endedItself = await Promise.race([ended, pointsAfter(host.checkpoints, seconds, signal)]);
  kill();
  await ended;
  signal.removeEventListener('abort', kill);
  signal.throwIfAborted();
  const measured = await measuredIn(host.checkpoints);
  const stepped = measured.points.filter(({ steps }) => steps > 0).length;
  if (endedItself && stepped < LEAST_POINTS) throw new Error(`${name} ended by itself\n${output}`);
  if (stepped === 0) throw new Error(`${name} made no step in ${START_SECONDS} s`);
  return measured;
}

/** Frameworks take long to import on a busy machine. */
const START_SECONDS = 420;

/** The seconds count from the first step. False: the time is over. */
async function pointsAfter(checkpoints: string, seconds: number, signal: AbortSignal): Promise<false> {
  const startedAt = Date.now();
  let steppedAt: number | undefined;
  while (!signal.aborted) {
    await setTimeout(1_000);
    const limit = steppedAt === undefined ? START_SECONDS : seconds;
    if (Date.now() - (steppedAt ?? startedAt) > limit * 1_000) break;
    steppedAt ??= (await pointsIn(checkpoints)).some(({ steps }) => steps > 0) ? Date.now() : undefined;
  }
  return false;
}

async function filesIn(checkpoints: string, ending: string): Promise<readonly string[]> {
  const texts: string[] = [];
  for await (const file of glob(`tidewheel-evidence/*${ending}`, { cwd: checkpoints }))
    texts.push(await readFile(join(checkpoints, file), 'utf8'));
  return texts;
}

const pointsIn = async (checkpoints: string) => (await filesIn(checkpoints, '.jsonl')).flatMap(readPoints);

async function measuredIn(checkpoints: string) {
  const points = (await pointsIn(checkpoints)).filter(({ steps, shares }) => steps > 0 || shares.compute > 0);
  const [start = ''] = await filesIn(checkpoints, '-phases.json');
  const started = readHostStart(start);
  const phases = Object.entries(started?.phases ?? {}).map(([name, value]) => [
    name,
    // The packages were installed before: a script's start is not what is judged here.
    ['download', 'install', 'scriptStart'].includes(name) ? 0 : (value ?? 0),
  ]);
  return {
    points,
    phases: { download: 0, install: 0, scriptStart: 0, ...Object.fromEntries(phases) },
    lines: started?.lines,
    data: { bytes: 0, files: 0 },
    inputMode: 'File',
    instanceType: TYPE,
    steps: STEPS,
  };
}

type Measured = Awaited<ReturnType<typeof measuredIn>>;

function evidenceOf(measured: Measured): Evidence {
  const read = readEvidence(measured);
  if (read.kind === 'problems') throw new Error(read.problems.join('\n'));
  return read.evidence;
}
