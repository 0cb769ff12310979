/** What a fault costs a training of two hosts that saves by `tidewheel.save_due()`: steps, and seconds of training. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { StopTrainingJobCommand } from '@aws-sdk/client-sagemaker';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { s3ObjectStore } from '../../../functions/aws/s3/object-store.ts';
import { readProgress } from '../../../functions/records/progress.ts';
import type { Ground } from '../../../test/support/local-sagemaker.ts';
import { completeIn } from './checkpoints.ts';
import { strike } from './faults.ts';
import { hasEnded, provideAgent, startJob, type Training } from './training.ts';

const LOSSES = ['warning', 'killHost', 'killAll'] as const;
type Loss = (typeof LOSSES)[number];

/** What one fault cost. */
export interface Lost {
  readonly seed: number;
  readonly fault: Loss;
  /** Done and not in the checkpoint from which the next attempt goes on. */
  readonly steps: number;
  /** From the end of the saved step to that of the last one. */
  readonly seconds: number;
  readonly problems: readonly string[];
}

const PIPELINE = 'lost';
const SCRIPT = path.join(import.meta.dirname, 'paced_train.py');
/** A tenth of SageMaker's: the script needs less than a second. */
const GRACE_SECONDS = 12;
/** The first save is due after 5 s, each other one 5 s after the one before: faults fall into two of these. */
const FIRST_FAULT_SECONDS = 5;
const FAULTS_SECONDS = 10;
/** More than any attempt reaches. */
const TOTAL_STEPS = 100_000;
/** Of the service, and longer than the interval that `save_due` takes by itself. */
const CHECKPOINT_SECONDS = 600;

interface Plan {
  readonly seed: number;
  readonly fault: Loss;
  readonly host: number;
  readonly afterSeconds: number;
}

function planOf(seed: number): Plan {
  const random = seededUniform(seed);
  return {
    seed,
    fault: LOSSES[Math.floor(random() * LOSSES.length)] ?? 'warning',
    host: random() < 0.5 ? 0 : 1,
    afterSeconds: FIRST_FAULT_SECONDS + random() * FAULTS_SECONDS,
  };
}

/** One training that takes the faults of these seeds, one after the other. `folder` is for its notes. */
export async function losses(
  ground: Ground,
  folder: string,
  seeds: readonly number[],
  megabytes: number,
): Promise<Lost[]> {
  await provideAgent(ground);
  await ground.put('paced/train.py', readFileSync(SCRIPT));
  await ground.put('data/none', 'the script makes its own state');
  const campaign = new LossCampaign(ground, folder, `seed-${seeds[0]}-${process.pid}`, megabytes);
  let training = await campaign.start();
  const lost: Lost[] = [];
  for (const seed of seeds) {
    const plan = planOf(seed);
    await campaign.untilTraining(training, lost.length + 1);
    await sleep(plan.afterSeconds * 1_000);
    lost.push(await campaign.fail(training, plan));
    if (plan.fault !== 'warning') training = await campaign.start();
  }
  await campaign.untilTraining(training, lost.length + 1);
  await ground.sageMaker.send(new StopTrainingJobCommand({ TrainingJobName: training.job }));
  await ground.ended(training.job);
  return withResumes(lost, campaign.stays());
}

class LossCampaign {
  readonly #ground: Ground;
  readonly #run: string;
  readonly #megabytes: number;
  /** The script's notes: where each start began, and when each step was done. */
  readonly #stepsFile: string;
  #attempt = 0;

  constructor(ground: Ground, folder: string, run: string, megabytes: number) {
    this.#ground = ground;
    this.#run = run;
    this.#megabytes = megabytes;
    this.#stepsFile = path.join(folder, `${run}.steps`);
  }

