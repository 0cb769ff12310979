/** A training that is struck, goes on, and must come to what an undisturbed one came to. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { gunzipSync } from 'node:zlib';
import type { DescribeTrainingJobResponse } from '@aws-sdk/client-sagemaker';
import type { Ground } from '../../../test/support/local-sagemaker.ts';
import { type Complete, completeIn, hasBegun, newestMarker } from './checkpoints.ts';
import { processesOf, strike } from './faults.ts';
import type { Fault, Interruption, Moment } from './plan.ts';
import { hasEnded, linesOf, resumedAt, type Saving, start, type Training } from './training.ts';

/** What an undisturbed training left. */
export interface Reference {
  /** SHA-256 of the state of each step's checkpoint. */
  readonly states: ReadonlyMap<number, string>;
  readonly model: string;
  /** From the start of the hosts to their end. */
  readonly seconds: number;
}

/** What became of one interruption. */
export interface Struck {
  readonly interruption: Interruption;
  /** The fault found the training under way. */
  readonly wasStruck: boolean;
  /** Newest whole checkpoint on the leader's disk when it was struck. */
  readonly savedStep: number;
  /** What had had time to reach the bucket, and so may not be lost. */
  readonly uploadedStep: number;
  /** The newest whole one in the bucket afterwards: what the next attempt must go on from. */
  readonly safeStep: number;
  readonly problems: readonly string[];
}

export interface Survived {
  readonly struck: readonly Struck[];
  /** What is wrong with the end; empty when everything holds. */
  readonly problems: readonly string[];
  readonly seconds: number;
}

/** A killed host takes along what it had not uploaded: the sync looks every tenth of a second, an upload takes its time. */
const UPLOAD_MS = 2_000;
const LOOK_MS = 5;
/** What a stop saves is of any step: the undisturbed training keeps all of them. */
const EVERY_STEP: Saving = { program: 'every_step.py', checkpoint_steps: 1, keep_checkpoints: 1_000 };
const SOME_STEPS: Saving = { program: 'train.py', checkpoint_steps: 4, keep_checkpoints: 2 };

export async function undisturbed(ground: Ground): Promise<Reference> {
  const run = `undisturbed-${process.pid}`;
  const training = await start(ground, run, 1, EVERY_STEP);
  const job = await ground.ended(training.job);
  if (job.TrainingJobStatus !== 'Completed') {
    throw new Error(
      `the undisturbed training failed: ${job.FailureReason}\n${await logOf(ground, training)}`,
    );
  }
  const saved = await savedBy(ground, run);
  const states = new Map(saved.map(({ step, sha256 }) => [step, sha256]));
  const lacking = stepsUpTo(saved[0]?.step ?? 1).filter((step) => !states.has(step));
  if (lacking.length > 0) {
    throw new Error(`the undisturbed training left no whole checkpoint of the steps ${lacking.join(', ')}`);
  }
  const began = job.SecondaryStatusTransitions?.find(({ Status }) => Status === 'Training');
  const milliseconds = (began?.EndTime?.getTime() ?? 0) - (began?.StartTime?.getTime() ?? 0);
  return {
    states,
    model: await modelOf(ground, training.job),
    seconds: milliseconds / 1_000,
  };
}

const stepsUpTo = (last: number): number[] => Array.from({ length: last }, (_, index) => index + 1);

/** One training and its faults, one after the other; the last attempt is left in peace. */
export async function survive(
  ground: Ground,
  interruptions: readonly Interruption[],
  reference: Reference,
): Promise<Survived> {
  const began = Date.now();
  const campaign = new Campaign(ground, `seed-${interruptions[0]?.seed}-${process.pid}`, reference);
  await campaign.start();
  const struck: Struck[] = [];
  for (const interruption of interruptions) {
    const one = await campaign.strike(interruption);
    struck.push(one);
    if (!one.wasStruck) break;
  }
  return { struck, problems: await campaign.end(), seconds: (Date.now() - began) / 1_000 };
}

/** The course of one training over its jobs and their stays on capacity. */
class Campaign {
  readonly #ground: Ground;
  readonly #run: string;
  readonly #reference: Reference;
  #attempt = 0;
  #training: Training | undefined;
  /** Stays on capacity that the present job has had, this one included. */
  #stays = 0;
  #linesRead = 0;
  /** What the present stay must go on from. */
  #expected = 0;
  #lines: string[] = [];

  constructor(ground: Ground, run: string, reference: Reference) {
    this.#ground = ground;
    this.#run = run;
    this.#reference = reference;
  }

  async start(): Promise<void> {
    this.#attempt += 1;
    this.#stays = 1;
    this.#linesRead = 0;
    this.#training = await start(this.#ground, this.#run, this.#attempt, SOME_STEPS);
  }

  get #present(): Training {
    if (!this.#training) throw new Error('the training was not started');
    return this.#training;
  }

