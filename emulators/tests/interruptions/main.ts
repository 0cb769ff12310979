/**
 * `npm run test:interruptions [-- --seeds 200]`: the ddp recipe on two hosts, struck once for every seed at a random
 * moment, goes on from the newest whole checkpoint, never from half a one, and ends with the same weights.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { readCommandLine, runCommand } from '@tidewheel/kit/command-line.ts';
import { wholeNumber } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import { startTestEmulator } from '../../../test/support/emulator.ts';
import { layGround } from '../../../test/support/local-sagemaker.ts';
import { type Struck, type Survived, survive, undisturbed } from './campaign.ts';
import { FAULTS, type Fault, interruptionOf } from './plan.ts';
import { provide } from './training.ts';

const USAGE = `npm run test:interruptions [-- OPTIONS]
  --seeds N   how many interruptions (8)
  --each N    how many of them one training takes (8)
  --first N   the first seed (1)`;

const whole = wholeNumber(1, 1_000_000);
const schema = z.object({
  seeds: whole.default(8),
  each: whole.default(8),
  first: whole.default(1),
});

/** Of a start of two hosts on a machine that has much else to do. */
const PATIENCE_SECONDS = 900;

const print = (text: string): void => void process.stdout.write(`${text}\n`);

async function main(args: readonly string[]): Promise<number> {
  const { values } = readCommandLine(args, { schema });
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-interruptions-'));
  const emulator = await startTestEmulator();
  const ground = await layGround(emulator.url, {}, PATIENCE_SECONDS);
  try {
    await provide(ground, folder);
    const reference = await undisturbed(ground);
    print(`undisturbed: ${reference.seconds.toFixed(1)} s, ${reference.states.size} checkpoints`);
    const all: Survived[] = [];
    const end = values.first + values.seeds;
    for (let seed = values.first; seed < end; ) {
      const count = Math.min(values.each, end - seed);
      const plans = Array.from({ length: count }, (_, index) => interruptionOf(seed + index));
      const survived = await survive(ground, plans, reference);
      seed += survived.struck.length;
      all.push(survived);
      tell(survived);
    }
    print(`\n${closingLine(all)}`);
    return failedOf(all) > 0 ? 1 : 0;
  } finally {
    await ground.close();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

const markOf = (problems: readonly string[]): string => (problems.length === 0 ? '✓' : '✗');

function tell({ struck, problems, seconds }: Survived): void {
  for (const one of struck) {
    print(lineOf(one));
    for (const problem of one.problems) print(`    ${problem}`);
  }
  print(`${markOf(problems)} ended with the undisturbed weights (${seconds.toFixed(0)} s)`);
  for (const problem of problems) print(`    ${problem}`);
}

function lineOf({ interruption, wasStruck, savedStep, safeStep, problems }: Struck): string {
  const { seed, fault, moment, host, graceSeconds } = interruption;
  const what = fault === 'reclaim' ? `reclaim, ${graceSeconds.toFixed(1)} s` : `${fault} ${host}`;
  const when =
    moment.kind === 'share'
      ? `at ${(100 * moment.share).toFixed(0)} % of the time`
      : `${moment.kind === 'saving' ? 'in' : 'after'} save ${moment.save}`;
  const came = wasStruck ? `step ${savedStep} was saved, ${safeStep} is safe` : 'came too late';
  return `${markOf(problems)} seed ${seed}: ${what}, ${when}: ${came}`;
}

const failedOf = (all: readonly Survived[]): number =>
  all.filter(({ problems, struck }) => problems.length > 0 || struck.some((one) => one.problems.length > 0))
    .length;

function closingLine(all: readonly Survived[]): string {
  const struck = all.flatMap((one) => one.struck).filter(({ wasStruck }) => wasStruck);
  const of = (fault: Fault): number =>
    struck.filter(({ interruption }) => interruption.fault === fault).length;
  const kinds = FAULTS.map((fault) => `${fault} ${of(fault)}`).join(', ');
  const inSave = struck.filter(({ interruption }) => interruption.moment.kind === 'saving').length;
  const failed = failedOf(all);
  return `${struck.length} interruptions (${kinds}; ${inSave} while saving) of ${all.length} trainings: ${all.length - failed} ended with the undisturbed weights and lost nothing that was safe, ${failed} did not`;
}

await runCommand(USAGE, main);
