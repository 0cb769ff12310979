/** A script under the agent for some seconds, and the evidence that it leaves. */
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { startOnMachine, type Trial } from '../../../cli/try/host.ts';
import type { Evidence } from '../../../functions/core/doctor/evidence.ts';
import { readHostStart, readPoints } from '../../../functions/core/doctor/points.ts';
import { readEvidence } from '../../../functions/core/doctor/read-evidence.ts';

/** Over which a gain is counted. */
export const STEPS = 2_000;
/** Without an accelerator. The points tell the cores that the machine has. */
const TYPE = 'c5.xlarge';

/** @throws Error with the script's last lines when it ends by itself, or leaves no points */
export async function evidenceOfScript(
  trial: Trial,
  name: string,
  seconds: number,
  signal: AbortSignal,
): Promise<Evidence> {
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
  if (endedItself) throw new Error(`${name} ended by itself:\n${output}`);
  return evidenceIn(host.checkpoints);
}

const START_SECONDS = 180;

/** Counted from the first step: frameworks take long to import on a busy machine. False: the time is over. */
async function pointsAfter(checkpoints: string, seconds: number, signal: AbortSignal): Promise<false> {
  const startedAt = Date.now();
  let steppedAt: number | undefined;
  while (!signal.aborted && Date.now() - startedAt < (START_SECONDS + seconds) * 1_000) {
    await setTimeout(1_000);
    if (steppedAt !== undefined && Date.now() - steppedAt > seconds * 1_000) break;
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

async function evidenceIn(checkpoints: string): Promise<Evidence> {
  const points = (await pointsIn(checkpoints)).filter(({ steps, shares }) => steps > 0 || shares.compute > 0);
  const [start = ''] = await filesIn(checkpoints, '-phases.json');
  const phases = Object.entries(readHostStart(start)?.phases ?? {}).map(([name, value]) => [
    name,
    // The packages were installed before: a script's start is not what is judged here.
    ['download', 'install', 'scriptStart'].includes(name) ? 0 : (value ?? 0),
  ]);
  const read = readEvidence({
    points,
    phases: { download: 0, install: 0, scriptStart: 0, ...Object.fromEntries(phases) },
    data: { bytes: 0, files: 0 },
    inputMode: 'File',
    instanceType: TYPE,
    steps: STEPS,
  });
  if (read.kind === 'problems') throw new Error(read.problems.join('\n'));
  return read.evidence;
}