  async strike(interruption: Interruption): Promise<Struck> {
    const { fault, moment, host, graceSeconds } = interruption;
    const { job, bases, checkpoints } = this.#present;
    await this.#ground.until(job, (each) => hasEnded(each) || staysOf(each) >= this.#stays);
    const history = await waitFor(this.#present, moment, this.#reference.seconds);
    const savedStep = newestMarker(checkpoints);
    const isTraining = (await this.#ground.describe(job)).SecondaryStatus === 'Training';
    let wasStruck = isTraining;
    let uploadedStep = savedStep;
    if (fault === 'reclaim') {
      // Its hosts are stopped and what they have on disk is uploaded: nothing whole may be lost.
      if (isTraining) this.#ground.market.reclaim(graceSeconds);
    } else {
      wasStruck = isTraining && strike(fault, bases, host) > 0;
      uploadedStep = history.findLast(({ at }) => at <= Date.now() - UPLOAD_MS)?.step ?? this.#expected;
    }
    const facts = { interruption, savedStep, uploadedStep };
    if (!wasStruck) return { ...facts, wasStruck, safeStep: savedStep, problems: [] };
    return { ...facts, wasStruck: true, ...(await this.#goOn(fault, uploadedStep)) };
  }

  /** A reclaimed job goes on by itself; one that lost a host has failed, and is submitted again. */
  async #goOn(fault: Fault, uploadedStep: number): Promise<Pick<Struck, 'safeStep' | 'problems'>> {
    const { job } = this.#present;
    const ended = await this.#ground.until(
      job,
      (each) => hasEnded(each) || (fault === 'reclaim' && isWaitingAgain(each, this.#stays)),
    );
    const problems = await this.#resumeProblems();
    const saved = await savedBy(this.#ground, this.#run);
    const safeStep = saved[0]?.step ?? 0;
    if (safeStep < uploadedStep) problems.push(`step ${uploadedStep} was safe, now only ${safeStep} is`);
    for (const { step, sha256 } of saved) {
      if (this.#reference.states.get(step) !== sha256) {
        problems.push(`the checkpoint of step ${step} is not that of the undisturbed training`);
      }
    }
    this.#expected = safeStep;
    // Killed so late that every host had done its part: then it has ended well, and nothing is left to continue.
    if (!hasEnded(ended)) this.#stays += 1;
    else if (ended.TrainingJobStatus !== 'Completed') await this.start();
    return { safeStep, problems };
  }

  /** Looks where the stay that has just ended had gone on from, if it came so far as to say so. */
  async #resumeProblems(): Promise<string[]> {
    const lines = await linesOf(this.#ground, this.#present.job);
    const own = lines.slice(this.#linesRead);
    this.#linesRead = lines.length;
    this.#lines = own;
    return resumedAt(own)
      .filter((step) => step !== this.#expected)
      .map((step) => `it went on from step ${step}, the newest whole checkpoint was of ${this.#expected}`);
  }

  async end(): Promise<string[]> {
    const { job, bases } = this.#present;
    const ended = await this.#ground.ended(job);
    const problems = await this.#resumeProblems();
    const left = bases.flatMap((base) => processesOf(base).map(({ pid }) => pid));
    const model = await modelOf(this.#ground, job).catch(() => 'none');
    if (ended.TrainingJobStatus !== 'Completed')
      problems.push(`it ended ${ended.TrainingJobStatus}: ${ended.FailureReason}`);
    if (model !== this.#reference.model) problems.push('the final weights differ from the undisturbed ones');
    if (left.length > 0) problems.push(`processes are left: ${left.join(', ')}`);
    return problems.length === 0 ? [] : [...problems, this.#lines.slice(-LINES_SHOWN).join('\n')];
  }
}

const LINES_SHOWN = 60;

const staysOf = ({ SecondaryStatusTransitions: all = [] }: DescribeTrainingJobResponse): number =>
  all.filter(({ Status }) => Status === 'Training').length;

/** Interrupted once more than before, and its hosts are gone. */
const isWaitingAgain = (
  { SecondaryStatusTransitions: all = [] }: DescribeTrainingJobResponse,
  stays: number,
): boolean =>
  all.filter(({ Status }) => Status === 'Interrupted').length >= stays &&
  all.at(-1)?.Status !== 'Interrupted';

/** Waits for the moment, or for the end of the hosts; returns which checkpoints were whole when. */
async function waitFor(training: Training, moment: Moment, seconds: number) {
  const history: { at: number; step: number }[] = [];
  const began = Date.now();
  const limit = began + (moment.kind === 'share' ? moment.share : 2) * seconds * 1_000;
  let saves = 0;
  let step = 0;
  while (Date.now() < limit) {
    const newest = newestMarker(training.checkpoints);
    if (newest > step) {
      saves += 1;
      step = newest;
      history.push({ at: Date.now(), step });
    }
    if (moment.kind !== 'share' && saves >= moment.save - 1 && hasBegun(training.checkpoints, step)) {
      await sleep(moment.afterMs);
      break;
    }
    await sleep(LOOK_MS);
  }
  return history;
}

const savedBy = async (ground: Ground, run: string): Promise<Complete[]> =>
  completeIn(await ground.keys(`checkpoints/${run}/`), (key) => ground.get(key));

/** SHA-256 of `model.pt` in the job's model.tar.gz: tar's entries begin at blocks of 512 bytes, name first. */
async function modelOf(ground: Ground, job: string): Promise<string> {
  const tar = gunzipSync(await ground.get(`models/${job}/output/model.tar.gz`));
  for (let at = 0; at + 512 <= tar.length; ) {
    const name = tar.toString('latin1', at, at + 100).replace(/\0.*$/s, '');
    const size = Number.parseInt(tar.toString('latin1', at + 124, at + 136), 8) || 0;
    if (name.endsWith('model.pt')) {
      return createHash('sha256')
        .update(tar.subarray(at + 512, at + 512 + size))
        .digest('hex');
    }
    at += 512 + Math.ceil(size / 512) * 512;
  }
  throw new Error(`${job} left no model.pt`);
}

const logOf = async (ground: Ground, { job }: Training): Promise<string> =>
  (await linesOf(ground, job)).slice(-40).join('\n');