  stays(): Stay[] {
    return staysIn(this.#stepsFile);
  }

  start(): Promise<Training> {
    this.#attempt += 1;
    return startJob(this.#ground, {
      job: `${this.#run}-a${this.#attempt}-0a1b2c`,
      code: 'paced/',
      checkpoints: bucketKeys.checkpoints(PIPELINE, this.#run).replace(/\/$/, ''),
      hyperparameters: {
        megabytes: this.#megabytes,
        total: TOTAL_STEPS,
        steps_file: this.#stepsFile,
        sagemaker_program: 'train.py',
        tidewheel_run_id: this.#run,
        tidewheel_checkpoint_seconds: CHECKPOINT_SECONDS,
      },
    });
  }

  /** Until the script, started so many times, has done a step. */
  async untilTraining({ job }: Training, starts: number): Promise<void> {
    await this.#ground.until(job, (each) => {
      if (hasEnded(each)) throw new Error(`${job} ended: ${each.FailureReason}`);
      const stays = this.stays();
      return stays.length >= starts && (stays.at(-1)?.done.length ?? 0) > 0;
    });
  }

  async fail({ job, bases }: Training, { seed, fault, host }: Plan): Promise<Lost> {
    const problems: string[] = [];
    const interruptions = interruptionsOf(await this.#ground.describe(job));
    if (fault === 'warning') this.#ground.market.reclaim(GRACE_SECONDS);
    else if (strike(fault, bases, host) === 0) problems.push('the fault found no process');
    await this.#ground.until(job, (each) =>
      fault === 'warning' ? interruptionsOf(each) > interruptions : hasEnded(each),
    );
    const safe = await this.#safeStep();
    // The service may believe the note only as far as a whole checkpoint goes.
    const store = s3ObjectStore(this.#ground.s3, this.#ground.bucket);
    const progress = await readProgress(store, PIPELINE, this.#run);
    if ((progress?.step ?? 0) > safe) problems.push(`step ${progress?.step} counts, ${safe} is whole`);
    const stay = this.stays().at(-1);
    if (!stay) throw new Error(`no start was noted in ${this.#stepsFile}`);
    const last = stay.done.at(-1) ?? { step: stay.from, at: stay.at };
    const saved = stay.done.find(({ step }) => step === safe) ?? stay;
    return { seed, fault, steps: last.step - safe, seconds: last.at - saved.at, problems };
  }

  /** Of the newest checkpoint in the bucket whose bytes are those of its marker. */
  async #safeStep(): Promise<number> {
    const keys = await this.#ground.keys(bucketKeys.checkpoints(PIPELINE, this.#run));
    return (await completeIn(keys, (key) => this.#ground.get(key)))[0]?.step ?? 0;
  }
}

type Described = Awaited<ReturnType<Ground['describe']>>;

const interruptionsOf = ({ SecondaryStatusTransitions: all = [] }: Described): number =>
  all.filter(({ Status, EndTime }) => Status === 'Interrupted' && EndTime !== undefined).length;

/** One start of the script, as it noted it. */
interface Stay {
  readonly from: number;
  /** Unix seconds. */
  readonly at: number;
  readonly done: { readonly step: number; readonly at: number }[];
}

function staysIn(stepsFile: string): Stay[] {
  const stays: Stay[] = [];
  for (const line of linesIn(stepsFile)) {
    const [what, step, at] = line.split(' ');
    if (what === 'from') stays.push({ from: Number(step), at: Number(at), done: [] });
    else stays.at(-1)?.done.push({ step: Number(step), at: Number(at) });
  }
  return stays;
}

function linesIn(file: string): string[] {
  try {
    // What follows the last line's end is still being written.
    return readFileSync(file, 'utf8').split('\n').slice(0, -1);
  } catch {
    return [];
  }
}

/** The next start goes on from what was whole in the bucket. */
const withResumes = (lost: readonly Lost[], stays: readonly Stay[]): Lost[] =>
  lost.map((one, index) => {
    const [before, after] = [stays[index], stays[index + 1]];
    const safe = (before?.done.at(-1)?.step ?? before?.from ?? 0) - one.steps;
    if (after?.from === safe) return one;
    return { ...one, problems: [...one.problems, `went on from step ${after?.from} instead of ${safe}`] };
  });

/** By fault: the median, the ninth decile and the most of what was lost. */
export function summaryOf(all: readonly Lost[]): string[] {
  return LOSSES.flatMap((fault) => {
    const some = all.filter((one) => one.fault === fault);
    if (some.length === 0) return [];
    const steps = quantiles(some.map((one) => one.steps)).map((value) => value.toFixed(0));
    const seconds = quantiles(some.map((one) => one.seconds)).map((value) => value.toFixed(1));
    return [
      `${fault}, ${some.length} times: lost ${steps.join(', ')} steps and ${seconds.join(', ')} s (median, p90, most)`,
    ];
  });
}

function quantiles(values: readonly number[]): number[] {
  const sorted = values.toSorted((a, b) => a - b);
  return [0.5, 0.9, 1].map(
    (share) => sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? 0,
  );
}
